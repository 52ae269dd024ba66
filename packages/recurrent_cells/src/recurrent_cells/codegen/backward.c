
/* ---- backward ---- */

#if !MIXED
/* The gradients of one block of units, for all rows of a step; sums over rows in registers. */
static void gradients_of_units(const Call *c, const Layout *l, long part, long s, long u, const number *const *d_output, float *total) {
  const long n = l->active[part * (c->steps + 1) + s], m = l->base[part * (c->steps + 1) + s], first = l->first[part];
  for (int w = 0; w < WIDE; w++) {
    const long at = u * UNIT + w * LANES, left = c->hidden - at;
    vec sums[GRADIENTS];
    UNROLL for (int g = 0; g < GRADIENTS; g++) sums[g] = (vec){0};
    for (long j = 0; j < n; j++) {
      const float *kept = KEPT_AT(l, m, n, u, j);
      number *to = l->d_sums + (u * l->total + m + j) * D_BLOCK + w * LANES;
      if (left <= 0) {
        for (int g = 0; g < D_SUMS; g++) store_numbers(to + g * UNIT, (vec){0});
        continue;
      }
      vec in[KEPT + STATES + VECTORS], new[SUMS + STATES + VECTORS];
      UNROLL for (int k = 0; k < KEPT; k++) in[k] = load(kept + k * UNIT + w * LANES);
      float *d_state[STATES];
      UNROLL for (int q = 0; q < STATES; q++) d_state[q] = l->d_states[q] + (first + j) * l->width_of[q] + at;
      if (PROJECTED) in[KEPT] = load(l->d_made + (first + j) * l->width + at);
      else in[KEPT] = load(d_state[0]);
      if (!PROJECTED && d_output[j]) in[KEPT] += load_numbers_up_to(d_output[j] + at, left);
      UNROLL for (int q = 1; q < STATES; q++) in[KEPT + q] = load(d_state[q]);
      UNROLL for (int v = 0; v < VECTORS; v++) in[KEPT + STATES + v] = load(l->vectors + v * l->width + at);
      gradient(in, new);
      if (left < LANES)
        for (int g = 0; g < SUMS + STATES; g++) new[g] = first_of(new[g], left);
      UNROLL for (int g = 0; g < D_SUMS; g++) store_numbers(to + g * UNIT, g < SUMS ? new[g] : (vec){0});
      UNROLL for (int q = PROJECTED; q < STATES; q++) store(d_state[q], new[SUMS + q]);
      UNROLL for (int g = 0; g < SUMS; g++) sums[g] += new[g];
      UNROLL for (int v = 0; v < VECTORS; v++) sums[SUMS + v] += new[SUMS + STATES + v];
    }
    UNROLL for (int g = 0; g < GRADIENTS; g++) add_to(total + u * GRADIENTS * UNIT + g * UNIT + w * LANES, sums[g]);
  }
}
#endif

