/* What x, y, the matrices and whatever they are multiplied by are kept in: floats or, with HALF, bfloat16. Sums, states and updates
   are floats. Of bfloat16, two rows of a matrix lie side by side, column by column: instructions multiply and add such pairs. */

#ifndef HALF
#define HALF 0
#endif
#ifndef INT8
#define INT8 0
#endif

/* Whether products are computed in tiles, where the system lets us. */
#if LANES == 16 && defined(__linux__) && ((HALF && defined(__AMX_BF16__)) || (INT8 && defined(__AMX_INT8__)))
#define TILES 1
#else
#define TILES 0
#endif

typedef uint32_t words __attribute__((vector_size(4 * LANES), may_alias));
typedef uint32_t loose_words __attribute__((vector_size(4 * LANES), aligned(2), may_alias));

#if HALF
#define PAIR 2
typedef uint16_t number;
typedef uint16_t narrow __attribute__((vector_size(2 * LANES), may_alias));
typedef uint16_t loose_narrow __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

#if defined(__AVX512BF16__)
#define DOT 1
INLINE vec dot(vec s, words a, words b) { return (vec)_mm512_dpbf16_ps((__m512)s, (__m512bh)a, (__m512bh)b); }
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define DOT 1
INLINE vec dot(vec s, words a, words b) { return (vec)vbfdotq_f32((float32x4_t)s, (bfloat16x8_t)a, (bfloat16x8_t)b); }
#else
#define DOT 0
#endif

/* Rounded to the nearest, of two to the even one, in the upper halves; the lower ones are not cleared. */
INLINE words rounded(vec v) {
  words w = (words)v;
  w += 0x7fff + ((w >> 16) & 1);
  return (words)choose(v == v, (vec)w, (vec)((words){0} + 0x7fc00000));
}
INLINE float from_number(number n) {
  uint32_t w = (uint32_t)n << 16;
  float x;
  memcpy(&x, &w, sizeof x);
  return x;
}
INLINE vec load_numbers(const number *p) { return (vec)(__builtin_convertvector((narrow) * (const loose_narrow *)p, words) << 16); }
INLINE narrow narrowed(vec v) {
#if defined(__AVX512BF16__)
  return (narrow)_mm512_cvtneps_pbh((__m512)v);
#else
  return __builtin_convertvector(rounded(v) >> 16, narrow);
#endif
}
INLINE void store_numbers(number *p, vec v) { *(loose_narrow *)p = narrowed(v); }
static vec load_first_numbers(const number *p, long n) {
  number all_of[LANES] = {0};
  memcpy(all_of, p, sizeof(number) * n);
  return load_numbers(all_of);
}
static void store_first_numbers(number *p, vec v, long n) {
  narrow all_of = narrowed(v);
  memcpy(p, &all_of, sizeof(number) * n);
}
INLINE vec load_numbers_up_to(const number *p, long n) {
  return n >= LANES ? load_numbers(p) : n > 0 ? load_first_numbers(p, n) : (vec){0};
}
INLINE void store_numbers_up_to(number *p, vec v, long n) {
  if (n >= LANES) store_numbers(p, v);
  else if (n > 0) store_first_numbers(p, v, n);
}
/* LANES columns of two rows of a matrix, side by side. */
INLINE void store_pair(number *p, vec even, vec odd) {
#if defined(__AVX512BF16__)
  *(loose_words *)p = __builtin_convertvector(narrowed(even), words) | __builtin_convertvector(narrowed(odd), words) << 16;
#else
  *(loose_words *)p = rounded(even) >> 16 | (rounded(odd) & 0xffff0000);
#endif
}
/* The same of rows of numbers; odd: 0 where there is none. */
INLINE void join(number *p, const number *even, const number *odd) {
  words w = __builtin_convertvector((narrow) * (const loose_narrow *)even, words);
  if (odd) w |= __builtin_convertvector((narrow) * (const loose_narrow *)odd, words) << 16;
  *(loose_words *)p = w;
}
#else
#define PAIR 1
typedef float number;
#define from_number(n) (n)
#define load_numbers load
#define store_numbers store
#define load_numbers_up_to load_up_to
#define store_numbers_up_to store_up_to
INLINE void store_pair(number *p, vec even, vec odd) {
  store(p, even);
  (void)odd;
}
#endif

