
/* ---- the functions of cell.h ---- */

#include <stdio.h>
#include <stdlib.h>

#define PLACES (LAYERS * DIRECTIONS)

struct cell {
  float *weights;
  void *packed[PLACES];
};
struct cell_stream {
  const cell *of;
  long batch;
  int threads;
  void *scratch;
  float *states[STATES + SQUARES], *y[LAYERS]; /* [LAYERS][batch][size], [batch][CELL_OUTPUTS] */
};

static Call call_of(long place, long steps, long batch, int threads) {
  Call c = {0};
  c.steps = steps;
  c.batch = batch;
  c.inputs = place < DIRECTIONS ? CELL_INPUTS : CELL_OUTPUTS;
  c.hidden = HIDDEN;
  c.outputs = CELL_OUTPUTS / DIRECTIONS;
  c.threads = threads < 1 ? 1 : threads > 1024 ? 1024 : threads;
  c.reverse = place % DIRECTIONS;
  return c;
}
static void *floats(int64_t count) { return malloc(sizeof(float) * (count ? count : 1)); }
static long size_of(int q) { return q >= STATES ? HIDDEN * (HIDDEN / HEADS) : q ? HIDDEN : CELL_OUTPUTS / DIRECTIONS; }

void cell_free(cell *made) {
  if (!made) return;
  for (long place = 0; place < PLACES; place++) free(made->packed[place]);
  free(made->weights);
  free(made);
}
cell *cell_make(const float *weights, size_t count) {
  size_t wanted = 0;
  for (long place = 0; place < PLACES; place++)
    for (int w = 0; w < WEIGHTS; w++) wanted += SIZES[place][w];
  cell *made = count == wanted ? calloc(1, sizeof(cell)) : 0;
  for (long place = 0; made && place < PLACES; place++) {
    Call c = call_of(place, 1, 1, 1);
    Layout l = {0};
    lay_out(&l, &c);
    c.packed = made->packed[place] = floats(lay_out_packed(&l, &c, 0, 0));
    if (!c.packed) {
      cell_free(made);
      return 0;
    }
    for (int w = 0; w < WEIGHTS; weights += SIZES[place][w++]) c.weights[w] = weights;
    pack(&c);
  }
  return made;
}
cell *cell_load(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  cell *made = 0;
  long bytes = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  float *weights = bytes > 0 ? malloc(bytes) : 0;
  rewind(file);
  if (weights && fread(weights, 1, bytes, file) == (size_t)bytes) made = cell_make(weights, bytes / sizeof(float));
  free(weights);
  fclose(file);
  return made;
}

/* One layer. states: each [PLACES][batch][size], or none. */
static void layer(const cell *of, long number, long steps, long batch, const float *x, float *y, float *const *states,
                  void *scratch, int threads) {
  for (long way = 0; way < DIRECTIONS; way++) {
    const long place = number * DIRECTIONS + way;
    Call c = call_of(place, steps, batch, threads);
    c.x = x;
    c.x_step = batch * (c.x_row = c.inputs);
    c.y = y + way * c.outputs;
    c.y_step = batch * (c.y_row = CELL_OUTPUTS);
    c.packed = of->packed[place];
    c.scratch = scratch;
    for (int q = 0; states && q < STATES + SQUARES; q++) c.initial[q] = c.final[q] = states[q] + place * batch * size_of(q);
    forward(&c);
  }
}
static int64_t scratch_of(long steps, long batch, int threads) {
  int64_t found = 0;
  for (long place = 0; place < PLACES; place++) {
    Call c = call_of(place, steps, batch, threads);
    Layout l = {0};
    lay_out(&l, &c);
    const int64_t own = lay_out_forward(&l, &c, 0);
    if (own > found) found = own;
  }
  return found;
}
int cell_forward(const cell *of, long steps, long batch, const float *x, float *y, float *const *states, int threads) {
  const int64_t size = LAYERS > 1 ? steps * batch * CELL_OUTPUTS : 0;
  float *between[2] = {floats(size), floats(LAYERS > 2 ? size : 0)};
  void *scratch = floats(scratch_of(steps, batch, threads));
  const int failed = !between[0] || !between[1] || !scratch;
  for (long number = 0; !failed && number < LAYERS; number++) {
    float *to = number + 1 < LAYERS ? between[number % 2] : y;
    layer(of, number, steps, batch, x, to, states, scratch, threads);
    x = to;
  }
  free(scratch);
  free(between[0]);
  free(between[1]);
  return failed ? -1 : 0;
}

#if DIRECTIONS == 1
void cell_stream_free(cell_stream *made) {
  if (!made) return;
  for (int q = 0; q < STATES + SQUARES; q++) free(made->states[q]);
  for (long number = 0; number < LAYERS; number++) free(made->y[number]);
  free(made->scratch);
  free(made);
}
void cell_stream_reset(cell_stream *stream, long row) {
  for (int q = 0; q < STATES + SQUARES; q++)
    for (long number = 0; number < LAYERS; number++)
      for (long k = 0; k < stream->batch * size_of(q); k++)
        if (row < 0 || k / size_of(q) == row) stream->states[q][number * stream->batch * size_of(q) + k] = START[q];
}
cell_stream *cell_stream_make(const cell *of, long batch, int threads) {
  cell_stream *made = calloc(1, sizeof(cell_stream));
  if (!made) return 0;
  made->of = of;
  made->batch = batch;
  made->threads = threads;
  int failed = !(made->scratch = floats(scratch_of(1, batch, threads)));
  for (int q = 0; q < STATES + SQUARES; q++) failed |= !(made->states[q] = floats(LAYERS * batch * size_of(q)));
  for (long number = 0; number < LAYERS; number++) failed |= !(made->y[number] = floats(batch * CELL_OUTPUTS));
  if (failed) {
    cell_stream_free(made);
    return 0;
  }
  cell_stream_reset(made, -1);
  return made;
}
const float *cell_step(cell_stream *stream, const float *x) {
  for (long number = 0; number < LAYERS; number++) {
    layer(stream->of, number, 1, stream->batch, x, stream->y[number], stream->states, stream->scratch, stream->threads);
    x = stream->y[number];
  }
  return x;
}
#endif
