/* What x, y, the matrices and whatever they are multiplied by are kept in: floats or, with HALF, bfloat16. Sums, states and updates
   are floats. Of bfloat16, two rows of a matrix lie side by side, column by column: instructions multiply and add such pairs. */

#ifndef HALF
#define HALF 0
#endif

#if HALF
#define PAIR 2
typedef uint16_t number;
typedef uint32_t words __attribute__((vector_size(4 * LANES), may_alias));
typedef uint32_t loose_words __attribute__((vector_size(4 * LANES), aligned(2), may_alias));
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
INLINE void store_pair(number *p, vec even, vec odd) { *(loose_words *)p = rounded(even) >> 16 | (rounded(odd) & 0xffff0000); }
/* The same of rows of numbers; odd: 0 where there is none. */
INLINE void join(number *p, const number *even, const number *odd) {
  words w = __builtin_convertvector((narrow) * (const loose_narrow *)even, words);
  if (odd) w |= __builtin_convertvector((narrow) * (const loose_narrow *)odd, words) << 16;
  *(loose_words *)p = w;
}
#else
#define PAIR 1
#define DOT 0
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
#define EVEN(n) (((n) + PAIR - 1) / PAIR * PAIR)