static void backward_part(const Call *c, const Layout *l, long part, long begin, long end, int me, Team *team) {
  const long T = c->steps, B = c->batch, H = c->hidden, P = c->outputs, first = l->first[part], rows = l->first[part + 1] - first;
  const long from = begin * UNIT, columns = (end - begin) * UNIT, table = (l->by_units ? me * B : 0) + first;
  void **out = l->y_at + table;
  const number **d_output = l->h_at + table;
  const int last = me == team->threads - 1;
  const long panel = l->by_units ? me * l->panels_y / team->threads : 0;
  const long last_panel = l->by_units ? (me + 1) * l->panels_y / team->threads : l->panels_y;
  const long panel_h = l->by_units ? me * l->panels_h / team->threads : 0;
  const long last_panel_h = l->by_units ? (me + 1) * l->panels_h / team->threads : l->panels_h;
  float *total = l->d_total + me * GRADIENTS * l->width;
  int initial = 0;
  for (int q = 0; q < STATES; q++) initial |= c->d_initial[q] != 0;
  for (long alone = 0; alone < (ALONE ? rows : 1); alone++)
  for (long s = T - 1, before = alone; s >= 0; s--) {
    const long n = l->active[part * (T + 1) + s], m = l->base[part * (T + 1) + s];
    const long stop = ALONE ? least(n, alone + 1) : n;
#if SQUARES
    for (long j = before; j < stop; j++)
      for (int q = 0; q < SQUARES; q++)
        begin_square(c, l, l->d_squares + ((first + j) * SQUARES + q) * l->square, c->d_final[STATES + q], l->order[first + j], 0.0f);
#endif
    for (long j = before; j < stop; j++) /* rows whose last step this is */
      for (int q = 0; q < STATES; q++) {
        /* Outputs have columns of their own, where they are projected. */
        const long wide = l->width_of[q], at = PROJECTED && !q ? panel * PANEL : from;
        const long own = PROJECTED && !q ? (last_panel - panel) * PANEL : last ? wide - from : columns, real = q ? H : P;
        float *to = l->d_states[q] + (first + j) * wide + at;
        memset(to, 0, sizeof(float) * own);
        if (c->d_final[q] && real > at) copy(to, c->d_final[q] + l->order[first + j] * real + at, least(own, real - at));
      }
    if (stop <= alone) continue;
    before = stop;
    for (long j = alone; j < stop; j++) {
      const long row = l->order[first + j];
      d_output[j] = c->d_y ? c->d_y + time_of(c, row, s) * c->d_y_step + row * c->d_y_row : 0;
    }
    if (PROJECTED) {
      for (long j = 0; j < n; j++)
        for (long p = panel; p < last_panel; p++)
          for (long k = 0; k < PANEL; k += LANES) {
            vec d = load(l->d_states[0] + (first + j) * l->width_of[0] + p * PANEL + k);
            if (d_output[j]) d += load_numbers_up_to(d_output[j] + p * PANEL + k, P - p * PANEL - k);
            store_numbers(l->d_output + (p * l->total + m + j) * PANEL + k, first_of(d, P - p * PANEL - k));
          }
      for (long j = 0; j < n; j++) out[j] = l->d_made + (first + j) * l->width;
      if (l->by_units) wait_for_all(team);
      products(n, l->d_output + m * PANEL, PANEL, l->total * PANEL, l->panels_y, PANEL, l->projection, out, 1, l->width, l->panels_h,
               panel_h, last_panel_h, 0);
      if (l->by_units) wait_for_all(team);
    }
#if PRODUCTS
    gradients_in_phases(c, l, part, s, d_output, total);
#elif NORMS
    for (long j = 0; j < n; j++)
      gradients_of_row(c, l, part, s, j, d_output[j], total, l->arguments + me * NORMS * l->width);
#elif OF_HEADS
    for (long j = alone; j < stop; j++) gradients_of_heads(c, l, part, s, j, d_output[j], total, me);
#else
    for (long u = begin; u < end; u++) gradients_of_units(c, l, part, s, u, d_output, total);
#endif
    if (l->by_units) wait_for_all(team);
    if (H_SUMS && (s || initial)) {
      for (long j = 0; j < n; j++) out[j] = l->d_states[0] + (first + j) * l->width_of[0];
      const number *d = l->d_sums + m * D_BLOCK + D_H * UNIT;
      if (HEADS == 1)
        products(n, d, D_BLOCK, l->total * D_BLOCK, l->units, (D_SUMS - D_H) * UNIT, l->back_h, out, 1, P, l->narrow_y, panel,
                 last_panel, !PROJECTED);
      else
        for (long p = panel; p < last_panel; p++)
          products(n, d + first_unit(l, c, p) * l->total * D_BLOCK, D_BLOCK, l->total * D_BLOCK, l->units_read, (D_SUMS - D_H) * UNIT, l->back_h,
                   out, 1, P, l->panels_y, p, p + 1, 1);
      if (l->by_units) wait_for_all(team);
    } else if (PROJECTED) {
      for (long j = 0; j < n; j++)
        memset(l->d_states[0] + (first + j) * l->width_of[0] + panel * PANEL, 0, sizeof(float) * (last_panel - panel) * PANEL);
    }
    if (c->d_x && l->x_by_steps) {
      for (long j = 0; j < n; j++) {
        const long row = l->order[first + j];
        out[j] = c->d_x + time_of(c, row, s) * c->d_x_step + row * c->d_x_row;
      }
      products(n, l->d_sums + m * D_BLOCK, D_BLOCK, l->total * D_BLOCK, l->units, D_X * UNIT, l->back_x, out, 0, c->inputs, l->narrow_x,
               0, l->panels_x, 0);
    }
#if SQUARES
    for (long j = alone; j < stop; j++)
      if (begins(c, l->order[first + j], s))
        memset(l->d_squares + (first + j) * SQUARES * l->square, 0, sizeof(float) * SQUARES * l->square);
#endif
    for (long j = alone; j < stop; j++)
      if (begins(c, l->order[first + j], s))
        for (int q = 0; q < STATES; q++) {
          const long at = PROJECTED && !q ? panel * PANEL : from;
          const long own = PROJECTED && !q ? (last_panel - panel) * PANEL : columns;
          memset(l->d_states[q] + (first + j) * l->width_of[q] + at, 0, sizeof(float) * own);
        }
  }
}

