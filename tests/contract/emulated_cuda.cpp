// persistent.cu on a CPU: every CUDA thread is a thread, a block's barrier a barrier. Slow, and the same arithmetic.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>
#include <vector>

#define EMULATED
#define __global__
#define __device__
#define __launch_bounds__(...)
#define SHARED(name) float4 *name = block_memory

using std::min;
struct float4 { float x, y, z, w; };
struct Index { int x, y; };
thread_local Index threadIdx, blockIdx;
thread_local std::barrier<> *block_barrier;
thread_local float4 *block_memory;

inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float4 __ldcg(const float4 *at) { return *at; }
inline void __syncthreads() { block_barrier->arrive_and_wait(); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void atomicAdd(unsigned *at, unsigned value) { __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST); }

#include PERSISTENT

template <typename Kernel> int launch(Kernel kernel, int batch, int shared) {
    int columns = BLOCKS, rows = (batch + ROWS - 1) / ROWS;
    std::vector<std::vector<float4>> memories(columns * rows, std::vector<float4>(shared / 16));
    std::vector<std::barrier<> *> barriers;
    for (int block = 0; block < columns * rows; block++) barriers.push_back(new std::barrier<>(THREADS));
    std::vector<std::thread> threads;
    for (int number = 0; number < columns * rows * THREADS; number++)
        threads.emplace_back([&, number] {
            int block = number / THREADS;
            threadIdx = {number % THREADS, 0}, blockIdx = {block % columns, block / columns};
            block_barrier = barriers[block], block_memory = memories[block].data();
            kernel();
        });
    for (auto &thread : threads) thread.join();
    for (auto barrier : barriers) delete barrier;
    return 0;
}

extern "C" int launch_forward(const float *from_input, const float *weight, float *h, float *c, float *gates,
                              unsigned *arrived, int length, int batch, int shared, void *) {
    return launch([=] { forward(from_input, (const float4 *)weight, h, c, gates, arrived, length, batch); }, batch, shared);
}

extern "C" int launch_backward(const float *of_h, const float *gates, const float *c, const float *weight,
                               float *of_gates, unsigned *arrived, int length, int batch, int shared, void *) {
    return launch([=] { backward(of_h, gates, c, (const float4 *)weight, of_gates, arrived, length, batch); }, batch, shared);
}

extern "C" const char *words(int) { return ""; }
