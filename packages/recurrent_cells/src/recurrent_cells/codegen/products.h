/* Products in register blocks: ROWS rows by PASS vectors of sums, of 32 registers 24, of 16 12. */

#define PASS (REGISTERS == 32 ? 4 : 2)
#define ROWS 6
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
  const long blocks = (left + ROWS - 1) / ROWS;
  return (left + blocks - 1) / blocks;
}

/* s[r][from .. to) += in[r][0 .. n) x w [n][to - from][LANES] */
INLINE void multiply(const int R, const int from, const int to, vec s[ROWS][PASS], const float *const *in, long n,
                     const float *w) {
  const float *row[ROWS];
  UNROLL for (int r = 0; r < R; r++) row[r] = in[r];
  UNROLL_TWICE
  for (long k = 0; k < n; k++, w += (to - from) * LANES) {
    vec b[PASS];
    UNROLL for (int v = from; v < to; v++) b[v] = load(w + (v - from) * LANES);
    UNROLL for (int v = from; v < to; v++)
      if (v % (16 / LANES) == 0) __builtin_prefetch(w + (AHEAD * (to - from) + v - from) * LANES);
    UNROLL for (int r = 0; r < R; r++) {
      vec one = all(row[r][k]);
      UNROLL for (int v = from; v < to; v++) s[r][v] += one * b[v];
    }
  }
}

/* Sums over `blocks` blocks of n columns: block b of row r lies at in + r * row + b * block. out[r] takes `columns` values. */
INLINE void product(const int R, const float *in, long row, long block, long blocks, long n, const float *w,
                    float *const *out, long offset, long columns, int add) {
  vec s[ROWS][PASS];
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < PASS; v++) s[r][v] = (vec){0};
  for (long b = 0; b < blocks; b++, in += block, w += n * PASS * LANES) {
    const float *rows[ROWS];
    UNROLL for (int r = 0; r < R; r++) rows[r] = in + r * row;
    multiply(R, 0, PASS, s, rows, n, w);
  }
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < PASS; v++) {
    float *to = out[r] + offset + v * LANES;
    const long left = columns - v * LANES;
    if (add) s[r][v] += load_up_to(to, left);
    store_up_to(to, s[r][v], left);
  }
}

/* The same for any number of rows and all columns; panels of weights [columns / (PASS LANES)][blocks][n][PASS][LANES], of
   which those from `begin` on, up to `end`, are computed. */
static NOINLINE void products(long rows, const float *in, long row, long block, long blocks, long n, const float *w,
                     float *const *out, long columns, long begin, long end, int add) {
  const long wide = PASS * LANES;
  for (long p = begin; p < end; p++) {
    const float *own = w + p * blocks * n * wide;
    for (long first = 0; first < rows;) {
      const long some = share(rows - first);
      BY_ROWS(some, product(R, in + first * row, row, block, blocks, n, own, out + first, p * wide, columns - p * wide, add))
      first += some;
    }
  }
}

/* s[r][v] += over m of in[m][r] * d[m][v]: R columns of what was multiplied, by PASS vectors of gradients of sums. */
INLINE void outer(const int R, const int from, const int to, vec s[ROWS][PASS], const float *in, const float *d,
                  long row, long n) {
  for (long m = 0; m < n; m++, in += ROWS, d += row) {
    vec b[PASS];
    UNROLL for (int v = from; v < to; v++) b[v] = load(d + v * LANES);
    UNROLL for (int r = 0; r < R; r++) {
      vec one = all(in[r]);
      UNROLL for (int v = from; v < to; v++) s[r][v] += one * b[v];
    }
  }
}