/* Gradients of initial states. A row without a step hands those of its final states on. */
static void gradients_of_initial(const Call *c, const Layout *l, long begin, long end) {
  for (int q = 0; q < STATES; q++)
    for (long j = begin; c->d_initial[q] && j < end; j++) {
      const long row = l->order[j], n = q ? c->hidden : c->outputs;
      float *to = c->d_initial[q] + row * n;
      if (length_of(c, row)) copy(to, l->d_states[q] + j * l->width_of[q], n);
      else if (c->d_final[q]) memmove(to, c->d_final[q] + row * n, sizeof(float) * n);
      else memset(to, 0, sizeof(float) * n);
    }
#if SQUARES
  for (int q = 0; q < SQUARES; q++)
    for (long j = begin; c->d_initial[STATES + q] && j < end; j++) {
      float *own = l->d_squares + (j * SQUARES + q) * l->square;
      if (!length_of(c, l->order[j])) begin_square(c, l, own, c->d_final[STATES + q], l->order[j], 0.0f);
      end_square(c, l, c->d_initial[STATES + q], own, l->order[j]);
    }
#endif
}

/* Elements m one after another. */
typedef struct {
  long part, step, j, m;
} Cursor;
static void next(const Call *c, const Layout *l, Cursor *at) {
  at->m++;
  at->j++;
  while (at->m < l->total && at->j >= l->active[at->part * (c->steps + 1) + at->step]) {
    at->j = 0;
    if (++at->step >= c->steps) at->step = 0, at->part++;
  }
}
static Cursor cursor(const Call *c, const Layout *l, long m) {
  Cursor at = {0, 0, -1, -1};
  while (at.part + 1 < l->parts && l->base[(at.part + 1) * (c->steps + 1)] <= m) at.part++;
  while (at.step + 1 < c->steps && l->base[at.part * (c->steps + 1) + at.step + 1] <= m) at.step++;
  at.m = m;
  at.j = m - l->base[at.part * (c->steps + 1) + at.step];
  return at;
}
static long row_of(const Layout *l, const Cursor *at) { return l->order[l->first[at->part] + at->j]; }

/* d_x = d_sums W^T, of elements from `begin` to `end`; as many at a time as the second-level cache holds d_sums of. */
static void gradients_of_x(const Call *c, const Layout *l, long begin, long end) {
  if (begin >= end) return;
  enum { MOST = 192 };
  const long fit = (SECOND_LEVEL / 4) / (long)(l->units * D_BLOCK * sizeof(number)), some = least(MOST, most(1, fit / ROWS) * ROWS);
  Cursor at = cursor(c, l, begin);
  void *out[MOST];
  for (long m = begin; m < end; m += some) {
    const long n = least(some, end - m);
    for (long r = 0; r < n; r++, next(c, l, &at)) {
      const long row = row_of(l, &at);
      out[r] = c->d_x + time_of(c, row, at.step) * c->d_x_step + row * c->d_x_row;
    }
    products(n, l->d_sums + m * D_BLOCK, D_BLOCK, l->total * D_BLOCK, l->units, D_X * UNIT, l->back_x, out, 0, c->inputs, l->narrow_x,
             0, l->panels_x, 0);
  }
}

