
/* ---- updates with matrix states and sums over heads, row by row ---- */

#if OF_HEADS
#if SQUARES
/* A row of given matrices, or without them a value, as kernels have them. */
static void begin_square(const Call *c, const Layout *l, float *to, const float *given, long row, float value) {
  const long size = c->hidden / HEADS;
  for (long i = 0; i < c->hidden; i++, to += l->wide_square) {
    for (long j = 0; j < l->wide_square; j += LANES) store(to + j, first_of(all(value), size - j));
    if (given) memcpy(to, given + (row * c->hidden + i) * size, sizeof(float) * size);
  }
}
static void end_square(const Call *c, const Layout *l, float *to, const float *from, long row) {
  const long size = c->hidden / HEADS;
  for (long i = 0; i < c->hidden; i++) memcpy(to + (row * c->hidden + i) * size, from + i * l->wide_square, sizeof(float) * size);
}
#endif
/* What is kept of position `place` at step s, the steps of a row side by side. */
#define KEPT_OF(l, c, place, s) ((l)->kept + ((place) * (c)->steps + (s)) * KEPT * (l)->width)
static Heads heads_of(const Call *c, const Layout *l, int me) {
  float *own = l->arguments + me * l->per_heads;
  return (Heads){c->hidden / HEADS, l->wide_square, l->width, own, own + ARGUMENTS * l->width, own + (ARGUMENTS + MIXES) * l->width, {0}, {0}};
}

/* Position j's update at step s. Block u of its sums lies at sums + u * block. */
static void update_heads(const int keep, const Call *c, const Layout *l, long part, long s, long j, const float *sums, long block,
                         const float *before, float *out, int me) {
  const long H = c->hidden, memory_state = c->batch * l->width, place = l->first[part] + j;
  Heads h = heads_of(c, l, me);
  float *memory = l->memory + place * l->width;
  for (int q = 0; q < SQUARES; q++) h.from[q] = h.to[q] = l->squares + (place * SQUARES + q) * l->square;
  float *kept = keep ? KEPT_OF(l, c, place, s) : 0;
  for (long u = 0; ALONE && u < l->units; u++) /* those of its next step */
    for (long k = 0; k < BLOCK; k += 16) __builtin_prefetch(sums + l->active[part * (c->steps + 1) + s] * BLOCK + u * block + k);
  if (SQUARES && keep && s % l->every == 0)
    memcpy(l->saved + (s / l->every * c->batch + place) * SQUARES * l->square, h.from[0], sizeof(float) * SQUARES * l->square);
#define FORWARD_VECTORS(COMPUTE) \
  for (long at = 0; at < H; at += LANES) { \
    vec in[INPUTS + MIXES], new[STATES + KEPT]; \
    load_inputs(in, sums + at / UNIT * block + at % UNIT, before, memory, memory_state, l->vectors, l->width, at, H - at); \
    UNROLL for (int k = 0; k < MIXES; k++) in[INPUTS + k] = load(h.products + k * l->width + at); \
    COMPUTE \
  }
#define FORWARD_ONE(PHASE) \
  FORWARD_VECTORS((void)new; forward_phase(PHASE, in, h.arguments + at, l->width);) \
  forward_mix(PHASE, &h);
  EACH_FORWARD(FORWARD_ONE)
  FORWARD_VECTORS(
    if (keep) update_and_keep(in, new);
    else update(in, new);
    if (PROJECTED) store(out + at, new[0]);
    else store_up_to(out + at, new[0], H - at);
    UNROLL for (int q = 1; q < STATES; q++) store(memory + (q - 1) * memory_state + at, new[q]);
    if (keep) UNROLL for (int k = 0; k < KEPT; k++) store(kept + at / UNIT * KEPT * UNIT + k * UNIT + at % UNIT, new[STATES + k]);
  )
}

#if TRAINING
/* Where backward finds the matrices before step s. Forward saves them every `every` steps, about the square root of how many there are;
   those between are computed again from what is kept of vectors, about as many as were saved. */
static float *matrices_before(const Call *c, const Layout *l, long place, long s, int me) {
  if (s % l->every == 0) return l->saved + (s / l->every * c->batch + place) * SQUARES * l->square;
  return l->again + ((ALONE ? me : place) * l->every + s % l->every) * SQUARES * l->square;
}
#define BACKWARD_VECTORS(COMPUTE) \
  for (long at = 0; at < H; at += LANES) { \
    vec in[KEPT + STATES + VECTORS + MIXES], new[SUMS + STATES + VECTORS]; \
    UNROLL for (int k = 0; k < KEPT; k++) in[k] = load(kept + at / UNIT * KEPT * UNIT + k * UNIT + at % UNIT); \
    UNROLL for (int v = 0; v < VECTORS; v++) in[KEPT + STATES + v] = load(l->vectors + v * l->width + at); \
    COMPUTE \
  }
