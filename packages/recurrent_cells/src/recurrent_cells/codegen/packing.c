
/* ---- packing: threads have blocks of units, or panels, of their own ---- */

#define LOW(a, b) ((a) < (b) ? (a) : (b))
#define HIGH(a, b) ((a) > (b) ? (a) : (b))

/* LANES weights, or n, which the caller has as floats or as numbers. */
INLINE vec weights_at(const Call *c, const void *from, long at, long n) {
  if (HALF && c->pack == 2) return load_numbers_up_to((const number *)from + at, n);
  return load_up_to((const float *)from + at, n);
}
#if HALF
INLINE narrow narrow_weights_at(const Call *c, const void *from, long at, long n) {
  if (c->pack == 2 && n >= LANES) return *(const loose_narrow *)((const number *)from + at);
  return narrowed(weights_at(c, from, at, n));
}
#endif
/* LANES columns from `at` on, of n, of the rows k to k + PAIR of a matrix, of those that there are; zeros for others. */
INLINE void pack_columns(const Call *c, const void *from, long first, long row, long k, long rows, long at, long n, float scale,
                         number *to) {
  first += k * row + at;
  vec odd = {0};
  if (PAIR > 1 && k + 1 < rows) odd = weights_at(c, from, first + row, n - at) * scale;
  store_pair(to, weights_at(c, from, first, !TILES || k < rows ? n - at : 0) * scale, odd);
}
#if INT8
/* LANES columns from `at` on, of n that are `step` apart, of all rows, as bytes, among `wide` columns. */
INLINE vec columns_at(const float *from, long step, long n) {
  vec v = {0};
  if (step == 1) return load_up_to(from, n);
  for (int i = 0; i < LANES && i < n; i++) v[i] = from[i * step];
  return v;
}
static NOINLINE void pack_bytes(const float *from, long row, long step, long rows, long at, long n, float scale, long wide, number *to) {
  vec largest = all(TINY);
  words total = {0};
  from += at * step;
  for (long k = 0; k < rows; k++) largest = maximum(largest, absolute(columns_at(from + k * row, step, n - at)));
  const vec inverse = choose(largest > TINY, LEVELS / largest, (vec){0});
  store(to + wide, largest / LEVELS * scale);
  for (long k = 0; k < 4 * (EVEN(rows) - 2); k += 4) {
    words four = {0};
    for (long i = 0; i < 4 && k + i < rows; i++) {
      const words q = (words)(columns_at(from + (k + i) * row, step, n - at) * inverse + WHOLE) - (words)all(WHOLE);
      total += q;
      four |= (q & 0xff) << (8 * i);
    }
    *(loose_words *)(to + (2 + k / 4) * wide) = four;
  }
  *(loose_words *)to = -128 * total;
}
#else
#define pack_bytes(...) (void)0
#endif
/* Values of a row of a recurrent matrix with its zeros, from column `at` on; of a column, from row `row` on. */
INLINE void recurrent_row(const Call *c, long column, long row, long at, int n, float scale, float *to) {
  const long size = c->hidden / HEADS, head = row / size * size;
  const float *from = c->weights[1] + row * COLUMNS * size + column * size - head;
  for (int j = 0; j < n; j++) to[j] = row < c->hidden && at + j >= head && at + j < head + size ? from[at + j] * scale : 0.0f;
}
#if TRAINING || PRODUCTS
INLINE void recurrent_column(const Call *c, long column, long at, long row, int n, float *to) {
  const long size = c->hidden / HEADS, head = at / size * size;
  const float *from = c->weights[1] + column * size + at - head;
  for (int j = 0; j < n; j++)
    to[j] = at < c->hidden && row + j >= head && row + j < head + size ? from[(row + j) * COLUMNS * size] : 0.0f;
}
#endif
#if PRODUCTS
/* Matrices of products, in panels: [panel of columns][rows that it reads][PANEL]. products: see FORWARD_PRODUCTS. */
static void pack_matrices(const Call *c, const Layout *l, const int (*products)[3], int count, int me, int threads) {
#if INT8
  const long H = c->hidden, row = COLUMNS * H;
  for (int k = 0; k < count; k++)
    for (long p = l->panels_h * me / threads; p < l->panels_h * (me + 1) / threads; p++)
      for (long at = 0; at < PANEL; at += LANES)
        pack_bytes(c->weights[1] + products[k][1] * H, products[k][2] ? 1 : row, products[k][2] ? row : 1, H, p * PANEL + at, H, 1.0f, PANEL,
                   l->matrices + (k * l->panels_h + p) * EVEN(H) * PANEL + at);
  return;
#endif
  for (int k = 0; k < count; k++)
    for (long p = l->panels_h * me / threads; p < l->panels_h * (me + 1) / threads; p++) {
      const long first = first_block(l, c, p) * PANEL;
      float *to = l->matrices + (k * l->panels_h + p) * l->blocks_read * PANEL * PANEL;
      for (long row = first; row < first + l->blocks_read * PANEL; row++, to += PANEL)
        if (products[k][2]) recurrent_column(c, products[k][1], row, p * PANEL, PANEL, to);
        else recurrent_row(c, products[k][1], row, p * PANEL, PANEL, 1.0f, to);
    }
}
#endif
/* Rows by tiles, all columns of one before the next: reading whole columns would touch a page for each value. */
static void pack_forward(const Call *c, const Layout *l, int me, int threads) {
  enum { SOME = 4 };
  const long first = l->units * me / threads, last = l->units * (me + 1) / threads;
  const long H = c->hidden;
  for (long tile = 0; tile < most(EVEN(c->inputs), EVEN(l->rows_read)); tile += SOME)
    for (long u = first; u < last; u++) {
      number *part = l->weights + u * l->block;
#define PACK_PASS(FROM, TO) \
  for (int h = 0; h < 2; h++) { \
    const int from = h ? HIGH(FROM, FIRST_H) : FROM, end = h ? TO : LOW(TO, X_SUMS); \
    if (from >= end) continue; \
    const long rows = h ? l->rows_read : c->inputs, gates = h ? COLUMNS : X_SUMS, columns = (end - from) * UNIT; \
    number *to = part + tile * columns; \
    for (int s = from; INT8 && tile == 0 && s < end; s++) \
      for (long at = u * UNIT; at < (u + 1) * UNIT; at += LANES, to += LANES) \
        pack_bytes(c->weights[h] + (h ? H_COLUMN : X_COLUMN)[s] * H, gates * H, 1, rows, at, H, SCALE[s], columns, to); \
    for (long k = tile; !INT8 && k < least(EVEN(rows), tile + SOME); k += PAIR) \
      for (int s = from; s < end; s++) \
        for (long at = u * UNIT; at < (u + 1) * UNIT; at += LANES, to += LANES * PAIR) { \
          if (HEADS > 1 && h) recurrent_row(c, H_COLUMN[s], first_row(l, c, u) + k, at, LANES, SCALE[s], (float *)to); \
          else pack_columns(c, c->weights[h], (h ? H_COLUMN : X_COLUMN)[s] * H, gates * H, k, rows, at, H, WEIGHT_SCALE(s), to); \
        } \
    part += EVEN(rows) * columns; \
  }
      EACH_PASS(PACK_PASS)
    }
  for (long u = first; u < last; u++)
    for (int s = 0; s < SUMS; s++)
      for (long at = 0; at < UNIT; at += LANES)
        store(l->bias + u * BLOCK + s * UNIT + at,
              weights_at(c, c->weights[2], BIAS_PLACE[s] * H + u * UNIT + at, H - u * UNIT - at) * WEIGHT_SCALE(s));
#if PRODUCTS
  pack_matrices(c, l, FORWARD_PRODUCTS, PRODUCTS, me, threads);
#endif
  if (!PROJECTED) return;
  for (long p = l->panels_y * me / threads; p < l->panels_y * (me + 1) / threads; p++) {
    number *to = l->projection + p * EVEN(H) * PANEL;
    for (long at = p * PANEL; INT8 && at < (p + 1) * PANEL; at += LANES, to += LANES)
      pack_bytes(c->weights[WEIGHTS - 1], c->outputs, 1, H, at, c->outputs, 1.0f, PANEL, to);
    for (long k = 0; !INT8 && k < EVEN(H); k += PAIR)
      for (long at = p * PANEL; at < (p + 1) * PANEL; at += LANES, to += LANES * PAIR)
        pack_columns(c, c->weights[WEIGHTS - 1], 0, c->outputs, k, H, at, c->outputs, 1.0f, to);
  }
}
#if TRAINING
/* LANES columns of a panel's `wide` rows, at intervals of `row`, turned: [LANES][wide]. rows, n: how many rows and columns there are. */
static NOINLINE void pack_turned(const Call *c, const float *from, long at, long row, long rows, long n, long wide, number *to) {
  for (long k = 0; k < wide; k += LANES) {
    vec v[LANES];
#if HALF /* pairs lie side by side: a word each */
    narrow both[2];
    UNROLL for (int j = 0; j < LANES / 2; j++) {
      UNROLL for (int h = 0, i = j; h < 2; h++, i += LANES / 2)
        both[h] = narrow_weights_at(c, from, at + (k + i) * row, k + i < rows ? n : 0);
      memcpy(&v[j], both, sizeof both);
    }
    turn(v, LANES / 2);
#else
    UNROLL for (int j = 0; j < LANES; j++) v[j] = weights_at(c, from, at + (k + j) * row, k + j < rows ? n : 0);
    turn(v, LANES);
#endif
    UNROLL for (int j = 0; j < LANES / PAIR; j++) memcpy(to + (j * wide + k) * PAIR, &v[j], sizeof v[j]);
  }
}
/* A panel of the transposed matrix of gates [rows, gates * H]: [block of units][sums][UNIT][its rows]; sums from `first` to `end`,
   those before `begin` and from `last` on as zeros. */
