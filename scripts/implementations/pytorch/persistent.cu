// One layer of an LSTM, all steps in one launch: each block keeps the weights of UNITS hidden units in shared memory,
// computes them for ROWS sequences, and waits at each step for the blocks that have the other units of these sequences.
//
// Compiled with -D HIDDEN, UNITS, ROWS, THREADS, CHUNK (persistent.py chooses them). A block is one of HIDDEN / UNITS
// columns and ceil(batch / ROWS) rows of the grid; all blocks must be resident, hence the cooperative launch. A thread
// has one unit of the block (or, backward, one gate of four units) and every LANES-th row.
#ifndef EMULATED
#include <cuda_runtime.h>
#define SHARED(name) extern __shared__ float4 name[]
#endif

constexpr int LANES = THREADS / UNITS;  // rows that the block computes at once
constexpr int EACH = (ROWS + LANES - 1) / LANES;  // rows of a thread
constexpr int BLOCKS = HIDDEN / UNITS;  // that wait for one another
constexpr int PADDED = CHUNK + 4;  // floats between rows of the tile: no bank conflicts, and float4 stay aligned
static_assert(THREADS % UNITS == 0 && UNITS % 4 == 0 && HIDDEN % CHUNK == 0 && CHUNK % 4 == 0, "sizes do not fit");

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Return when all blocks of this batch group have come here `times` times, and see what they have written.
__device__ inline void meet(unsigned *arrived, unsigned times) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < times * BLOCKS) {}
        __threadfence();
    }
    __syncthreads();
}

// Sum over `depth` of the tile's rows times the block's weights: sums[row] += from[row, first + k] * weight[k].
// from: a row every `stride` floats; weight [HIDDEN][stored] of float4, this thread's at `column`.
__device__ inline void multiply(const float *from, size_t stride, int rows, float *tile, const float4 *weight, int column,
                                int lane, int gate, int gates, float4 *sums) {
    for (int first = 0; first < HIDDEN; first += CHUNK) {
        __syncthreads();
        for (int at = 4 * threadIdx.x; at < rows * gates * CHUNK; at += 4 * THREADS) {
            int k = at % CHUNK, line = at / CHUNK, row = line / gates;
            const float *source = from + row * stride + (line % gates) * HIDDEN + first + k;
            *(float4 *)(tile + line * PADDED + k) = __ldcg((const float4 *)source);
        }
        __syncthreads();
        for (int k = 0; k < CHUNK; k += 4) {
            float4 w[4];
            for (int q = 0; q < 4; q++) w[q] = weight[(first + k + q) * UNITS + column];
            for (int each = 0; each < EACH; each++) {
                int row = lane + each * LANES;
                if (row >= rows) break;
                float4 x = *(const float4 *)(tile + (row * gates + gate) * PADDED + k);
                float values[4] = {x.x, x.y, x.z, x.w};
                for (int q = 0; q < 4; q++) {
                    sums[each].x += values[q] * w[q].x;
                    sums[each].y += values[q] * w[q].y;
                    sums[each].z += values[q] * w[q].z;
                    sums[each].w += values[q] * w[q].w;
                }
            }
        }
    }
}

// from_input [T, B, 4H], with the bias; weight [BLOCKS][H][UNITS][4 gates]; h and c [T + 1, B, H], the first of which are
// the initial states; gates [T, B, 4H], activated, for the gradient (null: none are kept); arrived [batch groups], zeros.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
forward(const float *from_input, const float4 *weight, float *h, float *c, float *gates, unsigned *arrived, int length,
        int batch) {
    SHARED(memory);
    float4 *own = memory;
    float *tile = (float *)(own + HIDDEN * UNITS);
    const int column = threadIdx.x % UNITS, lane = threadIdx.x / UNITS, unit = blockIdx.x * UNITS + column;
    const int top = blockIdx.y * ROWS, rows = min(ROWS, batch - top);
    for (int at = threadIdx.x; at < HIDDEN * UNITS; at += THREADS) own[at] = weight[blockIdx.x * HIDDEN * UNITS + at];
    float state[EACH];
    for (int each = 0; each < EACH; each++) {
        int row = lane + each * LANES;
        state[each] = row < rows ? c[(size_t)(top + row) * HIDDEN + unit] : 0.0f;
    }
    for (int t = 0; t < length; t++) {
        const size_t now = (size_t)t * batch + top, next = now + batch;
        float4 sums[EACH];
        for (int each = 0; each < EACH; each++) {
            int row = lane + each * LANES;
            const float *given = from_input + (now + row) * 4 * HIDDEN + unit;
            sums[each] = row < rows ? make_float4(given[0], given[HIDDEN], given[2 * HIDDEN], given[3 * HIDDEN])
                                    : make_float4(0, 0, 0, 0);
        }
        multiply(h + now * HIDDEN, HIDDEN, rows, tile, own, column, lane, 0, 1, sums);
        for (int each = 0; each < EACH; each++) {
            int row = lane + each * LANES;
            if (row >= rows) break;
            float i = sigmoid(sums[each].x), f = sigmoid(sums[each].y), g = tanhf(sums[each].z), o = sigmoid(sums[each].w);
            state[each] = f * state[each] + i * g;
            h[(next + row) * HIDDEN + unit] = o * tanhf(state[each]);
            c[(next + row) * HIDDEN + unit] = state[each];
            if (gates) {
                float *kept = gates + (now + row) * 4 * HIDDEN + unit;
                kept[0] = i, kept[HIDDEN] = f, kept[2 * HIDDEN] = g, kept[3 * HIDDEN] = o;
            }
        }
        if (t + 1 < length) meet(arrived + blockIdx.y, t + 1);
    }
}

