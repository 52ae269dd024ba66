
/* ---- block-diagonal matrices, and updates that multiply by further ones, in phases ---- */

#if PRODUCTS /* of floats alone: HALF is 0 */
/* The number-th matrix of packed ones times n rows: block b of row r lies at in + r * row + b * block. */
static void multiply_by(const Call *c, const Layout *l, int number, long n, const float *in, long row, long block, void *const *out) {
#if INT8
  const long H = c->hidden, wide = COPY(H);
  float *bytes = l->made_copy + (out - l->to) * wide;
  for (long j = 0; j < n; j++) (void)copied(in + j * row, H, bytes + j * wide);
  products(n, bytes, wide, 0, 1, H, l->matrices + number * l->panels_h * EVEN(H) * PANEL, out, 1, l->width, l->panels_h, 0, l->panels_h, 0);
  return;
#endif
  const float *w = l->matrices + number * l->panels_h * l->blocks_read * PANEL * PANEL;
  if (HEADS == 1) products(n, in, row, block, l->blocks_read, PANEL, w, out, 1, l->width, l->panels_h, 0, l->panels_h, 0);
  else
    for (long p = 0; p < l->panels_h; p++)
      products(n, in + first_block(l, c, p) * block, row, block, l->blocks_read, PANEL, w, out, 1, l->width, l->panels_h, p, p + 1, 0);
}

/* A phase of one row's update: what the products after it are of, or after the last one the new states. */
static void update_phase(const int keep, int phase, const Call *c, const Layout *l, const float *sums, const float *before,
                         float *memory, long memory_state, float *out, float *kept, long kept_block, float *factor,
                         long factor_product, const float *product) {
  const long H = c->hidden, last = phase + 1 == FORWARD_PHASES;
  for (long at = 0; at < (last ? H : l->wide); at += LANES) {
    vec in[INPUTS + PRODUCTS], new[STATES + KEPT];
    if (at >= H) {
      for (int k = 0; k < PRODUCTS; k++)
        if (FORWARD_PRODUCTS[k][0] == phase) store(factor + k * factor_product + at, (vec){0});
      continue;
    }
    load_inputs(in, sums + at / UNIT * BLOCK + at % UNIT, before, memory, memory_state, l->vectors, l->width, at, H - at);
    for (int k = 0; k < PRODUCTS; k++) in[INPUTS + k] = load(product + k * c->batch * l->width + at);
    if (!last) {
      forward_phase(phase, in, factor + at, factor_product);
      for (int k = 0; k < PRODUCTS && H - at < LANES; k++)
        if (FORWARD_PRODUCTS[k][0] == phase) {
          float *to = factor + k * factor_product + at;
          store(to, first_of(load(to), H - at));
        }
      continue;
    }
    if (keep) update_and_keep(in, new);
    else update(in, new);
    store_up_to(out + at, new[0], H - at);
    for (int q = 1; q < STATES; q++) store(memory + (q - 1) * memory_state + at, new[q]);
    if (keep)
      for (int k = 0; k < KEPT; k++) store(kept + at / UNIT * kept_block + k * UNIT + at % UNIT, new[STATES + k]);
  }
}

/* The updates of all rows of a step, whose sums wait. */
static void update_in_phases(const int keep, const Call *c, const Layout *l, long part, long s, const number **h, void **out) {
  const long n = l->active[part * (c->steps + 1) + s], m = l->base[part * (c->steps + 1) + s], first = l->first[part];
  const long rows = keep ? l->total : c->batch, place = keep ? m : first;
  float *factors = keep ? l->factors_kept : l->factors_made;
  for (int phase = 0; phase < FORWARD_PHASES; phase++) {
    for (long j = 0; j < n; j++)
      update_phase(keep, phase, c, l, l->waiting + (first + j) * l->units * BLOCK, h[j], l->memory + (first + j) * l->width,
                   c->batch * l->width, out[j], keep ? KEPT_AT(l, m, n, 0, j) : 0, n * KEPT * UNIT,
                   factors + (place + j) * l->wide, rows * l->wide, l->multiplied + (first + j) * l->width);
    for (int k = 0; k < PRODUCTS; k++)
      if (FORWARD_PRODUCTS[k][0] == phase) {
        for (long j = 0; j < n; j++) l->to[first + j] = l->multiplied + (k * c->batch + first + j) * l->width;
        multiply_by(c, l, k, n, factors + (k * rows + place) * l->wide, l->wide, PANEL, l->to + first);
      }
  }
}