static void pack_transposed(const Call *c, const Layout *l, const float *from, long p, long narrow, long rows, long gates, const int *column,
                            int first, int end, int begin, int last, number *to) {
  const long H = c->hidden, row = panel_column(p, narrow), wide = panel_column(p + 1, narrow) - row;
  to += row * l->units * (end - first) * UNIT;
  for (long u = 0; u < l->units; u++)
    for (int s = first; s < end; s++)
      for (long at = u * UNIT; at < (u + 1) * UNIT; at += LANES, to += LANES * wide) {
        const int own = s >= begin && s < last;
        pack_turned(c, from, row * gates * H + (own ? column[s] : 0) * H + at, gates * H, own ? rows - row : 0, H - at, wide, to);
      }
}
static void pack_backward(const Call *c, const Layout *l, int me, int threads) {
  for (long p = l->panels_x * me / threads; c->d_x && p < l->panels_x * (me + 1) / threads; p++)
    pack_transposed(c, l, c->weights[0], p, l->narrow_x, c->inputs, X_SUMS, X_COLUMN, 0, D_X, 0, X_SUMS, l->back_x);
  for (long p = l->panels_y * me / threads; p < l->panels_y * (me + 1) / threads; p++) {
    if (HEADS > 1) {
      number *to = l->back_h + p * l->units_read * H_SUMS * UNIT * PANEL;
      for (long u = first_unit(l, c, p), end = u + l->units_read; u < end; u++)
        for (int s = FIRST_H; s < SUMS; s++)
          for (long at = u * UNIT; at < (u + 1) * UNIT; at++, to += PANEL)
            recurrent_column(c, H_COLUMN[s], at, p * PANEL, PANEL, (float *)to);
    } else {
      pack_transposed(c, l, c->weights[1], p, l->narrow_y, c->outputs, COLUMNS, H_COLUMN, D_H, D_SUMS, FIRST_H, SUMS, l->back_h);
    }
  }
#if PRODUCTS
  pack_matrices(c, l, BACKWARD_PRODUCTS, BACK_PRODUCTS, me, threads);
#endif
  if (!PROJECTED) return;
  for (long p = l->panels_h * me / threads; p < l->panels_h * (me + 1) / threads; p++) {
    number *to = l->projection + p * l->panels_y * PANEL * PANEL;
    for (long at = 0; at < l->panels_y * PANEL; at += LANES, to += LANES * PANEL)
      pack_turned(c, c->weights[WEIGHTS - 1], p * PANEL * c->outputs + at, c->outputs, c->hidden - p * PANEL, c->outputs - at, PANEL, to);
  }
}
#endif /* TRAINING */
/* Of one thread of several, which need not have finished. */
static void pack_share(const Call *c, const Layout *l, int backward, int me, int threads) {
  if (!backward) pack_forward(c, l, me, threads);
#if TRAINING
  else pack_backward(c, l, me, threads);
#endif /* TRAINING */
  for (long at = 0; at < l->width && me == 0; at += LANES)
    for (int v = 0; v < VECTORS; v++) store(l->vectors + v * l->width + at, weights_at(c, c->weights[3 + v], at, c->hidden - at));
}
/* Before a team computes: the weights as `pack` puts them, if they are not. */
static void pack_by_team(const Call *c, const Layout *l, int backward, int me, Team *team) {
  if (!c->pack) return;
  pack_share(c, l, backward, me, team->threads);
  if (team->threads > 1) wait_for_all(team);
}
void pack(const Call *c) {
  Layout l = {0};
  lay_out(&l, c);
  lay_out_packed(&l, c, 0, aligned(c->packed));
  pack_share(c, &l, 0, 0, 1);
}
#if LIBRARY

