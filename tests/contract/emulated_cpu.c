// Calls one function of a library that TVM compiled for another CPU: program <file> <threads> <function>. What of TVM's run time
// such functions need stands here. The file is mapped, so that results are in it at the end: 64-bit numbers, how many tensors
// and of each its offset in bytes, type code, bits, dimensions and shape; then their values.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/ffi/c_api.h>

enum { MOST_TENSORS = 64, MOST_DIMENSIONS = 8, MOST_THREADS = 64 };

typedef struct {
    void *sync_handle;
    int32_t num_task;
} Group;
typedef int (*Lambda)(int task, Group *group, void *data);
typedef struct {
    pthread_t thread;
    Lambda lambda;
    Group *group;
    void *data;
    int task, failed;
} Task;

static int threads;

static void *run(void *given) {
    Task *task = given;
    task->failed = task->lambda(task->task, task->group, task->data);
    return NULL;
}

static int launch(Lambda lambda, void *data, int count) {
    pthread_barrier_t barrier;
    Group group = {&barrier, count ? count : threads};
    Task tasks[MOST_THREADS];
    int failed = 0;
    pthread_barrier_init(&barrier, NULL, group.num_task);
    for (int n = 0; n < group.num_task; n++) {
        tasks[n] = (Task){0, lambda, &group, data, n, 0};
        if (pthread_create(&tasks[n].thread, NULL, run, &tasks[n])) abort();
    }
    for (int n = 0; n < group.num_task; n++) {
        pthread_join(tasks[n].thread, NULL);
        failed |= tasks[n].failed;
    }
    return failed;
}

static int wait_for_all(int task, Group *group) {
    pthread_barrier_wait(group->sync_handle);
    return 0;
}

static void *allocate(int type, int device, uint64_t bytes, int code, int bits) {
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static int release(int type, int device, void *memory) { return free(memory), 0; }

// Where TVM's loader would write its own.
int (*__TVMBackendParallelLaunch)(Lambda, void *, int) = launch;
int (*__TVMBackendParallelBarrier)(int, Group *) = wait_for_all;
void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = allocate;
int (*__TVMBackendFreeWorkspace)(int, int, void *) = release;

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count) {
    fprintf(stderr, "%s: ", kind);
    for (int n = 0; n < count; n++) fprintf(stderr, "%s", parts[n]);
    fprintf(stderr, "\n");
}

#define FUNCTION(name) extern int __tvm_ffi_##name(void *, const TVMFFIAny *, int32_t, TVMFFIAny *);
#include "functions.h"
#undef FUNCTION

int main(int count, char **given) {
    if (count != 4) return 2;
    int file = open(given[1], O_RDWR);
    struct stat about;
    if (file < 0 || fstat(file, &about)) return 2;
    char *memory = mmap(NULL, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return 2;
    threads = atoi(given[2]);
    int64_t *header = (int64_t *)memory, tensors = *header++;
    static DLTensor held[MOST_TENSORS];
    static TVMFFIAny arguments[MOST_TENSORS];
    static int64_t strides[MOST_TENSORS][MOST_DIMENSIONS];
    if (tensors > MOST_TENSORS || threads > MOST_THREADS) return 2;
    for (int n = 0; n < tensors; n++) {
        DLTensor *own = &held[n];
        own->data = memory + header[0];
        own->device = (DLDevice){kDLCPU, 0};
        own->dtype = (DLDataType){header[1], header[2], 1};
        own->ndim = header[3];
        if (own->ndim > MOST_DIMENSIONS) return 2;
        own->shape = header + 4;
        int64_t step = 1;
        for (int axis = own->ndim - 1; axis >= 0; axis--) {
            strides[n][axis] = step;
            step *= own->shape[axis];
        }
        own->strides = strides[n];
        arguments[n].type_index = kTVMFFIDLTensorPtr;
        arguments[n].v_ptr = own;
        header += 4 + own->ndim;
    }
    TVMFFIAny result = {.type_index = kTVMFFINone};
#define FUNCTION(name) \
    if (!strcmp(given[3], #name)) return __tvm_ffi_##name(NULL, arguments, tensors, &result) ? 1 : 0;
#include "functions.h"
    return 2;
}