#if SQUARES
/* The matrices before each step from the one at which they were saved to step s. */
static void compute_again(const Call *c, const Layout *l, long part, long s, long j, int me) {
  const long H = c->hidden, place = l->first[part] + j, row = l->order[place];
  long t = s / l->every * l->every;
  Heads h = heads_of(c, l, me);
  for (; t < s; t++) {
    const float *kept = KEPT_OF(l, c, place, t);
    for (int q = 0; q < SQUARES; q++) {
      h.from[q] = matrices_before(c, l, place, t, me) + q * l->square;
      h.to[q] = matrices_before(c, l, place, t + 1, me) + q * l->square;
      if (begins(c, row, t + 1)) begin_square(c, l, h.to[q], 0, 0, START[STATES + q]);
    }
    if (begins(c, row, t + 1)) continue;
#define AGAIN_ONE(PHASE) \
  BACKWARD_VECTORS((void)new; again_phase(PHASE, in, h.arguments + at, l->width);) \
  again_mix(PHASE, &h);
    EACH_AGAIN(AGAIN_ONE)
  }
}

#endif

/* Position j's gradients at step s. */
static void gradients_of_heads(const Call *c, const Layout *l, long part, long s, long j, const float *d_output, float *total, int me) {
  const long H = c->hidden, place = l->first[part] + j, m = l->base[part * (c->steps + 1) + s];
  const float *kept = KEPT_OF(l, c, place, s);
  Heads h = heads_of(c, l, me);
#if SQUARES
  if (s + 1 == length_of(c, l->order[place]) || (s + 1) % l->every == 0) compute_again(c, l, part, s, j, me);
#endif
  for (int q = 0; q < SQUARES; q++) {
    h.from[q] = matrices_before(c, l, place, s, me) + q * l->square;
    h.from[SQUARES + q] = h.to[q] = l->d_squares + (place * SQUARES + q) * l->square;
  }
  if (s > 0) { /* what step s - 1 reads and writes */
    const long earlier = l->base[part * (c->steps + 1) + s - 1] + j;
    for (long k = 0; k < KEPT * l->width; k += 16) __builtin_prefetch(kept - KEPT * l->width + k);
    for (long u = 0; u < l->units; u++)
      for (long k = 0; k < BLOCK; k += 16) __builtin_prefetch(l->d_sums + (u * l->total + earlier) * BLOCK + k, 1);
  }
#define GRADIENT_VECTORS(COMPUTE) \
  BACKWARD_VECTORS( \
    float *d_state[STATES]; \
    UNROLL for (int q = 0; q < STATES; q++) d_state[q] = l->d_states[q] + place * l->width_of[q] + at; \
    if (PROJECTED) in[KEPT] = load(l->d_made + place * l->width + at); \
    else in[KEPT] = load(d_state[0]) + (d_output ? load_up_to(d_output + at, H - at) : (vec){0}); \
    UNROLL for (int q = 1; q < STATES; q++) in[KEPT + q] = load(d_state[q]); \
    UNROLL for (int k = 0; k < MIXES; k++) in[KEPT + STATES + VECTORS + k] = load(h.products + k * l->width + at); \
    COMPUTE)
#define BACKWARD_ONE(PHASE) \
  GRADIENT_VECTORS((void)new; backward_phase(PHASE, in, h.arguments + at, l->width);) \
  backward_mix(PHASE, &h);
  EACH_BACKWARD(BACKWARD_ONE)
  GRADIENT_VECTORS(
    gradient(in, new);
    for (int g = 0; g < SUMS + STATES; g++) new[g] = first_of(new[g], H - at);
    float *to = l->d_sums + (at / UNIT * l->total + m + j) * BLOCK + at % UNIT;
    float *own = total + at / UNIT * GRADIENTS * UNIT + at % UNIT;
    UNROLL for (int g = 0; g < SUMS; g++) store(to + g * UNIT, new[g]);
    UNROLL for (int q = PROJECTED; q < STATES; q++) store(d_state[q], new[SUMS + q]);
    UNROLL for (int g = 0; g < SUMS; g++) add_to(own + g * UNIT, new[g]);
    UNROLL for (int v = 0; v < VECTORS; v++) add_to(own + (SUMS + v) * UNIT, new[SUMS + STATES + v]);
  )
  for (long at = up(H, LANES) * LANES; at < l->width; at += LANES)
    for (int g = 0; g < SUMS; g++) store(l->d_sums + (at / UNIT * l->total + m + j) * BLOCK + g * UNIT + at % UNIT, (vec){0});
}
#endif /* TRAINING */
#endif
