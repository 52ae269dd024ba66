// A CUDA driver and runtime without a GPU, for what is asked of them here: memory is the host's, kernels compute nothing, and
// all that happens is told on the file that PRETENDED_CUDA names, a word a line.
#define cuTensorMapEncodeTiled declared // with its twelve arguments
#include <cuda.h>
#undef cuTensorMapEncodeTiled
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *capturing; // while a graph is captured
static int nodes, loaded;

static void tell(const char *what) {
    FILE *file = fopen(getenv("PRETENDED_CUDA"), "a");
    fprintf(file, "%s\n", what);
    fclose(file);
}

// The driver
CUresult cuDeviceGetName(char *name, int size, CUdevice device) { return snprintf(name, size, "none"), 0; }
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) { return 0; }
CUresult cuGetErrorName(CUresult error, const char **name) { return *name = "error", 0; }
CUresult cuGetErrorString(CUresult error, const char **text) { return *text = "an error", 0; }
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    // A fat binary, as nvcc makes it, begins so.
    tell(*(const unsigned *)image == 0xBA55ED50u ? "load fatbin" : "load something else");
    return *module = (CUmodule)&loaded, capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0;
}
CUresult cuModuleUnload(CUmodule module) { return 0; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    return *function = (CUfunction)strdup(name), 0;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
    unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    if (!threads || threads > 1024 || config->sharedMemBytes > 49152 || !config->gridDimX) return CUDA_ERROR_INVALID_VALUE;
    if (capturing) nodes++;
    else tell("launch");
    return 0;
}
CUresult cuTensorMapEncodeTiled(void) { return 1; }
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    if (!stream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; // the default one cannot be
    return capturing = "yes", nodes = 0;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    char text[32];
    snprintf(text, sizeof text, "captured %d", nodes);
    tell(text);
    return capturing = 0, *graph = (CUgraph)&nodes, 0;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *found, CUgraph graph, unsigned long long flags) {
    return *found = (CUgraphExec)graph, !graph;
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) { return tell(stream ? "replay elsewhere" : "replay"), !graph; }

// The runtime
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    *value = attribute == cudaDevAttrComputeCapabilityMajor   ? 9
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
             : attribute == cudaDevAttrWarpSize               ? 32
                                                              : 1024;
    return 0;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return *event = (cudaEvent_t)&nodes, 0; }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return 0; }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) { return *ms = 30, 0; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return 0; }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return 0; }
cudaError_t cudaMalloc(void **memory, size_t size) {
    if (capturing) return cudaErrorStreamCaptureUnsupported;
    return *memory = aligned_alloc(256, (size + 511) / 256 * 256), 0;
}
cudaError_t cudaFree(void *memory) { return free(memory), 0; }
cudaError_t cudaMallocHost(void **memory, size_t size) { return tell("pinned"), cudaMalloc(memory, size); }
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaGetDevice(int *device) { return *device = 0, 0; }
cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, 0; }
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *found, int device) {
    memset(found, 0, sizeof *found);
    return found->warpSize = 32, found->major = 9, 0;
}
const char *cudaGetErrorName(cudaError_t error) { return "error"; }
const char *cudaGetErrorString(cudaError_t error) { return "an error"; }
cudaError_t cudaGetLastError(void) { return 0; }
cudaError_t cudaPeekAtLastError(void) { return 0; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return 0; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return 0; }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *found, cudaGraph_t graph, unsigned long long flags) { return 1; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) { return 1; }
cudaError_t cudaMemGetInfo(size_t *left, size_t *all) { return *left = *all = (size_t)1 << 34, 0; }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
    char text[48];
    snprintf(text, sizeof text, "copy %s %zu", kind == cudaMemcpyHostToDevice ? "in" : "out", size);
    return tell(text), memcpy(to, from, size), 0;
}
cudaError_t cudaMemcpyPeerAsync(void *to, int a, const void *from, int b, size_t size, cudaStream_t s) { return 1; }
cudaError_t cudaSetDevice(int device) { return device; }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) { return 1; }
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) { return 1; }
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return *stream = (cudaStream_t)&loaded, 0; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return 0; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return capturing ? cudaErrorStreamCaptureUnsupported : 0;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) { return 0; }