#if INT8
/* With INT8 a row is multiplied as bytes: one float, its scale, then round(value / scale) + 128. Of a matrix, four rows lie side by side,
   column by column, as signed bytes; before them, what each column's sum starts from, -128 times its total, and its scale. */
#if TILES
#define EVEN(n) (2 + ((n) + 63) / 64 * 16)
#define BYTES_AT 16 /* of a row's copy, so that bytes begin at a line */
#define COPY(n) (BYTES_AT + EVEN(n) - 2)
#else
#define EVEN(n) (2 + ((n) + 3) / 4)
#define BYTES_AT 1
#define COPY(n) (1 + ((n) + LANES - 1) / LANES * LANES / 4)
#endif
#define LEVELS 127.0f
#define TINY 1e-30f /* what is smaller is taken as zero: its inverse might be infinite */
/* Sums are `bits`, as in the compiler's own functions: with another type, GCC copies all of them at every step. */
typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

#if defined(__AVX512VNNI__)
#define DOT 1
INLINE bits dot(bits s, words a, words b) { return (bits)_mm512_dpbusd_epi32((__m512i)s, (__m512i)a, (__m512i)b); }
#elif AVX == 2 && defined(__AVXVNNI__)
#define DOT 1
INLINE bits dot(bits s, words a, words b) { return (bits)_mm256_dpbusd_avx_epi32((__m256i)s, (__m256i)a, (__m256i)b); }
#else
#define DOT 0
typedef int16_t halves __attribute__((vector_size(4 * LANES), may_alias));
/* s + the sum of both products in each word */
INLINE bits dot_halves(bits s, halves a, halves b) {
#if defined(__AVX512BW__)
  return s + (bits)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif AVX == 2
  return s + (bits)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
  const bits low_a = (bits)a << 16 >> 16, low_b = (bits)b << 16 >> 16;
  return s + low_a * low_b + ((bits)a >> 16) * ((bits)b >> 16);
#endif
}
INLINE bits dot(bits s, words a, words b) {
  s = dot_halves(s, (halves)(a & 0x00ff00ff), (halves)b << 8 >> 8);
  return dot_halves(s, (halves)(a >> 8 & 0x00ff00ff), (halves)b >> 8);
}
#endif

/* A row as bytes. What is not finite makes the scale, and so all sums, NaN. */
static NOINLINE const float *copied(const float *from, long n, float *to) {
  vec largest = {0}, wrong = {0};
  for (long k = 0; k < n; k += LANES) {
    const vec v = load_up_to(from + k, n - k);
    largest = maximum(largest, absolute(v));
    wrong += v * 0.0f;
  }
  float most = TINY;
  for (int i = 0; i < LANES; i++) most = largest[i] > most ? largest[i] : most;
  const float inverse = most > TINY ? LEVELS / most : 0.0f;
  *to = most / LEVELS + total_of(wrong);
  for (long k = 0; k < n; k += LANES) {
    const words w = (words)(load_up_to(from + k, n - k) * inverse + (WHOLE + 128.0f)); /* in the lowest bits */
    *(bytes *)((char *)(to + BYTES_AT) + k) = __builtin_convertvector(w, bytes);
  }
  return to;
}
#elif TILES
/* Numbers of a row's copy; the line more spreads rows over all sets of a cache. */
#define EVEN(n) (((n) + 31) / 32 * 32)
#define COPY(n) (EVEN(n) + 32)
static NOINLINE const number *copied(const number *from, long n, number *to) {
  memcpy(to, from, sizeof(number) * n);
  memset(to + n, 0, sizeof(number) * (EVEN(n) - n));
  return to;
}
#else
#define EVEN(n) (((n) + PAIR - 1) / PAIR * PAIR)
#define COPY(n) 0
#define copied(from, n, to) ((void)(to), (from))
#if !HALF
#define DOT 0
#endif
#endif
