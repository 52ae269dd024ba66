
/* ---- forward ---- */

/* The sums of R rows for one block of units: begin + x W + h U, whose parts of x or h are left out where these are 0. */
INLINE void sums_of(const int R, const number *const *x, long K, const number *const *h, long P, const number *w,
                    const float *begin, long begin_row, float *out, long out_row) {
#define SUM_PASS(FROM, TO) { \
    enum { X_TO = LOW(TO, X_SUMS), H_FROM = HIGH(FROM, FIRST_H), N = (TO - FROM) * WIDE }; \
    vec s[ROWS][PASS]; \
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < N; v++) \
      s[r][v] = load(begin + r * begin_row + FROM * UNIT + v * LANES); \
    if (FROM < X_TO) { \
      if (x) multiply(R, 0, (X_TO - FROM) * WIDE, s, x, K, w); \
      w += EVEN(K) * (X_TO - FROM) * UNIT; \
    } \
    if (H_FROM < TO) { \
      if (h) multiply(R, (H_FROM - FROM) * WIDE, N, s, h, P, w); \
      w += EVEN(P) * (TO - H_FROM) * UNIT; \
    } \
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < N; v++) \
      store(out + r * out_row + FROM * UNIT + v * LANES, s[r][v]); \
  }
  EACH_PASS(SUM_PASS)
}
#if TILES
/* Of up to TALL rows, whose copies lie side by side. */
static NOINLINE void sums_in_tiles(long rows, const number *x, long K, const number *h, long P, const number *w, const float *begin,
                                   long begin_row, float *out, long out_row) {
#if INT8
  for (long r = 0; r < rows; r++) memcpy(out + r * out_row, begin + r * begin_row, sizeof(float) * BLOCK);
#define TILE_PASS(FROM, TO) { \
    enum { X_TO = LOW(TO, X_SUMS), H_FROM = HIGH(FROM, FIRST_H) }; \
    if (FROM < X_TO) { \
      if (x) multiply_in_tiles(rows, (X_TO - FROM) * WIDE, x, COPY(K), K, w, out + FROM * UNIT, out_row); \
      w += EVEN(K) * (X_TO - FROM) * UNIT; \
    } \
    if (H_FROM < TO) { \
      if (h) multiply_in_tiles(rows, (TO - H_FROM) * WIDE, h, COPY(P), P, w, out + H_FROM * UNIT, out_row); \
      w += EVEN(P) * (TO - H_FROM) * UNIT; \
    } \
  }
  EACH_PASS(TILE_PASS)
#else
  const int tall = rows > 16, whole = rows % 16 == 0;
  float own[TALL * BLOCK] __attribute__((aligned(64))), *to = whole ? out : own;
  const long row = whole ? out_row : BLOCK;
#define TILE_PASS(FROM, TO) { \
    enum { N = (TO - FROM) * WIDE, OF_X = HIGH(LOW(TO, X_SUMS) - FROM, 0) * WIDE, FIRST = LOW(HIGH(FROM, FIRST_H) - FROM, TO - FROM) * WIDE }; \
    const number *of_h = w + EVEN(K) * OF_X * LANES; \
    UNROLL for (int v = 0; v < N; v += 2) { \
      const int right = v + 1 < N; \
      begin_sums(tall, right, begin + FROM * UNIT + v * LANES, begin_row); \
      if (x && v < OF_X) add_rows(tall, 1, v + 1 < OF_X, x, COPY(K), w + v * TILE_NUMBERS, OF_X, K); \
      if (h && v + right >= FIRST && FIRST < N) \
        add_rows(tall, v >= FIRST, right, h, COPY(P), of_h + (v - FIRST) * TILE_NUMBERS, N - FIRST, P); \
      store_sums(tall, right, to + FROM * UNIT + v * LANES, row); \
    } \
    w = of_h + EVEN(P) * (N - FIRST) * LANES; \
  }
  EACH_PASS(TILE_PASS)
  for (long r = 0; !whole && r < rows; r++) memcpy(out + r * out_row, own + r * BLOCK, sizeof(float) * BLOCK);
