/* Products in register blocks: ROWS rows by PASS vectors of sums, of 32 registers 24, of 16 12. */

#define PASS (REGISTERS == 32 ? 4 : 2)
#define ROWS 6
#define FACTORS (TILES ? 16 : ROWS) /* rows of a gradient of weights that are summed together */
#define AHEAD 8 /* steps of the sum by which weights are prefetched */


/* The call with a constant R for so many rows, at most ROWS. */
#define BY_ROWS(rows, call) \
  switch (rows) { \
    case 1: { enum { R = 1 }; call; } break; \
    case 2: { enum { R = 2 }; call; } break; \
    case 3: { enum { R = 3 }; call; } break; \
    case 4: { enum { R = 4 }; call; } break; \
    case 5: { enum { R = 5 }; call; } break; \
    default: { enum { R = ROWS }; call; } \
  }

/* Rows of the next block, so that blocks differ by at most one row. */
INLINE long share(long left) {
#if TILES
  if (tiled(left)) return left < TALL ? left : TALL;
#endif /* TILES */
  const long blocks = (left + ROWS - 1) / ROWS;
  return (left + blocks - 1) / blocks;
}

#if INT8
/* s[r][from .. to) += in[r][0 .. n) x w [n][to - from][LANES], both as bytes */
INLINE void multiply(const int R, const int from, const int to, vec s[ROWS][PASS], const number *const *in, long n,
                     const number *w) {
  const uint8_t *row[ROWS];
  bits sum[ROWS][PASS];
  const number *scales = w + (to - from) * LANES;
  UNROLL for (int r = 0; r < R; r++) row[r] = (const uint8_t *)(in[r] + BYTES_AT);
  UNROLL for (int r = 0; r < R; r++)
    UNROLL for (int v = from; v < to; v++) sum[r][v] = (bits) * (const loose_words *)(w + (v - from) * LANES);
  w = scales + (to - from) * LANES;
  for (long k = 0; k < n; k += 4, w += (to - from) * LANES) {
    words b[PASS];
    UNROLL for (int v = from; v < to; v++) {
      if (v % (16 / LANES) == 0) __builtin_prefetch(w + (AHEAD * (to - from) + v - from) * LANES);
      b[v] = *(const loose_words *)(w + (v - from) * LANES);
    }
    UNROLL for (int r = 0; r < R; r++) {
      uint32_t four;
      memcpy(&four, row[r] + k, sizeof four);
      UNROLL for (int v = from; v < to; v++) sum[r][v] = dot(sum[r][v], (words){0} + four, b[v]);
    }
  }
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = from; v < to; v++)
    s[r][v] += load(scales + (v - from) * LANES) * in[r][0] * __builtin_convertvector(sum[r][v], vec);
}
#else
/* s[r][from .. to) += PAIR values of each row, or one, x as many rows of w, [to - from][LANES]. */
INLINE void multiply_once(const int R, const int from, const int to, vec s[ROWS][PASS], const number *const row[ROWS], long k,
                          const number *w, const int values) {
#if DOT
  words b[PASS];
  UNROLL for (int v = from; v < to; v++) b[v] = *(const loose_words *)(w + (v - from) * LANES * PAIR);
  UNROLL for (int r = 0; r < R; r++) {
    uint32_t one = row[r][k];
    if (values == PAIR) memcpy(&one, row[r] + k, sizeof one);
    UNROLL for (int v = from; v < to; v++) s[r][v] = dot(s[r][v], (words){0} + one, b[v]);
  }
#else
  UNROLL for (int own = 0; own < values; own++) {
    vec b[PASS];
    UNROLL for (int v = from; v < to; v++) {
#if HALF
      words pair = *(const loose_words *)(w + (v - from) * LANES * PAIR);
      if (own) pair &= 0xffff0000;
      else pair <<= 16;
      b[v] = (vec)pair;
#else
      b[v] = load(w + (v - from) * LANES);
#endif
    }
    UNROLL for (int r = 0; r < R; r++) {
      vec one = all(from_number(row[r][k + own]));
      UNROLL for (int v = from; v < to; v++) s[r][v] += one * b[v];
    }
  }
#endif
}