#if TILES
/* Columns `begin` to `end` of tiles of n columns of factors, [tile][TILE], each [CHUNK / 32][FACTORS][32]. */
static NOINLINE void pack_factors(number *to, const number *const *from, long rows, long begin, long end, long n) {
  for (long m = 0; m < rows; m += 32, to += FACTORS * 32)
    for (long t = begin; t < end; t++) {
      words v[LANES];
      for (int j = 0; j < LANES; j++) {
        const long k = m + 2 * j, left = n - t * FACTORS;
        v[j] = k < rows ? (words)load_numbers_up_to(from[k] + t * FACTORS, left) >> 16 : (words){0};
        if (k + 1 < rows) v[j] |= (words)load_numbers_up_to(from[k + 1] + t * FACTORS, left);
      }
      turn((vec *)v, LANES);
      memcpy(to + (t - begin) * TILE, v, sizeof v);
    }
}
#else
/* Columns `begin` to `end` of tiles of n rows of factors, [tile][TILE], each [CHUNK][ROWS], rows in pairs. */
#if HALF
static NOINLINE void pack_factors(number *to, const number *const *from, long rows, long begin, long end, long n) {
  enum { SOME = 16 }; /* tiles, and pairs of rows, that are joined at a time */
  uint32_t both[SOME][SOME * ROWS + LANES];
  for (long m = 0; m < rows; m += 2 * SOME, to += 2 * SOME * ROWS)
    for (long t = begin; t < end; t += SOME) {
      const long count = least(SOME, end - t), pairs = least(SOME, up(rows - m, 2));
      for (long i = 0; i < pairs; i++) {
        const number *even = from[m + 2 * i], *odd = m + 2 * i + 1 < rows ? from[m + 2 * i + 1] : 0;
        for (long k = 0; k < count * ROWS; k += LANES) {
          const long at = t * ROWS + k;
          words w = (words)load_numbers_up_to(even + at, n - at) >> 16;
          if (odd) w |= (words)load_numbers_up_to(odd + at, n - at);
          *(loose_words *)(both[i] + k) = w;
        }
      }
      for (long k = 0; k < count; k++)
        for (long i = 0; i < pairs; i++)
          memcpy(to + (t - begin + k) * TILE + i * 2 * ROWS, both[i] + k * ROWS, ROWS * sizeof(uint32_t));
    }
}
#else
static void pack_factors(number *to, const number *const *from, long rows, long begin, long end, long n) {
  for (long m = 0; m < rows; m++, to += ROWS) {
    number *tile = to;
    for (long t = begin; t < end; t++, tile += TILE) {
      const long some = least(ROWS, n - t * ROWS);
      if (some == ROWS) {
        memcpy(tile, from[m] + t * ROWS, sizeof(number) * ROWS);
        continue;
      }
      memset(tile, 0, sizeof(number) * ROWS);
      memcpy(tile, from[m] + t * ROWS, sizeof(number) * some);
    }
  }
}
#endif
#endif /* TILES */
/* n rows of `columns` numbers, side by side in pairs; as they are, where numbers are floats. */
static const number *joined(const number *d, long columns, long n, number *to) {
#if HALF
#if TILES
  memset(to + n * columns, 0, sizeof(number) * (EVEN(n) - n) * columns);
#endif /* TILES */
  for (long m = 0; m < n; m += PAIR)
    for (long j = 0; j < columns; j += LANES)
      join(to + m * columns + j * PAIR, d + m * columns + j, m + 1 < n ? d + (m + 1) * columns + j : 0);
  return to;
#else
  (void)columns, (void)n, (void)to;
  return d;
#endif
}

