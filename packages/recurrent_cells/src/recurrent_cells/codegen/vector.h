/* Vectors of floats in GCC's and clang's vector extensions, and the functions that cells are written with. */
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <math.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define AVX 512
#define LANES 16
#define REGISTERS 32
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define AVX 2
#define LANES 8
#define REGISTERS 16
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#define LANES 4
#define REGISTERS 32
#else
#define LANES 4
#define REGISTERS 16
#endif

#ifndef SECOND_LEVEL
#define SECOND_LEVEL 1048576 /* bytes of a core's second-level cache; whoever compiles may know better */
#endif

#define INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_TWICE _Pragma("GCC unroll 2")
#endif
#define NOINLINE __attribute__((noinline)) /* one copy: compiled once */

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t bits __attribute__((vector_size(4 * LANES), may_alias));

INLINE vec all(float x) { return x - (vec){0}; } /* 0 + x would be computed, as it is 0 where x is -0 */
INLINE vec load(const float *p) { return *(const loose *)p; }
INLINE void store(float *p, vec v) { *(loose *)p = v; }

/* The first n values of a vector, zeros beyond. */
static vec load_first(const float *p, long n) {
  vec v = {0};
  memcpy(&v, p, sizeof(float) * n);
  return v;
}
static void store_first(float *p, vec v, long n) { memcpy(p, &v, sizeof(float) * n); }
INLINE vec load_up_to(const float *p, long n) { return n >= LANES ? load(p) : n > 0 ? load_first(p, n) : (vec){0}; }
INLINE void store_up_to(float *p, vec v, long n) {
  if (n >= LANES) store(p, v);
  else if (n > 0) store_first(p, v, n);
}
/* A vector whose values from the n-th on are zeros, whatever they were. */
INLINE vec first_of(vec v, long n) {
  static const int32_t mask[2 * LANES] = {[0 ... LANES - 1] = -1};
  if (n >= LANES) return v;
  bits m;
  memcpy(&m, mask + (n > 0 ? LANES - n : LANES), sizeof m);
  return (vec)((bits)v & m);
}
INLINE float total_of(vec v) {
  float sum = 0;
  for (int i = 0; i < LANES; i++) sum += v[i];
  return sum;
}
INLINE void add_to(float *p, vec v) { store(p, load(p) + v); }

/* v[i][j] and v[j][i] exchanged, of each square of `count` by `count`: squares of d by d, above and below the diagonal, for each d. */
INLINE void turn(vec *v, const int count) {
#ifdef __clang__ /* has no shuffle by a vector */
  float to[LANES][LANES];
  for (int i = 0; i < count; i++)
    for (int j = 0; j < LANES; j++) to[i][j] = v[j % count][j / count * count + i];
  memcpy(v, to, sizeof(vec) * count);
#else
  UNROLL for (int d = 1; d < count; d *= 2) {
    bits low, high;
    for (int j = 0; j < LANES; j++) low[j] = j & d ? LANES + j - d : j, high[j] = low[j] + d;
    UNROLL for (int i = 0; i < count; i++) {
      if (i & d) continue;
      const vec a = v[i], b = v[i + d];
      v[i] = __builtin_shuffle(a, b, low);
      v[i + d] = __builtin_shuffle(a, b, high);
    }
  }
#endif
}

/* The total of each of up to LANES vectors, as one vector; what follows them is any. */
INLINE vec totals(const vec *v, const int count) {
  vec found[LANES];
#ifdef __clang__
  for (int i = 0; i < count; i++) found[0][i] = total_of(v[i]);
#else
  memcpy(found, v, sizeof(vec) * count);
  UNROLL for (int d = 1; d < LANES; d *= 2) {
    bits low, high;
    for (int j = 0; j < LANES; j++) low[j] = j & d ? LANES + j - d : j, high[j] = low[j] + d;
    UNROLL for (int i = 0; i < count; i += 2 * d) {
      const vec other = found[i + d < count ? i + d : i];
      found[i] = __builtin_shuffle(found[i], other, low) + __builtin_shuffle(found[i], other, high);
    }
  }
#endif
  return found[0];
}

INLINE vec choose(bits where, vec a, vec b) { return (vec)((where & (bits)a) | (~where & (bits)b)); }

#if AVX == 512
#define minimum(a, b) ((vec)_mm512_min_ps((__m512)(b), (__m512)(a)))
#define maximum(a, b) ((vec)_mm512_max_ps((__m512)(b), (__m512)(a)))
#define sqrt_of(a) ((vec)_mm512_sqrt_ps((__m512)(a)))
#elif AVX == 2
#define minimum(a, b) ((vec)_mm256_min_ps((__m256)(b), (__m256)(a)))
#define maximum(a, b) ((vec)_mm256_max_ps((__m256)(b), (__m256)(a)))
#define sqrt_of(a) ((vec)_mm256_sqrt_ps((__m256)(a)))
#elif defined(__ARM_NEON)
#define minimum(a, b) ((vec)vminq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define maximum(a, b) ((vec)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define sqrt_of(a) ((vec)vsqrtq_f32((float32x4_t)(a)))
#else
INLINE vec minimum(vec a, vec b) { return choose(b < a, b, a); }
INLINE vec maximum(vec a, vec b) { return choose(b > a, b, a); }
INLINE vec sqrt_of(vec a) {
  for (int i = 0; i < LANES; i++) a[i] = sqrtf(a[i]);
  return a;
}
#endif

