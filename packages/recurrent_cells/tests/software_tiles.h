/* Tiles in plain C, as Intel's manual defines them, for machines without any: put before a kernel by -include. */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define __AMX_TILE__ 1
#define __AMX_BF16__ 1
#define __AMX_INT8__ 1

#ifndef REFUSED
#define REFUSED 0
#endif
static int software_tiles_asked;
#define syscall(...) software_permission(__VA_ARGS__)
#define software_check(fact) \
  do { \
    if (!(fact)) { \
      fprintf(stderr, "tiles: %s: not so: %s\n", __func__, #fact); \
      abort(); \
    } \
  } while (0)

static inline long software_permission(long number, int code, int feature) {
  software_check(number == SYS_arch_prctl && code == 0x1023 && feature == 18);
  software_tiles_asked = 1;
  return REFUSED ? -1 : 0;
}

typedef struct {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} software_shapes;
static __thread software_shapes software_shape; /* palette 0: not configured */
static __thread uint8_t software_tile[8][16][64];

static inline void software_load_shapes(const void *from) {
  software_shapes to;
  memcpy(&to, from, sizeof to);
  software_check(software_tiles_asked && !REFUSED);
  software_check(to.palette == 1 && to.start == 0);
  for (int i = 0; i < 14; i++) software_check(!to.reserved[i]);
  for (int t = 0; t < 16; t++) {
    software_check(t < 8 ? to.rows[t] <= 16 && to.bytes[t] <= 64 : !to.rows[t] && !to.bytes[t]);
    software_check(!to.rows[t] == !to.bytes[t]);
  }
  software_shape = to;
  memset(software_tile, 0, sizeof software_tile);
}
static inline void software_release(void) { memset(&software_shape, 0, sizeof software_shape); }
static inline void software_zero(int t) {
  software_check(software_shape.palette && software_shape.rows[t]);
  memset(software_tile[t], 0, sizeof software_tile[t]);
}
static inline void software_load(int t, const void *from, long stride) {
  software_zero(t);
  for (int r = 0; r < software_shape.rows[t]; r++) memcpy(software_tile[t][r], (const char *)from + r * stride, software_shape.bytes[t]);
}
static inline void software_store(int t, void *to, long stride) {
  software_check(software_shape.palette && software_shape.rows[t]);
  for (int r = 0; r < software_shape.rows[t]; r++) memcpy((char *)to + r * stride, software_tile[t][r], software_shape.bytes[t]);
}
#pragma GCC push_options
#pragma GCC optimize("O2")
static inline float software_flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }
static inline float software_number(const uint8_t *from) {
  uint32_t word = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 24;
  float x;
  memcpy(&x, &word, sizeof x);
  return software_flushed(x);
}
static inline void software_check_shapes(int to, int a, int b) {
  const software_shapes *own = &software_shape;
  software_check(own->palette && to != a && to != b && a != b);
  software_check(own->rows[to] == own->rows[a] && own->bytes[to] == own->bytes[b]);
  software_check(own->bytes[a] == 4 * own->rows[b] && own->bytes[to] % 4 == 0);
}
/* Bytes of a without a sign, those of b with one. */
static inline void software_byte_products(int to, int a, int b) {
  const software_shapes *own = &software_shape;
  software_check_shapes(to, a, b);
  for (int m = 0; m < own->rows[to]; m++)
    for (int n = 0; n < own->bytes[to] / 4; n++) {
      uint32_t sum; /* wraps around */
      memcpy(&sum, software_tile[to][m] + 4 * n, sizeof sum);
      for (int k = 0; k < own->rows[b]; k++)
        for (int i = 0; i < 4; i++) sum += (uint32_t)(software_tile[a][m][4 * k + i] * (int8_t)software_tile[b][k][4 * n + i]);
      memcpy(software_tile[to][m] + 4 * n, &sum, sizeof sum);
    }
}
/* Even numbers of all pairs are summed, then odd ones, then both are added to what was there; every sum is rounded. */
static inline void software_products(int to, int a, int b) {
  const software_shapes *own = &software_shape;
  software_check_shapes(to, a, b);
  for (int m = 0; m < own->rows[to]; m++)
    for (int n = 0; n < own->bytes[to] / 4; n++) {
      float sum[2] = {0, 0}, old;
      for (int k = 0; k < own->rows[b]; k++)
        for (int i = 0; i < 2; i++)
          sum[i] = software_flushed(
              fmaf(software_number(software_tile[a][m] + 4 * k + 2 * i), software_number(software_tile[b][k] + 4 * n + 2 * i), sum[i]));
      memcpy(&old, software_tile[to][m] + 4 * n, sizeof old);
      old = software_flushed(software_flushed(old) + software_flushed(sum[0] + sum[1]));
      memcpy(software_tile[to][m] + 4 * n, &old, sizeof old);
    }
}
#pragma GCC pop_options

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_dpbusd
#define _tile_loadconfig software_load_shapes
#define _tile_release software_release
#define _tile_loadd(t, from, stride) software_load(t, from, stride)
#define _tile_stored(t, to, stride) software_store(t, to, stride)
#define _tile_zero(t) software_zero(t)
#define _tile_dpbf16ps(to, a, b) software_products(to, a, b)
#define _tile_dpbusd(to, a, b) software_byte_products(to, a, b)