/* Adds to one tile of a gradient [n][columns]: `rows` rows from `to` on; values of a vector beyond `left` are none. */
INLINE void add_tile(const int R, vec s[ROWS][PASS], int v, float *to, long columns, long left, int add) {
  UNROLL for (int r = 0; r < R; r++) {
    float *p = to + r * columns;
    if (add) s[r][v] += load_up_to(p, left);
    store_up_to(p, s[r][v], left);
  }
}
INLINE void gradient_tile(const int R, const Call *c, const number *factors, const number *d, long n, const int from, const int end,
                          const int *column, float *to, long columns, long u, int add) {
  vec s[ROWS][PASS];
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < (end - from) * WIDE; v++) s[r][v] = (vec){0};
  outer(R, 0, (end - from) * WIDE, s, factors, d + from * UNIT * PAIR, D_BLOCK, n);
  UNROLL for (int v = 0; v < (end - from) * WIDE; v++) {
    const long at = u * UNIT + v % WIDE * LANES;
    add_tile(R, s, v, to + column[from + v / WIDE] * c->hidden + at, columns, c->hidden - at, add);
  }
}
#if TILES
/* Of N vectors, for up to TALL factors. Vector v goes to columns from at[v] on, of which it has left[v]. */
static NOINLINE void gradient_in_tiles(long rows, int N, const number *factors, const number *d, long row, long n, float *to, long columns,
                                       const long *at, const long *left, int add) {
  const int tall = rows > 16;
  float s[TALL][PASS][LANES] __attribute__((aligned(64)));
  for (int v = 0; v < N; v += 2) {
    const int right = v + 1 < N;
    begin_with_zeros();
    add_products(tall, 1, right, factors, 32, FACTORS * 32, TILE, d + v * TILE_NUMBERS, row * PAIR, n);
    store_sums(tall, right, s[0][v], PASS * LANES);
  }
  for (long r = 0; r < rows; r++)
    for (int v = 0; v < N; v++) put(to + r * columns, load(s[r][v]), 1, at[v], left[v], add);
}
#endif /* TILES */
/* All tiles of x's (or h's) factors for one block of units. */
static NOINLINE void gradient_tiles(const Call *c, const number *factors, const number *d, long n, int of_h, float *to, long u, long begin,
                           long end, int add) {
  const long rows = of_h ? c->outputs : c->inputs, columns = (of_h ? HEADS > 1 ? H_SUMS : COLUMNS : X_SUMS) * c->hidden;
  if (HEADS > 1 && of_h) { /* the tiles of rows that these units read */
    const long first = most(begin, first_read(c, u * UNIT) / FACTORS);
    factors += (first - begin) * TILE;
    begin = first, end = least(end, tiles(end_read(c, (u + 1) * UNIT)));
  }
#if TILES
  if (tiled(n)) {
    const int *column = of_h ? H_COLUMN : X_COLUMN, last = of_h ? SUMS : X_SUMS;
    for (int s = of_h ? FIRST_H : 0; s < last; s += PASS / WIDE) {
      const int N = LOW(PASS / WIDE, last - s) * WIDE;
      long at[PASS], left[PASS];
      for (int v = 0; v < N; v++) {
        left[v] = c->hidden - u * UNIT - v % WIDE * LANES;
        at[v] = (column[s + v / WIDE] + 1) * c->hidden - left[v];
      }
      for (long t = begin; t < end; t += 2)
        gradient_in_tiles(least(least(2, end - t) * FACTORS, rows - t * FACTORS), N, factors + (t - begin) * TILE, d + s * UNIT * PAIR,
                          D_BLOCK, n, to + t * FACTORS * columns, columns, at, left, add);
    }
    return;
  }
#endif /* TILES */
#define GRADIENT_PASS(FROM, TO) { \
    enum { X_TO = LOW(TO, X_SUMS), H_FROM = HIGH(FROM, FIRST_H) }; \
    for (long t = begin; t < end; t++) { \
      const number *own = factors + (t - begin) * TILE; \
      float *at = to + t * FACTORS * columns; \
      for (long left = least(FACTORS, rows - t * FACTORS), some; left > 0; own += some * 32, at += some * columns, left -= some) { \
        some = least(ROWS, left); \
        if (!of_h && FROM < X_TO) BY_ROWS(some, gradient_tile(R, c, own, d, n, FROM, X_TO, X_COLUMN, at, columns, u, add)) \
        if (of_h && H_FROM < TO) BY_ROWS(some, gradient_tile(R, c, own, d, n, H_FROM, TO, H_COLUMN, at, columns, u, add)) \
      } \
    } \
  }
  EACH_PASS(GRADIENT_PASS)
}
INLINE void projection_tile(const int R, const number *factors, const number *d, long n, float *to, long columns, long left, int add) {
  vec s[ROWS][PASS];
  UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < PASS; v++) s[r][v] = (vec){0};
  outer(R, 0, PASS, s, factors, d, PANEL, n);
  UNROLL for (int v = 0; v < PASS; v++) add_tile(R, s, v, to + v * LANES, columns, left - v * LANES, add);
}
/* Gradients of the matrices; a thread has rows of each. Rests of a division go to the first thread here, to the last there. */
static void gradients_of_matrices(const Call *c, const Layout *l, int me, int threads) {
  const long K = c->inputs, P = c->outputs, H = c->hidden;
  const int other = threads - 1 - me;
  const long x_begin = tiles(K) * me / threads, x_end = tiles(K) * (me + 1) / threads;
  const long h_end = tiles(P) - tiles(P) * other / threads, h_begin = tiles(P) - tiles(P) * (other + 1) / threads;
  const long p_begin = tiles(H) * me / threads, p_end = tiles(H) * (me + 1) / threads;
  number *of_x = l->factors + me * (tiles(K) + tiles(P) + PROJECTED * tiles(H)) * TILE;
  number *of_h = of_x + (x_end - x_begin) * TILE, *of_made = of_h + (h_end - h_begin) * TILE;
  number *pairs = l->joined + HALF * me * CHUNK * most(D_BLOCK, PANEL);
  Cursor at = cursor(c, l, 0);
  for (long m = 0; m < l->total; m += CHUNK) {
    const long n = least(CHUNK, l->total - m);
    const number *x[CHUNK], *h[CHUNK], *made[CHUNK];
    for (long r = 0; r < n; r++, next(c, l, &at)) {
      const long row = row_of(l, &at);
      x[r] = input_at(c, row, at.step);
      h[r] = output_before(c, l, row, at.step);
      if (PROJECTED) made[r] = l->made_kept + (m + r) * l->width;
    }
    if (c->d_weights[0]) pack_factors(of_x, x, n, x_begin, x_end, K);
    if (c->d_weights[1]) pack_factors(of_h, h, n, h_begin, h_end, P);
    for (long u = 0; u < l->units; u++) {
      const number *d = joined(l->d_sums + (u * l->total + m) * D_BLOCK, D_BLOCK, n, pairs);
      if (c->d_weights[0] && X_SUMS) gradient_tiles(c, of_x, d, n, 0, c->d_weights[0], u, x_begin, x_end, m > 0);
      if (c->d_weights[1] && H_SUMS)
        gradient_tiles(c, of_h, d, n, 1, HEADS > 1 ? l->dense : c->d_weights[1], u, h_begin, h_end, m > 0);
    }
#if PRODUCTS
    for (int g = 0; g < PRODUCTS && c->d_weights[1]; g++) {
      const int *one = GRADIENT_PRODUCTS[g], direct = HEADS == 1 && !one[3];
      for (long r = 0; r < n; r++) h[r] = l->factors_kept + (one[0] * l->total + m + r) * l->wide;
      pack_factors(of_h, h, n, h_begin, h_end, H);
      for (long p = 0; p < l->panels_h; p++)
        for (long t = h_begin; t < h_end; t++) {
          const float *own = of_h + (t - h_begin) * TILE;
          const float *d = l->d_factors + ((one[1] * l->panels_h + p) * l->total + m) * PANEL;
          const long columns = direct ? COLUMNS * H : l->wide, left = (direct ? H : l->wide) - p * PANEL;
          float *to = direct ? c->d_weights[1] + one[2] * H : l->turned + g * H * l->wide;
          to += t * ROWS * columns + p * PANEL;
          BY_ROWS(least(ROWS, H - t * ROWS), projection_tile(R, own, d, n, to, columns, left, m > 0 || (direct && one[4])))
        }
    }
#endif
    if (PROJECTED && c->d_weights[WEIGHTS - 1]) {
      pack_factors(of_made, made, n, p_begin, p_end, H);
      for (long p = 0; p < l->panels_y; p++) {
        const number *d = joined(l->d_output + (p * l->total + m) * PANEL, PANEL, n, pairs);
        float *to = c->d_weights[WEIGHTS - 1] + p * PANEL;
#if TILES
        if (tiled(n)) {
          long at[PASS], left[PASS];
          for (int v = 0; v < PASS; v++) at[v] = v * LANES, left[v] = P - p * PANEL - at[v];
          for (long t = p_begin; t < p_end; t += 2)
            gradient_in_tiles(least(least(2, p_end - t) * FACTORS, H - t * FACTORS), PASS, of_made + (t - p_begin) * TILE, d, PANEL, n,
                              to + t * FACTORS * P, P, at, left, m > 0);
          continue;
        }
#endif /* TILES */
        for (long t = p_begin; t < p_end; t++) {
          const number *own = of_made + (t - p_begin) * TILE;
          for (long r = t * FACTORS, some; r < least(H, (t + 1) * FACTORS); own += some * 32, r += some) {
            some = least(ROWS, least(H, (t + 1) * FACTORS) - r);
            BY_ROWS(some, projection_tile(R, own, d, n, to + r * P, P, P - p * PANEL, m > 0))
          }
        }
      }
    }
  }
}
/* Those of the bias and of vectors, summed over threads. */
static void gradients_of_vectors(const Call *c, const Layout *l, int threads) {
  for (int g = 0; g < GRADIENTS; g++) {
    float *to = g < SUMS ? c->d_weights[2] : c->d_weights[3 + g - SUMS];
    if (!to) continue;
    if (g < SUMS) to += BIAS_PLACE[g] * c->hidden;
    for (long j = 0; j < c->hidden; j++) {
      const float *from = l->d_total + j / UNIT * GRADIENTS * UNIT + g * UNIT + j % UNIT;
      float sum = 0;
      for (int t = 0; t < threads; t++) sum += from[t * GRADIENTS * l->width];
      to[j] = sum;
    }
  }
}