/* ---- whether weights are those of a call before ---- */

enum { PIECES = 16, STREAMS = 8 }; /* of each array, for threads to share; of each piece, so that multiplications overlap */
typedef uint32_t digits __attribute__((vector_size(4 * LANES), may_alias));
/* Reversible in either argument: two arrays that differ in one word never have the same digest. Others have with probability 2^-32
   or, where more than one lane differs, its powers. */
INLINE digits mixed(digits a, digits b) {
  a = (a ^ b) * 0x9e3779b1u;
  return a ^ a >> 15;
}
static digits digest_of(const char *from, long bytes) {
  digits own[STREAMS] = {{0}}, v;
  long at = 0;
  for (; at + (long)sizeof own <= bytes; at += sizeof own)
    UNROLL for (int i = 0; i < STREAMS; i++) {
      memcpy(&v, from + at + i * sizeof v, sizeof v);
      own[i] = mixed(own[i], v);
    }
  for (int i = 0; at < bytes; i++, at += sizeof v) {
    v = (digits){0};
    memcpy(&v, from + at, least(sizeof v, bytes - at));
    own[i] = mixed(own[i], v);
  }
  for (int i = 1; i < STREAMS; i++) own[0] = mixed(own[0], own[i]);
  return own[0];
}
static void digest_team(const Call *c, Layout *l, int me, Team *team) {
  const long H = c->hidden, size = c->pack == 2 ? sizeof(number) : sizeof(float);
  for (int w = 0; w < WEIGHTS; w++) {
    const long first[] = {c->inputs * X_SUMS * H, c->outputs * COLUMNS * (H / HEADS), SUMS * H};
    const long values = w < 3 ? first[w] : w < 3 + VECTORS ? H : H * c->outputs;
    for (long p = me; p < PIECES; p += team->threads) {
      const long begin = values * p / PIECES, end = values * (p + 1) / PIECES;
      ((digits *)l->digests)[w * PIECES + p] = digest_of((const char *)c->weights[w] + begin * size, (end - begin) * size);
    }
  }
}
/* Whether they are those in `known`; puts their digest in the place of the other one. */
static int are_known(const Call *c, Layout *l) {
  digits found[WEIGHTS * PIECES];
  Call own = *c;
  if (l->bytes < SECOND_LEVEL) own.threads = 1; /* waking others takes longer */
  l->digests = found;
  run_team(digest_team, &own, l);
  for (int i = 1; i < WEIGHTS * PIECES; i++) found[0] = mixed(found[0], found[i]);
  const int same = c->known && memcmp(c->digest, found, sizeof(digits)) == 0;
  memcpy(c->digest, found, sizeof(digits));
  return same;
}
#endif /* LIBRARY */