#endif
}
#endif /* TILES */
static NOINLINE void sums_of_rows(long rows, const number *const *x, long K, const number *const *h, long P, const number *w,
                         const float *begin, long begin_row, float *out, long out_row) {
#if TILES
  if (tiled(rows)) {
    sums_in_tiles(rows, x ? x[0] : 0, K, h ? h[0] : 0, P, w, begin, begin_row, out, out_row);
    return;
  }
#endif /* TILES */
  BY_ROWS(rows, sums_of(R, x, K, h, P, w, begin, begin_row, out, out_row))
}

/* The parts of x of all steps, for few rows: steps are rows like others. */
static void sum_inputs(const Call *c, const Layout *l, long part, long begin, long end, int me) {
  const int64_t *active = l->active + part * (c->steps + 1), *base = l->base + part * (c->steps + 1);
  const number *x[AT_ONCE];
  number *own = l->x_copy + me * AT_ONCE * COPY(c->inputs);
  const long fit = SECOND_LEVEL / 4 / (long)(most(1, c->inputs) * sizeof(number)), limit = least(AT_ONCE, most(4 * ROWS, fit));
  for (long s = 0, j = 0, m = base[0]; s < c->steps && active[s];) {
    long count = 0;
    while (count < limit && s < c->steps && active[s]) {
      x[count] = copied(input_at(c, l->order[l->first[part] + j], s), c->inputs, own + count * COPY(c->inputs));
      count++;
      if (++j == active[s]) j = 0, s++;
    }
    for (long u = begin; u < end; u++)
      for (long r = 0; r < count;) {
        const long some = share(count - r);
        sums_of_rows(some, x + r, c->inputs, 0, l->rows_read, l->weights + u * l->block, l->bias + u * BLOCK, 0,
                     l->x_sums + (u * l->total + m + r) * BLOCK, BLOCK);
        r += some;
      }
    m += count;
  }
}

#if !MIXED
/* One row's update of a block of units. */
INLINE void update_units(const int keep, long H, long u, const float *sums, const float *vectors, long width,
                         const number *before, float *memory, long memory_state, number *out, float *kept) {
  UNROLL for (int w = 0; w < WIDE; w++) {
    const long at = u * UNIT + w * LANES, left = H - at;
    if (left <= 0) break;
    vec in[INPUTS], new[STATES + KEPT];
    load_inputs(in, sums + w * LANES, before, memory, memory_state, vectors, width, at, left);
    if (keep) update_and_keep(in, new);
    else update(in, new);
    if (PROJECTED) store_numbers(out + at, new[0]);
    else store_numbers_up_to(out + at, new[0], left);
    UNROLL for (int q = !OWN_OUTPUT; q < STATES; q++) store(memory + (q - !OWN_OUTPUT) * memory_state + at, new[q]);
    if (keep) UNROLL for (int k = 0; k < KEPT; k++) store(kept + k * UNIT + w * LANES, new[STATES + k]);
  }
}
#endif

