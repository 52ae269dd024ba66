
/* ---- updates that normalise over the hidden units, in phases ---- */

#if NORMS
#define VARIANCE 1e-5f

/* Blocks of UNIT values `stride` apart, of which H are real: their mean, and that of their products with `other` or, where
   there is none, of the squares of what they differ from their mean. */
static void means(const float *from, long stride, const float *other, long other_stride, long H, float *mean, float *second) {
  vec sum = {0}, product = {0};
  for (long at = 0; at < H; at += LANES) {
    vec v = first_of(load(from + at / UNIT * stride + at % UNIT), H - at);
    sum += v;
    if (other) product += first_of(v * load(other + at / UNIT * other_stride + at % UNIT), H - at);
  }
  *mean = total_of(sum) / H;
  if (!other)
    for (long at = 0; at < H; at += LANES) {
      vec v = load(from + at / UNIT * stride + at % UNIT) - *mean;
      product += first_of(v * v, H - at);
    }
  *second = total_of(product) / H;
}

static void update_row(const int keep, long H, long units, const float *sums, const float *vectors, const number *before,
                       float *memory, long memory_state, number *out, float *kept, long kept_block, float *arguments,
                       float *inverses) {
  const long width = units * UNIT;
  float moments[2 * NORMS] = {0};
  for (int phase = 0; phase < FORWARD_PHASES; phase++) {
    for (long at = 0; at < H; at += LANES) {
      vec in[INPUTS + 3 * NORMS], new[STATES + KEPT];
      load_inputs(in, sums + at / UNIT * BLOCK + at % UNIT, before, memory, memory_state, vectors, width, at, H - at);
      for (int k = 0; k < 2 * NORMS; k++) in[INPUTS + k] = all(moments[k]);
      for (int k = 0; k < NORMS; k++) in[INPUTS + 2 * NORMS + k] = load(arguments + k * width + at);
      if (phase + 1 < FORWARD_PHASES) {
        forward_phase(phase, in, arguments + at, width);
        continue;
      }
      if (keep) update_and_keep(in, new);
      else update(in, new);
      if (PROJECTED) store_numbers(out + at, new[0]);
      else store_numbers_up_to(out + at, new[0], H - at);
      for (int q = !OWN_OUTPUT; q < STATES; q++) store(memory + (q - !OWN_OUTPUT) * memory_state + at, new[q]);
      if (keep)
        for (int k = 0; k < KEPT; k++) store(kept + at / UNIT * kept_block + k * UNIT + at % UNIT, new[STATES + k]);
    }
    for (int k = 0; k < NORMS; k++)
      if (FORWARD_NORMS[k][0] == phase) {
        const int sum = FORWARD_NORMS[k][1];
        float mean, square;
        means(sum < 0 ? arguments + k * width : sums + sum * UNIT, sum < 0 ? UNIT : BLOCK, 0, 0, H, &mean, &square);
        moments[2 * k] = 1.0f / sqrtf(square + VARIANCE);
        moments[2 * k + 1] = mean * moments[2 * k];
        if (inverses) inverses[k] = moments[2 * k];
      }
  }
}

#if TRAINING
static void gradients_of_row(const Call *c, const Layout *l, long part, long s, long j, const number *d_output, float *total,
                             float *arguments) {
  const long n = l->active[part * (c->steps + 1) + s], m = l->base[part * (c->steps + 1) + s], first = l->first[part];
  const long H = c->hidden, width = l->width;
  const float *kept = KEPT_AT(l, m, n, 0, j);
  float moments[2 * NORMS] = {0};
  for (int phase = 0; phase < BACKWARD_PHASES; phase++) {
    for (long at = 0; at < width; at += LANES) {
      vec in[KEPT + STATES + VECTORS + 4 * NORMS], new[SUMS + STATES + VECTORS];
      float *d_state[STATES];
      number *to = l->d_sums + (at / UNIT * l->total + m + j) * D_BLOCK + at % UNIT;
      if (at >= H) {
        for (int g = 0; g < D_SUMS; g++) store_numbers(to + g * UNIT, (vec){0});
        continue;
      }
      for (int k = 0; k < KEPT; k++) in[k] = load(kept + at / UNIT * n * KEPT * UNIT + k * UNIT + at % UNIT);
      for (int q = 0; q < STATES; q++) d_state[q] = l->d_states[q] + (first + j) * l->width_of[q] + at;
      if (PROJECTED) in[KEPT] = load(l->d_made + (first + j) * width + at);
      else in[KEPT] = load(d_state[0]) + (d_output ? load_numbers_up_to(d_output + at, H - at) : (vec){0});
      for (int q = 1; q < STATES; q++) in[KEPT + q] = load(d_state[q]);
      for (int v = 0; v < VECTORS; v++) in[KEPT + STATES + v] = load(l->vectors + v * width + at);
      vec *rest = in + KEPT + STATES + VECTORS;
      for (int k = 0; k < NORMS; k++) rest[k] = all(l->inverses[(m + j) * NORMS + k]);
      for (int k = 0; k < 2 * NORMS; k++) rest[NORMS + k] = all(moments[k]);
      for (int k = 0; k < NORMS; k++) rest[3 * NORMS + k] = load(arguments + k * width + at);
      if (phase + 1 < BACKWARD_PHASES) {
        backward_phase(phase, in, arguments + at, width);
        continue;
      }
      gradient(in, new);
      for (int g = 0; g < SUMS + STATES; g++) new[g] = first_of(new[g], H - at);
      for (int g = 0; g < D_SUMS; g++) store_numbers(to + g * UNIT, g < SUMS ? new[g] : (vec){0});
      for (int q = PROJECTED; q < STATES; q++) store(d_state[q], new[SUMS + q]);
      float *sums = total + at / UNIT * GRADIENTS * UNIT + at % UNIT;
      for (int g = 0; g < SUMS; g++) add_to(sums + g * UNIT, new[g]);
      for (int v = 0; v < VECTORS; v++) add_to(sums + (SUMS + v) * UNIT, new[SUMS + STATES + v]);
    }
    for (int k = 0; k < NORMS; k++)
      if (BACKWARD_NORMS[k][0] == phase)
        means(arguments + k * width, UNIT, kept + BACKWARD_NORMS[k][1] * UNIT, n * KEPT * UNIT, H, &moments[2 * k], &moments[2 * k + 1]);
  }
}
#endif /* TRAINING */
#endif
