/* Known work: multiply-adds on registers, reading memory, and handing a number from thread to thread. Called by several
   threads at once (yardstick.py). */
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
typedef float vector __attribute__((vector_size(BYTES)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* 12 sums hide the latency of two units, and fit 16 registers. They start at different values, or a compiler finds that
   they are one and runs a single chain: a third of the units' work, which two threads on one core do as fast as on two.
   x / 2 + 1 / 2 goes to 1 from there. times: start, end and a sum; volatile, or the compiler reads the clock when it
   likes. Returns the floating-point operations done. */
double multiply_adds(long count, volatile double *times) {
    times[0] = now();
    float half = times[0] > 0 ? 0.5f : 0.0f;
    vector f, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11;
    for (int lane = 0; lane < BYTES / 4; lane++) f[lane] = half;
    s0 = f, s1 = f + s0, s2 = f + s1, s3 = f + s2, s4 = f + s3, s5 = f + s4;
    s6 = f + s5, s7 = f + s6, s8 = f + s7, s9 = f + s8, s10 = f + s9, s11 = f + s10;
    for (long i = 0; i < count; i++) {
        s0 = s0 * f + f, s1 = s1 * f + f, s2 = s2 * f + f, s3 = s3 * f + f;
        s4 = s4 * f + f, s5 = s5 * f + f, s6 = s6 * f + f, s7 = s7 * f + f;
        s8 = s8 * f + f, s9 = s9 * f + f, s10 = s10 * f + f, s11 = s11 * f + f;
    }
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
    times[2] = s0[0]; /* 12 */
    times[1] = now();
    return 2.0 * 12 * (BYTES / 4) * count;
}

/* Memory of the system's own, not malloc's: what a process keeps or faults in stays as it is. */
float *take(size_t bytes) {
    float *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return NULL;
    for (size_t i = 0; i < bytes / 4; i += 256) found[i] = 1.0f;
    return found;
}

void give_back(float *memory, size_t bytes) { munmap(memory, bytes); }

/* Returns the bytes read. */
double read_memory(const float *memory, size_t bytes, volatile double *times) {
    const vector *all = (const vector *)memory;
    vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    size_t i, count = bytes / BYTES;
    times[0] = now();
    for (i = 0; i + 4 <= count; i += 4)
        s0 += all[i], s1 += all[i + 1], s2 += all[i + 2], s3 += all[i + 3];
    s0 += s1 + s2 + s3;
    times[2] = s0[0];
    times[1] = now();
    return (double)i * BYTES;
}

static long turn __attribute__((aligned(128))); /* alone in its cache lines */

/* Hands `turn` on to the next of `threads` threads whenever it is the turn of this one, for `seconds`. Returns how
   often. */
double hand_over(long number, long threads, double seconds, volatile double *times) {
    double passed = 0;
    times[0] = times[1] = now();
    while (times[1] - times[0] < seconds) {
        for (int i = 0; i < 200; i++) {
            long here = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
            if (here % threads != number) continue;
            __atomic_store_n(&turn, here + 1, __ATOMIC_RELEASE);
            passed++;
        }
        times[1] = now();
    }
    return passed;
}