#if !ALONE
static void step_of_rows(const int keep, const Call *c, const Layout *l, long part, long s, long begin, long end,
                         const number **x, const number **h, void **out, int me) {
  const long n = l->active[part * (c->steps + 1) + s], m = l->base[part * (c->steps + 1) + s], first = l->first[part];
  const long memory_state = c->batch * l->width;
  const number **h_read = l->read_at + (h - l->h_at);
  float own[(TILES ? 32 : ROWS) * BLOCK] __attribute__((aligned(64)));
  for (long u = begin; u < end; u++)
    for (long j = 0; j < n;) {
      const long some = share(n - j);
      const float *start = l->ahead ? l->x_sums + (u * l->total + m + j) * BLOCK : l->bias + u * BLOCK;
      float *to = MIXED ? l->waiting + ((first + j) * l->units + u) * BLOCK : own;
      const number *read[ROWS];
      for (long r = 0; HEADS > 1 && r < some; r++) read[r] = h[j + r] + first_row(l, c, u);
      sums_of_rows(some, l->ahead ? 0 : x + j, c->inputs, HEADS > 1 ? read : H_SUMS ? h_read + j : 0, l->rows_read,
                   l->weights + u * l->block, start, l->ahead ? BLOCK : 0, to, MIXED ? l->units * BLOCK : BLOCK);
#if !MIXED
      for (long r = 0; r < some; r++)
        update_units(keep, c->hidden, u, own + r * BLOCK, l->vectors, l->width, h[j + r],
                     l->memory + (first + j + r) * l->width, memory_state, out[j + r],
                     keep ? KEPT_AT(l, m, n, u, j + r) : 0);
#endif
      j += some;
    }
#if PRODUCTS
  (void)me, (void)memory_state;
  update_in_phases(keep, c, l, part, s, h, out);
#elif NORMS
  for (long j = 0; j < n; j++)
    update_row(keep, c->hidden, l->units, l->waiting + (first + j) * l->units * BLOCK, l->vectors, h[j],
               l->memory + (first + j) * l->width, memory_state, out[j], keep ? KEPT_AT(l, m, n, 0, j) : 0,
               n * KEPT * UNIT, l->arguments + me * NORMS * l->width, keep ? l->inverses + (m + j) * NORMS : 0);
#elif OF_HEADS
  (void)m, (void)memory_state;
  for (long j = 0; j < n; j++)
    update_heads(keep, c, l, part, s, j, l->waiting + (first + j) * l->units * BLOCK, BLOCK, h[j], out[j], me);
#else
  (void)me;
#endif
}
#if !MIXED
static void step_only(const Call *c, const Layout *l, long part, long s, long begin, long end, const number **x,
                      const number **h, void **out, int me) {
  step_of_rows(0, c, l, part, s, begin, end, x, h, out, me);
}
static void step_and_keep(const Call *c, const Layout *l, long part, long s, long begin, long end, const number **x,
                          const number **h, void **out, int me) {
  step_of_rows(1, c, l, part, s, begin, end, x, h, out, me);
}
#else
#define step_only(...) step_of_rows(0, __VA_ARGS__)
#define step_and_keep(...) step_of_rows(1, __VA_ARGS__)
#endif
#endif

static void copy(float *to, const float *from, long n) { memcpy(to, from, sizeof(float) * n); }
/* A given state, as floats. */
static void copy_state(int q, float *to, const void *from, long first, long n) {
  for (long j = 0; j < n; j++) to[j] = q ? ((const float *)from)[first + j] : from_number(((const number *)from)[first + j]);
}