// of_h [T, B, H], the gradient of each step's output; gates and c as `forward` left them; weight [BLOCKS][H][4 gates][UNITS];
// of_gates [T, B, 4H], the gradient before activation.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
backward(const float *of_h, const float *gates, const float *c, const float4 *weight, float *of_gates, unsigned *arrived,
         int length, int batch) {
    SHARED(memory);
    float4 *own = memory;
    float *tile = (float *)(own + HIDDEN * UNITS), *parts = tile + ROWS * 4 * PADDED;
    const int column = threadIdx.x % UNITS, lane = threadIdx.x / UNITS, unit = blockIdx.x * UNITS + column;
    const int gate = column / (UNITS / 4), quad = column % (UNITS / 4);  // whose products it sums: four units of one gate
    const int top = blockIdx.y * ROWS, rows = min(ROWS, batch - top);
    for (int at = threadIdx.x; at < HIDDEN * UNITS; at += THREADS) own[at] = weight[blockIdx.x * HIDDEN * UNITS + at];
    float of_state[EACH] = {}, of_output[EACH] = {};
    for (int t = length - 1; t >= 0; t--) {
        const size_t now = (size_t)t * batch + top, next = now + batch;
        for (int each = 0; each < EACH; each++) {
            int row = lane + each * LANES;
            if (row >= rows) break;
            const float *kept = gates + (now + row) * 4 * HIDDEN + unit;
            float i = kept[0], f = kept[HIDDEN], g = kept[2 * HIDDEN], o = kept[3 * HIDDEN];
            float tanh_c = tanhf(c[(next + row) * HIDDEN + unit]);
            float dh = of_h[(now + row) * HIDDEN + unit] + of_output[each];
            float dc = of_state[each] + dh * o * (1 - tanh_c * tanh_c);
            float *found = of_gates + (now + row) * 4 * HIDDEN + unit;
            found[0] = dc * g * i * (1 - i);
            found[HIDDEN] = dc * c[(now + row) * HIDDEN + unit] * f * (1 - f);
            found[2 * HIDDEN] = dc * i * (1 - g * g);
            found[3 * HIDDEN] = dh * tanh_c * o * (1 - o);
            of_state[each] = dc * f;
        }
        if (t == 0) break;
        meet(arrived + blockIdx.y, length - t);
        float4 sums[EACH];
        for (int each = 0; each < EACH; each++) sums[each] = make_float4(0, 0, 0, 0);
        multiply(of_gates + now * 4 * HIDDEN, 4 * HIDDEN, rows, tile, own, column, lane, gate, 4, sums);
        for (int each = 0; each < EACH; each++) {
            int row = lane + each * LANES;
            if (row < rows) *(float4 *)(parts + (row * 4 + gate) * UNITS + 4 * quad) = sums[each];
        }
        __syncthreads();
        for (int each = 0; each < EACH; each++) {
            int row = lane + each * LANES;
            const float *part = parts + row * 4 * UNITS + column;
            of_output[each] = row < rows ? part[0] + part[UNITS] + part[2 * UNITS] + part[3 * UNITS] : 0.0f;
        }
    }
}

#ifndef EMULATED
// Launch one of them on a stream; arguments as above, `shared` bytes of memory a block. Returns a cudaError_t.
static int launch(const void *kernel, void **arguments, int batch, int shared, void *stream) {
    cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (status) return status;
    dim3 grid(BLOCKS, (batch + ROWS - 1) / ROWS);
    return cudaLaunchCooperativeKernel(kernel, grid, dim3(THREADS), arguments, shared, (cudaStream_t)stream);
}

extern "C" int launch_forward(const float *from_input, const float *weight, float *h, float *c, float *gates,
                              unsigned *arrived, int length, int batch, int shared, void *stream) {
    void *arguments[] = {&from_input, &weight, &h, &c, &gates, &arrived, &length, &batch};
    return launch((const void *)forward, arguments, batch, shared, stream);
}

extern "C" int launch_backward(const float *of_h, const float *gates, const float *c, const float *weight,
                               float *of_gates, unsigned *arrived, int length, int batch, int shared, void *stream) {
    void *arguments[] = {&of_h, &gates, &c, &weight, &of_gates, &arrived, &length, &batch};
    return launch((const void *)backward, arguments, batch, shared, stream);
}

extern "C" const char *words(int status) { return cudaGetErrorString((cudaError_t)status); }
#endif
