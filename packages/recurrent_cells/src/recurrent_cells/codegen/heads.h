/* Sums over the units of a head, and products with matrix states, of one row at one step. A head's matrix has `size` rows of `wide`
   values, of which those from `size` on are zeros. */

#define SOME_ROWS (REGISTERS == 32 ? 4 : 2) /* rows of a matrix */

typedef struct {
  long size, wide, width;
  float *arguments, *products; /* [][width] */
  float *columns;              /* arguments as rows of a matrix lie, then sums of rows, [][wide] */
  const float *from[2 * SQUARES + 1];
  float *to[SQUARES + 1];
} Heads;

/* products[product] = the sums, or means, of arguments[argument]. */
static inline __attribute__((unused)) void sum_heads(const Heads *h, int argument, int product, int mean) {
  const float *from = h->arguments + argument * h->width, scale = mean ? 1.0f / h->size : 1.0f;
  float *to = h->products + product * h->width;
  enum { COUNT = HEADS < LANES ? HEADS : LANES };
  for (long first = 0; first < HEADS; first += COUNT) {
    vec sums[COUNT];
    for (long n = 0; n < COUNT; n++) {
      sums[n] = (vec){0};
      for (long k = 0; first + n < HEADS && k < h->size; k += LANES)
        sums[n] += load_up_to(from + (first + n) * h->size + k, h->size - k);
    }
    const vec found = totals(sums, COUNT) * scale;
    for (long n = 0; n < COUNT && first + n < HEADS; n++)
      for (long k = 0; k < h->size; k += LANES) store_up_to(to + (first + n) * h->size + k, all(found[n]), h->size - k);
  }
}

/* One pass over the matrices. DO: a function of some of a matrix's rows; given: arguments that it reads as rows lie; along, across: products
   that sum along rows and across them. */
#define OVER_MATRICES(DO, given, given_count, along, along_count, across, across_count) \
  for (long head = 0; head < HEADS; head++) { \
    const long begin = head * h->size; \
    float *sums = h->columns + given_count * h->wide; \
    for (long j = 0; j < h->wide; j += LANES) { \
      for (int k = 0; k < given_count; k++) \
        store(h->columns + k * h->wide + j, load_up_to(h->arguments + given[k] * h->width + begin + j, h->size - j)); \
      for (int k = 0; k < across_count; k++) store(sums + k * h->wide + j, (vec){0}); \
    } \
    for (long i = begin; i < begin + h->size; i += LANES) { \
      const long some = begin + h->size - i < LANES ? begin + h->size - i : LANES; \
      vec found[ALONG * LANES]; \
      for (long r = 0; r < some;) { \
        const int whole = some - r >= SOME_ROWS; \
        if (whole) DO(SOME_ROWS, h, (i + r) * h->wide, h->arguments + i + r, found + r); \
        else DO(1, h, (i + r) * h->wide, h->arguments + i + r, found + r); \
        r += whole ? SOME_ROWS : 1; \
      } \
      for (int k = 0; k < along_count; k++) { \
        for (long r = some; r < LANES; r++) found[k * LANES + r] = (vec){0}; \
        store_up_to(h->products + along[k] * h->width + i, totals(found + k * LANES, LANES), some); \
      } \
    } \
    for (int k = 0; k < across_count; k++) \
      for (long j = 0; j < h->size; j += LANES) \
        store_up_to(h->products + across[k] * h->width + begin + j, load(sums + k * h->wide + j), h->size - j); \
  }