/* All steps of a part, of hidden units from `begin` to `end`. */
static void forward_part(const Call *c, const Layout *l, long part, long begin, long end, int me, Team *team) {
  const long T = c->steps, B = c->batch, H = c->hidden, P = c->outputs, first = l->first[part], rows = l->first[part + 1] - first;
  const long from = begin * UNIT, columns = (end - begin) * UNIT, table = (l->by_units ? me * B : 0) + first;
  const number **x = l->x_at + table, **h = l->h_at + table;
  void **out = l->y_at + table;
  const long panels = l->by_units ? l->panels_y : 0, panel = me * panels / team->threads;
  const long last_panel = l->by_units ? (me + 1) * panels / team->threads : l->panels_y;
  for (int q = !OWN_OUTPUT; q < STATES; q++)
    for (long j = first; j < first + rows; j++) {
      float *to = l->memory + ((q - !OWN_OUTPUT) * B + j) * l->width + from;
      copy(to, l->start[q] + from, columns);
      if (c->initial[q]) copy_state(q, to, c->initial[q], l->order[j] * H + from, least(columns, H - from));
    }
#if SQUARES
  for (long j = first; j < first + rows; j++)
    for (int q = 0; q < SQUARES; q++) begin_square(c, l, l->squares + (j * SQUARES + q) * l->square, c->initial[STATES + q], l->order[j], START[STATES + q]);
#endif
  if (l->ahead) sum_inputs(c, l, part, begin, end, me);
  for (long alone = 0; alone < (ALONE ? rows : 1); alone++)
  for (long s = 0; s < T; s++) {
    const long n = l->active[part * (T + 1) + s], m = l->base[part * (T + 1) + s];
    const long stop = ALONE ? least(n, alone + 1) : n;
    if (alone >= stop) break;
    for (long j = alone; j < stop; j++) {
      const long row = l->order[first + j];
      x[j] = input_at(c, row, s);
      h[j] = output_before(c, l, row, s);
#if INT8 || TILES
      if (X_SUMS && !l->ahead) x[j] = copied(x[j], c->inputs, l->x_copy + (table + j) * COPY(c->inputs));
      if (H_SUMS) l->read_at[table + j] = copied(h[j], P, l->h_copy + (table + j) * COPY(P));
#endif
      out[j] = PROJECTED ? (c->tape ? l->made_kept + (m + j) * l->width : l->made + (first + j) * l->width)
                         : c->y + time_of(c, row, s) * c->y_step + row * c->y_row;
      if (begins(c, row, s))
        for (int q = !OWN_OUTPUT; q < STATES; q++)
          copy(l->memory + ((q - !OWN_OUTPUT) * B + first + j) * l->width + from, l->start[q] + from, columns);
#if SQUARES
      for (int q = 0; q < SQUARES && begins(c, row, s); q++)
        begin_square(c, l, l->squares + ((first + j) * SQUARES + q) * l->square, 0, 0, START[STATES + q]);
#endif
    }
#if ALONE
    update_heads(c->tape != 0, c, l, part, s, alone, l->x_sums + (m + alone) * BLOCK, l->total * BLOCK, h[alone], out[alone], me);
#else
    if (c->tape) step_and_keep(c, l, part, s, begin, end, x, h, out, me);
    else step_only(c, l, part, s, begin, end, x, h, out, me);
#endif
    if (l->by_units) wait_for_all(team);
    if (PROJECTED) {
      const number *made = out[0], *read = INT8 || TILES ? l->made_copy + table * COPY(H) : made;
      for (long j = 0; j < n; j++) {
        const long row = l->order[first + j];
        out[j] = c->y + time_of(c, row, s) * c->y_step + row * c->y_row;
        (void)copied(made + j * l->width, H, l->made_copy + (table + j) * COPY(H));
      }
      products(n, read, INT8 || TILES ? COPY(H) : l->width, 0, 1, H, l->projection, out, 0, P, l->panels_y, panel, last_panel, 0);
      if (l->by_units) wait_for_all(team);
    }
  }
  for (long j = first; j < first + rows; j++) {
    const long row = l->order[j], length = length_of(c, row);
    for (int q = 1; q < STATES; q++)
      if (c->final[q])
        copy((float *)c->final[q] + row * H + from, l->memory + ((q - !OWN_OUTPUT) * B + j) * l->width + from, least(columns, H - from));
#if SQUARES
    for (int q = 0; q < SQUARES; q++)
      if (c->final[STATES + q]) end_square(c, l, c->final[STATES + q], l->squares + (j * SQUARES + q) * l->square, row);
#endif
    if (!l->by_units || me == 0) {
      if (c->final[0]) memmove((number *)c->final[0] + row * P, last_output(c, l, row), sizeof(number) * P);
      for (long t = length; t < T; t++) memset(c->y + t * c->y_step + row * c->y_row, 0, sizeof(number) * P);
    }
  }
}
static void forward_team(const Call *c, Layout *l, int me, Team *team) {
  pack_by_team(c, l, 0, me, team);
  if (l->by_units) {
    forward_part(c, l, 0, me * l->units / team->threads, (me + 1) * l->units / team->threads, me, team);
    return;
  }
  for (long part = me; part < l->parts; part += team->threads) forward_part(c, l, part, 0, l->units, me, team);
}
void forward(Call *c) {
  Layout l = {0};
  lay_out(&l, c);
#if LIBRARY
  if (c->digest && are_known(c, &l)) c->pack = 0, c->packed = c->known;
  if (!c->packed) return;
#endif /* LIBRARY */
  lay_out_packed(&l, c, 0, aligned(c->packed));
  lay_out_forward(&l, c, aligned(c->scratch));
  make_plan(&l, c);
  if (c->tape) {
    int64_t *parts = aligned(c->tape);
    *parts = l.parts;
    lay_out_tape(&l, c, l.total, parts);
  }
  run_team(forward_team, c, &l);
}