/* s[r][from .. to) += in[r][0 .. n) x w [n][to - from][LANES] */
INLINE void multiply(const int R, const int from, const int to, vec s[ROWS][PASS], const number *const *in, long n,
                     const number *w) {
  const number *row[ROWS];
  const long whole = n / PAIR * PAIR;
  UNROLL for (int r = 0; r < R; r++) row[r] = in[r];
  long k = 0;
#if DOT /* a sum waits for the one before: of few, two sets */
  if (R * (to - from) < ROWS * PASS / 2) {
    vec other[ROWS][PASS];
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = from; v < to; v++) other[r][v] = (vec){0};
    for (; k + 2 * PAIR <= whole; k += 2 * PAIR, w += 2 * (to - from) * LANES * PAIR) {
      UNROLL for (int v = 0; v < 2 * (to - from); v++)
        if (v % (16 / LANES) == 0) __builtin_prefetch(w + (AHEAD * (to - from) + v) * LANES * PAIR);
      multiply_once(R, from, to, s, row, k, w, PAIR);
      multiply_once(R, from, to, other, row, k + PAIR, w + (to - from) * LANES * PAIR, PAIR);
    }
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = from; v < to; v++) s[r][v] += other[r][v];
  }
#endif
  UNROLL_TWICE
  for (; k < whole; k += PAIR, w += (to - from) * LANES * PAIR) {
    UNROLL for (int v = from; v < to; v++)
      if (v % (16 / LANES) == 0) __builtin_prefetch(w + (AHEAD * (to - from) + v - from) * LANES * PAIR);
    multiply_once(R, from, to, s, row, k, w, PAIR);
  }
  if (n > whole) multiply_once(R, from, to, s, row, whole, w, 1);
}
#endif

#if TILES
#if INT8
/* to[r][N] += in[r] x w, of up to TALL rows. */
static NOINLINE void multiply_in_tiles(long rows, int N, const number *in, long row, long n, const number *w, float *to, long to_row) {
  const int tall = rows > 16;
  const number *scales = w + N * LANES;
  float s[TALL][PASS][LANES] __attribute__((aligned(64))); /* whole numbers */
  for (int v = 0; v < N; v += 2) {
    const int right = v + 1 < N;
    begin_sums(tall, right, w + v * LANES, 0);
    add_rows(tall, 1, right, in + BYTES_AT, row, scales + (N + v) * LANES, N, EVEN(n) - 2);
    store_sums(tall, right, s[0][v], PASS * LANES);
  }
  for (long r = 0; r < rows; r++)
    for (int v = 0; v < N; v++)
      add_to(to + r * to_row + v * LANES, load(scales + v * LANES) * in[r * row] * __builtin_convertvector((bits)load(s[r][v]), vec));
}
#endif
#endif /* TILES */
/* N vectors of sums over `blocks` blocks of n columns, n even: block b of row r lies at in + r * row + b * block. out[r], of floats or of
   numbers, takes `columns` values. */