#if TRAINING
/* A phase of one row's gradients: of what comes out of products, or after the last one all others. */
static void gradient_phase(int phase, const Call *c, const Layout *l, long part, long s, long j, const float *d_output, float *total) {
  const long n = l->active[part * (c->steps + 1) + s], m = l->base[part * (c->steps + 1) + s], first = l->first[part];
  const long H = c->hidden, last = phase + 1 == BACKWARD_PHASES, between = l->panels_h * l->total * PANEL;
  const float *kept = KEPT_AT(l, m, n, 0, j);
  for (long at = 0; at < (last ? l->width : l->wide); at += LANES) {
    vec in[KEPT + STATES + VECTORS + BACK_PRODUCTS], new[SUMS + STATES + VECTORS];
    float *d_state[STATES], *to = l->d_sums + (at / UNIT * l->total + m + j) * D_BLOCK + at % UNIT;
    float *factor = l->d_factors + (at / PANEL * l->total + m + j) * PANEL + at % PANEL;
    if (at >= H) {
      for (int g = 0; last && g < SUMS; g++) store(to + g * UNIT, (vec){0});
      for (int k = 0; !last && k < BACK_PRODUCTS; k++)
        if (BACKWARD_PRODUCTS[k][0] == phase) store(factor + k * between, (vec){0});
      continue;
    }
    for (int k = 0; k < KEPT; k++) in[k] = load(kept + at / UNIT * n * KEPT * UNIT + k * UNIT + at % UNIT);
    for (int q = 0; q < STATES; q++) d_state[q] = l->d_states[q] + (first + j) * l->width_of[q] + at;
    in[KEPT] = load(d_state[0]) + (d_output ? load_up_to(d_output + at, H - at) : (vec){0});
    for (int q = 1; q < STATES; q++) in[KEPT + q] = load(d_state[q]);
    for (int v = 0; v < VECTORS; v++) in[KEPT + STATES + v] = load(l->vectors + v * l->width + at);
    for (int k = 0; k < BACK_PRODUCTS; k++)
      in[KEPT + STATES + VECTORS + k] = load(l->multiplied + (k * c->batch + first + j) * l->width + at);
    if (!last) {
      backward_phase(phase, in, factor, between);
      for (int k = 0; k < BACK_PRODUCTS && H - at < LANES; k++)
        if (BACKWARD_PRODUCTS[k][0] == phase) store(factor + k * between, first_of(load(factor + k * between), H - at));
      continue;
    }
    gradient(in, new);
    for (int g = 0; g < SUMS + STATES; g++) new[g] = first_of(new[g], H - at);
    for (int g = 0; g < SUMS; g++) store(to + g * UNIT, new[g]);
    for (int q = 0; q < STATES; q++) store(d_state[q], new[SUMS + q]);
    float *sums = total + at / UNIT * GRADIENTS * UNIT + at % UNIT;
    for (int g = 0; g < SUMS; g++) add_to(sums + g * UNIT, new[g]);
    for (int v = 0; v < VECTORS; v++) add_to(sums + (SUMS + v) * UNIT, new[SUMS + STATES + v]);
  }
}

/* The gradients of all rows of a step. */
static void gradients_in_phases(const Call *c, const Layout *l, long part, long s, const number *const *d_output, float *total) {
  const long n = l->active[part * (c->steps + 1) + s], m = l->base[part * (c->steps + 1) + s], first = l->first[part];
  for (int phase = 0; phase < BACKWARD_PHASES; phase++) {
    for (long j = 0; j < n; j++) gradient_phase(phase, c, l, part, s, j, d_output[j], total);
    for (int k = 0; k < BACK_PRODUCTS; k++)
      if (BACKWARD_PRODUCTS[k][0] == phase) {
        for (long j = 0; j < n; j++) l->to[first + j] = l->multiplied + (k * c->batch + first + j) * l->width;
        multiply_by(c, l, k, n, l->d_factors + (k * l->panels_h * l->total + m) * PANEL, PANEL, l->total * PANEL, l->to + first);
      }
  }
}
#endif /* TRAINING */
#endif

#if TRAINING
/* Gradients of blocks and of transposes from where they were summed; a thread has rows of them. */
static void gradients_of_blocks(const Call *c, const Layout *l, long begin, long end) {
  const long H = c->hidden, size = H / HEADS;
  for (long row = begin; row < end; row++) {
    const long head = row / size * size;
    float *to = c->d_weights[1] + row * COLUMNS * size;
    for (long column = 0; HEADS > 1 && column < H_SUMS; column++)
      for (long k = 0; k < size; k++) to[column * size + k] = l->dense[row * H_SUMS * H + column * H + head + k];
#if PRODUCTS
    for (int g = 0; g < PRODUCTS; g++) {
      const int *one = GRADIENT_PRODUCTS[g];
      const float *from = l->turned + g * H * l->wide;
      if (HEADS > 1 || one[3])
        for (long k = 0; k < size; k++) {
          float *at = to + one[2] * size + k;
          *at = (one[4] ? *at : 0.0f) + (one[3] ? from[(head + k) * l->wide + row] : from[row * l->wide + head + k]);
        }
    }
#endif
  }
}
#endif /* TRAINING */