static void backward_team(const Call *c, Layout *l, int me, Team *team) {
  pack_by_team(c, l, 1, me, team);
  memset(l->d_total + me * GRADIENTS * l->width, 0, sizeof(float) * GRADIENTS * l->width);
  if (l->by_units) backward_part(c, l, 0, me * l->units / team->threads, (me + 1) * l->units / team->threads, me, team);
  else
    for (long part = me; part < l->parts; part += team->threads) backward_part(c, l, part, 0, l->units, me, team);
  if (team->threads > 1) wait_for_all(team);
  gradients_of_initial(c, l, c->batch * me / team->threads, c->batch * (me + 1) / team->threads);
  if (c->d_x) {
    if (!l->x_by_steps) gradients_of_x(c, l, l->total * me / team->threads, l->total * (me + 1) / team->threads);
    for (long row = c->batch * me / team->threads; row < c->batch * (me + 1) / team->threads; row++)
      for (long t = length_of(c, row); t < c->steps; t++) memset(c->d_x + t * c->d_x_step + row * c->d_x_row, 0, sizeof(number) * c->inputs);
  }
  gradients_of_matrices(c, l, me, team->threads);
  if ((HEADS > 1 || TURNED) && l->total && c->d_weights[1]) {
    if (team->threads > 1) wait_for_all(team);
    gradients_of_blocks(c, l, c->hidden * me / team->threads, c->hidden * (me + 1) / team->threads);
  }
  if (me == 0) gradients_of_vectors(c, l, team->threads);
}
void backward(const Call *c) {
  Layout l = {0};
  lay_out(&l, c);
  const int64_t *parts = aligned(c->tape);
  l.by_units = l.by_units && *parts == 1;
  l.parts = *parts;
  lay_out_packed(&l, c, 1, aligned(c->packed));
  lay_out_backward(&l, c, aligned(c->scratch));
  make_plan(&l, c);
  lay_out_tape(&l, c, l.total, (void *)parts);
  for (int q = 0; q < STATES; q++) l.width_of[q] = q ? l.width : most(l.width, l.panels_y * PANEL);
  const long sizes[] = {c->inputs * X_SUMS, c->outputs * COLUMNS / HEADS, c->outputs};
  for (int w = 0; w < 3 && !l.total; w++) {
    float *to = w < 2 ? c->d_weights[w] : PROJECTED ? c->d_weights[WEIGHTS - 1] : 0;
    if (to) memset(to, 0, sizeof(float) * sizes[w] * c->hidden);
  }
  run_team(backward_team, c, &l);
}