INLINE void product(const int R, const int N, const number *in, long row, long block, long blocks, long n, const number *w,
                    void *const *out, int floats, long offset, long columns, int add) {
  vec s[ROWS][PASS];
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < N; v++) s[r][v] = (vec){0};
  for (long b = 0; b < blocks; b++, in += block, w += EVEN(n) * N * LANES) {
    const number *rows[ROWS];
    UNROLL for (int r = 0; r < R; r++) rows[r] = in + r * row;
    multiply(R, 0, N, s, rows, n, w);
  }
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < N; v++) {
    const long left = columns - v * LANES;
    if (HALF && !floats) {
      store_numbers_up_to((number *)out[r] + offset + v * LANES, s[r][v], left);
      continue;
    }
    float *to = (float *)out[r] + offset + v * LANES;
    if (add) s[r][v] += load_up_to(to, left);
    store_up_to(to, s[r][v], left);
  }
}
#if TILES
INLINE void put(void *out, vec s, int floats, long at, long left, int add) {
  if (HALF && !floats) {
    store_numbers_up_to((number *)out + at, s, left);
    return;
  }
  float *to = (float *)out + at;
  if (add) s += load_up_to(to, left);
  store_up_to(to, s, left);
}
/* The same for up to TALL rows. */
static NOINLINE void product_in_tiles(long rows, int N, const number *in, long row, long block, long blocks, long n, const number *w,
                                      void *const *out, int floats, long offset, long columns, int add) {
  float s[TALL][PASS][LANES] __attribute__((aligned(64)));
#if INT8
  memset(s, 0, sizeof s);
  for (long b = 0; b < blocks; b++)
    multiply_in_tiles(rows, N, in + b * block, row, n, w + b * EVEN(n) * N * LANES, s[0][0], PASS * LANES);
#else
  const int tall = rows > 16;
  for (int v = 0; v < N; v += 2) {
    const int right = v + 1 < N;
    begin_with_zeros();
    for (long b = 0; b < blocks; b++)
      add_rows(tall, 1, right, in + b * block, row, w + b * EVEN(n) * N * LANES + v * TILE_NUMBERS, N, n);
    store_sums(tall, right, s[0][v], PASS * LANES);
  }
#endif
  for (long r = 0; r < rows; r++)
    for (int v = 0; v < N; v++) put(out[r], load(s[r][v]), floats, offset + v * LANES, columns - v * LANES, add);
}
#endif /* TILES */

/* Panels of columns have PASS vectors or, from this one on, one less: so many that few are empty. */
static long first_narrow(long columns) {
  const long vectors = (columns + LANES - 1) / LANES, left = vectors - (vectors + PASS - 1) / PASS * (PASS - 1);
  return left > 0 ? left : 0;
}
static long panel_column(long p, long narrow) { return (p * PASS - (p > narrow ? p - narrow : 0)) * LANES; }

/* The same for any number of rows and all columns; panels of weights [blocks][n][PASS or PASS - 1][LANES], from `narrow` on the
   narrow ones, of which those from `begin` on, up to `end`, are computed. */
static NOINLINE void products(long rows, const number *in, long row, long block, long blocks, long n, const number *w,
                     void *const *out, int floats, long columns, long narrow, long begin, long end, int add) {
  for (long p = begin; p < end; p++) {
    const long at = panel_column(p, narrow);
    const number *own = w + at * blocks * EVEN(n);
    for (long first = 0; first < rows;) {
      const long some = share(rows - first);
      const number *from = in + first * row;
#if TILES
      if (tiled(some)) {
        product_in_tiles(some, p < narrow ? PASS : PASS - 1, from, row, block, blocks, n, own, out + first, floats, at, columns - at, add);
        first += some;
        continue;
      }
#endif /* TILES */
      if (p < narrow) BY_ROWS(some, product(R, PASS, from, row, block, blocks, n, own, out + first, floats, at, columns - at, add))
      else BY_ROWS(some, product(R, PASS - 1, from, row, block, blocks, n, own, out + first, floats, at, columns - at, add))
      first += some;
    }
  }
}

#if TRAINING
/* s[r][v] += over m of in[m][r] * d[m][v]: R columns of what was multiplied, by PASS vectors of gradients of sums; both in
   pairs of m. For tiles, in[m / 32][r][m % 32]. */
INLINE void outer(const int R, const int from, const int to, vec s[ROWS][PASS], const number *in, const number *d,
                  long row, long n) {
  for (long m = 0; m < n; m += PAIR, in += TILES ? PAIR : ROWS * PAIR, d += row * PAIR) {
    const number *factor[ROWS];
    if (TILES && m && m % 32 == 0) in += (FACTORS - 1) * 32;
    UNROLL for (int r = 0; r < R; r++) factor[r] = in + r * (TILES ? 32 : PAIR);
    multiply_once(R, from, to, s, factor, 0, d, PAIR);
  }
}
#endif /* TRAINING */