/* The next whole number: adding 1.5 * 2^23 leaves no place for a fraction. For |x| up to 2^22. */
#define WHOLE 12582912.0f
INLINE vec nearest(vec x) { return (x + WHOLE) - WHOLE; }
INLINE vec floor_of(vec x) {
  vec n = nearest(x);
  return n - choose(n > x, all(1.0f), (vec){0});
}

/* The rest of x, at most `limit`, beside its nearest whole number, which goes to `n` as times_power takes it. */
INLINE vec rest_of(vec x, float limit, vec *n) {
  x = minimum(x, all(limit));
#if AVX == 512
  *n = (vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return x - *n;
#else
  x = maximum(x, all(-126.0f));
  *n = x + WHOLE; /* which stands in the lowest bits */
  return x - (*n - WHOLE);
#endif
}
/* p * 2^n */
INLINE vec times_power(vec p, vec n) {
#if AVX == 512
  return (vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
  return (vec)((bits)p + ((bits)n << 23)); /* added to the exponent */
#endif
}
/* 2^x, x at most `limit`: a polynomial of degree 5 for the rest of the nearest whole number, relative error 1e-7, and none at whole
   numbers: a gate of exp(0) forgets nothing. */
INLINE vec power_of_two(vec x, float limit) {
  vec n, r = rest_of(x, limit, &n);
  vec p = all(0.00132647273f);
  p = p * r + 0.00967151299f;
  p = p * r + 0.0555073358f;
  p = p * r + 0.240222424f;
  p = p * r + 0.693147004f;
  p = p * r + 1.0f;
  return times_power(p, n);
}
/* In a denominator: the product of three stays finite, and sigmoid and tanh have reached their limits long before. */
INLINE vec exp2_limited(vec x) { return power_of_two(x, 40.0f); }
INLINE vec exp2_of(vec x) { return power_of_two(x, 127.999f); }

/* 2^x - 1, for tanh: its error is relative to the result also where x is small. */
INLINE vec exp2_minus_1(vec x) {
  vec n, r = rest_of(x, 40.0f, &n), scale = times_power(all(1.0f), n);
  vec p = all(0.000153952526f);
  p = p * r + 0.00133907003f;
  p = p * r + 0.00961826276f;
  p = p * r + 0.0555035770f;
  p = p * r + 0.240226492f;
  p = p * r + 0.693147182f;
  return p * r * scale + (scale - 1.0f);
}

/* log((1 + s) / (1 - s)) by its series; n terms, at most 8. */
INLINE vec log_of_ratio(vec s, int n) {
  vec square = s * s, sum = all(2.0f / (2 * n - 1));
  UNROLL
  for (int i = n - 2; i >= 0; i--) sum = sum * square + 2.0f / (2 * i + 1);
  return s * sum;
}
/* Of zero -inf, below it NaN. The fraction lies between sqrt(1/2) and sqrt(2), so that s is at most 0.172. */
INLINE vec log_of(vec x) {
  bits exponent = ((bits)x - 0x3f3504f3) >> 23;
  vec m = (vec)((bits)x - (exponent << 23)), e;
  e = __builtin_convertvector(exponent, vec);
  vec found = e * 0.693359375f + (e * -2.12194440e-4f + log_of_ratio((m - 1.0f) / (m + 1.0f), 5));
  return choose(x > 0.0f, found, choose(x == 0.0f, all(-INFINITY), all(NAN)));
}
INLINE vec absolute(vec x) { return (vec)((bits)x & 0x7fffffff); }
INLINE vec sign_of(vec x) { return choose(x > 0.0f, all(1.0f), choose(x < 0.0f, all(-1.0f), x)); }
INLINE vec at_least(vec a, vec b) { return choose(a >= b, all(1.0f), (vec){0}); }
INLINE vec where(vec condition, vec a, vec b) { return choose(condition > 0.5f, a, b); }
INLINE vec softplus(vec x) {
  vec u = exp2_limited(absolute(x) * -1.44269504f);
  return maximum(x, (vec){0}) + log_of_ratio(u / (u + 2.0f), 8);
}
/* sign * sin(x - turns * pi), negated where `whole` is odd; pi in three parts whose products are exact up to |x| = 8192. */
INLINE vec half_turn(vec x, vec turns, vec whole, float sign) {
  vec r = x - turns * 3.140625f;
  r = r - turns * 9.67502593994140625e-4f;
  r = r - turns * 1.509957990978376432e-7f;
  vec square = r * r, sum = all(1.0f / 6227020800.0f);
  sum = sum * square - 1.0f / 39916800.0f;
  sum = sum * square + 1.0f / 362880.0f;
  sum = sum * square - 1.0f / 5040.0f;
  sum = sum * square + 1.0f / 120.0f;
  sum = sum * square - 1.0f / 6.0f;
  vec odd = whole - floor_of(whole * 0.5f) * 2.0f;
  return (r + r * square * sum) * (sign - odd * (2.0f * sign));
}
INLINE vec sin_of(vec x) {
  vec n = nearest(x * 0.318309886f);
  return half_turn(x, n, n, 1.0f);
}
INLINE vec cos_of(vec x) { /* at r + (n + 1/2) pi it is -sin(r) or sin(r) */
  vec n = floor_of(x * 0.318309886f);
  return half_turn(x, n + 0.5f, n, -1.0f);
}
