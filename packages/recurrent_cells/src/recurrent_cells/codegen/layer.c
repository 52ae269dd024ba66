/* A recurrent layer, one direction: forward, backward, gradients of weights. Every size is an argument.

   Rows are divided into parts. A thread runs all steps of its part, without waiting for another one; where there are few rows,
   or weights that no cache near a core holds, threads share the rows of one part, each has hidden units of its own, and they
   wait for each other at every step.
   Positions are rows in the order of parts, within a part the longest sequences first, so that a step's rows are the
   first ones. Element m of what is kept for backward is one row at one step. */

#include <pthread.h>
#include <sched.h>

#define UNIT (WIDE * LANES)     /* hidden units of a block */
#define BLOCK (SUMS * UNIT)     /* their sums */
#define PANEL (PASS * LANES)    /* columns of a plain product's panel */
#define FIRST_H (SUMS - H_SUMS) /* the first sum with a part of h */
#define WEIGHTS (3 + VECTORS + PROJECTED)
#define INPUTS (SUMS + STATES + VECTORS)
#define GRADIENTS (SUMS + VECTORS) /* summed over rows and steps */
#define MIXED (NORMS || PRODUCTS || OF_HEADS) /* what comes after the sums is computed in phases */
#define ALONE (OF_HEADS && !H_SUMS && !PROJECTED) /* a row reads nothing that others wait for: all its steps before the next row's */
#define AT_ONCE 192                /* rows of x that are multiplied before the next block of units */
#define CHUNK 512                  /* elements m of which gradients of weights are summed at a time */
#define TILE (FACTORS * CHUNK + LINE) /* numbers of FACTORS factors of a chunk; the line more spreads tiles over all sets of a cache */
#define LINE (64 / (long)sizeof(number))
#define BEHIND (TILES ? 15 : 0)    /* rows that tiles read behind the last one */
/* Gradients of sums: for tiles, an even number of vectors, as are those for x and those for h. */
#define IN_PAIRS(sums) (TILES && WIDE == 1 ? ((sums) + 1) / 2 * 2 : (sums))
#define D_SUMS IN_PAIRS(SUMS)
#define D_BLOCK (D_SUMS * UNIT)
#define D_X IN_PAIRS(X_SUMS)                                  /* x's are the first ones */
#define D_H (TILES && WIDE == 1 ? FIRST_H / 2 * 2 : FIRST_H) /* the first one of h's */
/* Weights are scaled when they are packed, so that sums are; bfloat16 would round them once more, and has its sums scaled instead. */
#define WEIGHT_SCALE(s) (HALF ? 1.0f : SCALE[s])
#define SUM_SCALE(s) (HALF ? SCALE[s] : 1.0f)
#define OWN_OUTPUT (HALF && READS_OUTPUT) /* the output is also kept as floats, for the next update */

typedef struct {
  int64_t steps, batch, inputs, hidden, outputs, threads, reverse;
  int64_t pack; /* the weights into `packed` first: 1 floats, 2 numbers; 0: they are packed, or were found to be `known` */
  const number *x;
  int64_t x_step, x_row;
  number *y;
  int64_t y_step, y_row;
  const number *d_y;
  int64_t d_y_step, d_y_row;
  number *d_x;
  int64_t d_x_step, d_x_row;
  void *packed, *tape, *scratch;
  const int64_t *lengths;
  const uint8_t *resets;
#if LIBRARY
  void *known;      /* weights that a call before has packed, or 0 */
  uint32_t *digest; /* theirs, and then that of this call's; 0: not wanted */
#endif /* LIBRARY */
  const float *weights[WEIGHTS];
  float *d_weights[WEIGHTS];
  const void *initial[STATES + SQUARES]; /* the output's in numbers, others in floats; matrices last */
  void *final[STATES + SQUARES];
  const float *d_final[STATES + SQUARES];
  float *d_initial[STATES + SQUARES];
} Call;

static long up(long a, long b) { return (a + b - 1) / b; }
static long least(long a, long b) { return a < b ? a : b; }
static long most(long a, long b) { return a > b ? a : b; }

/* Where everything lies. Laid out from address 0 for its size. */
typedef struct {
  long units, width, panels_x, panels_y, panels_h; /* blocks of units, their columns; panels of K, P and H columns */
  long block;              /* numbers of the weights of a block of units */
  long narrow_x, narrow_y; /* the first panel of K and of P columns with one vector less */
  long wide, rows_read, units_read, blocks_read; /* panels' columns; of heads, see `lay_out` */
  long wide_square, square, per_heads, every; /* columns of a matrix state, its floats; see heads.c */
  /* packed */
  number *weights, *projection, *back_x, *back_h;
  float *matrices, *bias, *vectors;
  /* the plan */
  long bytes, parts, by_units, total, ahead, x_by_steps; /* bytes: of the weights */
  int64_t *order, *first, *active, *base; /* [B], [parts + 1], [parts][T + 1] both */
  /* forward */
  float *start[STATES], *memory, *waiting, *arguments, *x_sums, *factors_made, *multiplied, *squares;
  number *begin, *made, *x_copy, *h_copy, *made_copy;
  const number **x_at, **h_at, **read_at; /* read: h as it is multiplied */
  void **y_at, **to;
  /* tape */
  float *kept, *inverses, *factors_kept, *saved;
  number *made_kept;
  /* backward */
  long width_of[STATES]; /* of d_states */
  float *d_states[STATES], *d_made, *d_total, *d_factors, *dense, *turned, *again, *d_squares;
  number *d_sums, *d_output, *factors, *joined;
  void *digests; /* of pieces of weights */
} Layout;

#define FAR(l) ((l)->bytes > 16 * SECOND_LEVEL)

static void *aligned(void *p) { return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }
typedef struct {
  uintptr_t at; /* a number: where sizes are wanted it begins at 0 */
} Arena;
static void *take(Arena *a, long count, long size) {
  void *p = aligned((void *)a->at);
  a->at = (uintptr_t)p + count * size;
  return p;
}
#define FLOATS(count) take(&a, count, sizeof(float))
#define NUMBERS(count) take(&a, count, sizeof(number))
#define SIZE_OF(a) ((int64_t)((a).at / sizeof(float)) + 16) /* and 64 bytes to begin at a line */

/* Block-diagonal matrices: columns `begin` to `end` have values in these rows. */
static long first_read(const Call *c, long begin) { return begin / (c->hidden / HEADS) * (c->hidden / HEADS); }
static long end_read(const Call *c, long end) { return up(least(end, c->hidden), c->hidden / HEADS) * (c->hidden / HEADS); }
/* The first row of h that a block of units reads, the first block of rows that a panel of a product reads, and the first block of
   units that a panel of h's gradient is of; each reads as many as any. */
static long first_row(const Layout *l, const Call *c, long u) {
  return HEADS == 1 ? 0 : least(first_read(c, u * UNIT), c->hidden - l->rows_read);
}
#if PRODUCTS
static long first_block(const Layout *l, const Call *c, long p) {
  return HEADS == 1 ? 0 : least(first_read(c, p * PANEL) / PANEL, l->panels_h - l->blocks_read);
}
#endif
#if TRAINING
static long first_unit(const Layout *l, const Call *c, long p) {
  return HEADS == 1 ? 0 : least(first_read(c, p * PANEL) / UNIT, l->units - l->units_read);
}
#endif /* TRAINING */
static void lay_out(Layout *l, const Call *c) {
  l->units = up(c->hidden, UNIT);
  l->width = l->units * UNIT;
  l->panels_x = up(c->inputs, PANEL);
  l->panels_y = up(c->outputs, PANEL);
  l->panels_h = up(c->hidden, PANEL);
  l->wide = l->panels_h * PANEL;
  l->narrow_x = first_narrow(c->inputs);
  l->narrow_y = PROJECTED || HEADS > 1 ? l->panels_y : first_narrow(c->outputs);
  l->rows_read = c->outputs, l->units_read = l->units, l->blocks_read = l->panels_h;
  if (HEADS > 1) {
    l->rows_read = l->units_read = l->blocks_read = 0;
    for (long at = 0; at < c->hidden; at += UNIT) l->rows_read = most(l->rows_read, end_read(c, at + UNIT) - first_read(c, at));
    for (long at = 0; at < c->hidden; at += PANEL) {
      const long begin = first_read(c, at), end = end_read(c, at + PANEL);
      l->units_read = most(l->units_read, up(end, UNIT) - begin / UNIT);
      l->blocks_read = most(l->blocks_read, up(end, PANEL) - begin / PANEL);
    }
  }
#if OF_HEADS
  l->wide_square = up(c->hidden / HEADS, LANES) * LANES;
  l->square = c->hidden * l->wide_square;
  l->per_heads = (ARGUMENTS + MIXES) * l->width + (ARGUMENTS + MIXES) * l->wide_square;
  for (l->every = 1; l->every * l->every < c->steps;) l->every++;
#endif
  l->block = (X_SUMS * EVEN(c->inputs) + H_SUMS * EVEN(l->rows_read)) * UNIT;
  l->bytes = l->units * l->block * (long)sizeof(number);
  /* Weights that are fetched from far at every step: each thread fetches those of its own units only. */
  const int shared = FAR(l) && l->units >= 4 * c->threads;
  l->by_units = !MIXED && c->threads > 1 && l->units > 1 && (shared || c->batch < ROWS * c->threads);
  l->parts = l->by_units ? 1 : most(1, least(c->threads, c->batch));
}
static int64_t lay_out_packed(Layout *l, const Call *c, int backward, void *memory) {
  Arena a = {(uintptr_t)memory};
  if (backward) {
    l->back_h = NUMBERS(l->panels_y * l->units_read * (D_SUMS - D_H) * UNIT * PANEL);
    l->back_x = NUMBERS(l->panels_x * l->units * D_X * UNIT * PANEL);
  } else {
    l->weights = NUMBERS(l->units * l->block);
    l->bias = FLOATS(l->units * BLOCK);
  }
  l->vectors = FLOATS(VECTORS * l->width);
  l->matrices = FLOATS((backward ? BACK_PRODUCTS : PRODUCTS) * l->panels_h * (INT8 ? EVEN(c->hidden) : l->blocks_read * PANEL) * PANEL);
  if (PROJECTED) l->projection = NUMBERS(backward ? l->panels_h * l->panels_y * PANEL * PANEL : l->panels_y * EVEN(c->hidden) * PANEL);
  return SIZE_OF(a);
}
static int64_t lay_out_tape(Layout *l, const Call *c, long total, void *memory) {
  Arena a = {(uintptr_t)memory};
  take(&a, 1, 64); /* how many parts there were */
  l->kept = FLOATS((OF_HEADS ? c->steps * c->batch : total) * KEPT * l->width);
  l->made_kept = NUMBERS(PROJECTED * total * l->width);
  l->inverses = FLOATS(total * NORMS);
  l->factors_kept = FLOATS(PRODUCTS * total * l->wide);
  l->saved = FLOATS(SQUARES * up(c->steps, most(1, l->every)) * c->batch * l->square);
  return SIZE_OF(a);
}
static void lay_out_plan(Layout *l, const Call *c, Arena *a) {
  l->order = take(a, c->batch, 8);
  l->first = take(a, l->parts + 1, 8);
  l->active = take(a, l->parts * (c->steps + 1), 8);
  l->base = take(a, l->parts * (c->steps + 1), 8);
  const long tables = l->by_units ? c->threads : 1;
  l->x_at = take(a, tables * c->batch, 8);
  l->h_at = take(a, tables * c->batch, 8);
  l->read_at = INT8 || TILES ? take(a, tables * c->batch, 8) : (void *)l->h_at;
  l->y_at = take(a, tables * c->batch, 8);
  l->to = take(a, c->batch, 8);
  for (int q = 0; q < STATES; q++) l->start[q] = take(a, most(l->width, c->outputs), 4);
  l->begin = take(a, most(l->width, c->outputs), sizeof(number));
}
static int64_t lay_out_forward(Layout *l, const Call *c, void *memory) {
  Arena a = {(uintptr_t)memory};
  lay_out_plan(l, c, &a);
  l->memory = FLOATS((STATES - !OWN_OUTPUT) * c->batch * l->width);
  l->made = NUMBERS(PROJECTED * c->batch * l->width);
  l->multiplied = FLOATS(PRODUCTS * c->batch * l->width);
  l->factors_made = FLOATS(PRODUCTS * c->batch * l->wide);
  l->waiting = FLOATS((MIXED && !ALONE) * c->batch * l->units * BLOCK);
  l->arguments = FLOATS(c->threads * (NORMS * l->width + l->per_heads));
  l->squares = FLOATS(SQUARES * c->batch * l->square);
  /* x's sums of all steps first: for few rows, and for some more where fetching weights takes longer than their products. */
  const long few = FAR(l) && l->parts == 1 ? 6 * ROWS : l->bytes > 4 * SECOND_LEVEL ? 2 * ROWS : ROWS - 1;
  l->ahead = ALONE || (X_SUMS && c->steps > 1 && c->batch <= few * l->parts);
  l->x_sums = FLOATS(l->ahead * (c->steps * c->batch * l->units + BEHIND) * BLOCK);
  const long rows = (l->by_units ? c->threads : 1) * c->batch;
  l->x_copy = NUMBERS(((l->ahead ? c->threads * AT_ONCE : rows) + BEHIND) * COPY(c->inputs));
  l->h_copy = NUMBERS((rows + BEHIND) * COPY(c->outputs));
  l->made_copy = NUMBERS((PROJECTED || PRODUCTS) * (rows + BEHIND) * COPY(c->hidden));
  return SIZE_OF(a);
}
#if TRAINING
static long tiles(long n) { return up(n, FACTORS); }
static int64_t lay_out_backward(Layout *l, const Call *c, void *memory) {
  Arena a = {(uintptr_t)memory};
  const long most_total = c->steps * c->batch;
  l->x_by_steps = !l->by_units && !ALONE && c->batch >= 2 * ROWS * l->parts; /* while their sums' gradients are in a cache */
  lay_out_plan(l, c, &a);
  for (int q = 0; q < STATES; q++) l->d_states[q] = FLOATS(c->batch * most(l->width, l->panels_y * PANEL));
  l->d_sums = NUMBERS((most_total * l->units + BEHIND) * D_BLOCK);
  l->d_made = FLOATS(PROJECTED * c->batch * l->width);
  l->multiplied = FLOATS(BACK_PRODUCTS * c->batch * l->width);
  l->d_factors = FLOATS(BACK_PRODUCTS * most_total * l->wide);
  l->dense = FLOATS((HEADS > 1) * c->hidden * H_SUMS * c->hidden);
  l->turned = FLOATS(TURNED * c->hidden * l->wide);
  l->d_output = NUMBERS(PROJECTED * (most_total * l->panels_y + BEHIND) * PANEL);
  l->d_total = FLOATS(c->threads * GRADIENTS * l->width);
  l->arguments = FLOATS(c->threads * (NORMS * l->width + l->per_heads));
  l->again = FLOATS(SQUARES * (ALONE ? c->threads : c->batch) * l->every * l->square);
  l->d_squares = FLOATS(SQUARES * c->batch * l->square);
  l->factors = NUMBERS(c->threads * (tiles(c->inputs) + tiles(c->outputs) + PROJECTED * tiles(c->hidden)) * TILE);
  l->joined = NUMBERS(HALF * c->threads * CHUNK * most(D_BLOCK, PANEL));
  return SIZE_OF(a);
}
#endif /* TRAINING */

#if LIBRARY
void sizes(const Call *c, int64_t *found) {
  Layout l = {0};
  lay_out(&l, c);
  found[0] = lay_out_packed(&l, c, 0, 0);
  found[3] = lay_out_forward(&l, c, 0);
#if TRAINING
  found[1] = lay_out_packed(&l, c, 1, 0);
  found[2] = lay_out_tape(&l, c, c->steps * c->batch, 0);
  l.parts = most(1, c->batch); /* forward may have had more threads */
  found[4] = lay_out_backward(&l, c, 0);
#endif /* TRAINING */
}
/* Whether products of numbers are instructions of their own. */
int has_products(void) { return DOT || !HALF; }
#endif /* LIBRARY */

static long length_of(const Call *c, long row) { return c->lengths ? c->lengths[row] : c->steps; }

/* Rows in parts, the longest first; of rows with lengths of their own, every part has long and short ones. */
static void make_plan(Layout *l, const Call *c) {
  const long T = c->steps, B = c->batch, parts = l->parts;
  for (long p = 0; p <= parts; p++) l->first[p] = p * (B / parts) + most(0, p - (parts - B % parts));
  if (!c->lengths) {
    for (long i = 0; i < B; i++) l->order[i] = i;
  } else {
    int64_t *count = l->active; /* free until it is filled below */
    memset(count, 0, sizeof(int64_t) * (T + 1));
    for (long row = 0; row < B; row++) count[c->lengths[row]]++;
    for (long n = T, before = 0; n >= 0; n--) {
      const long own = count[n];
      count[n] = before;
      before += own;
    }
    for (long row = 0; row < B; row++) {
      const long sorted = count[c->lengths[row]]++;
      /* Dealt to the parts by turns; a part that has one row more than others is among the last. */
      l->order[l->first[parts - 1 - sorted % parts] + sorted / parts] = row;
    }
  }
  long m = 0;
  for (long p = 0; p < parts; p++) {
    long n = l->first[p + 1] - l->first[p];
    for (long s = 0; s <= T; s++) {
      while (n > 0 && length_of(c, l->order[l->first[p] + n - 1]) <= s) n--;
      l->active[p * (T + 1) + s] = n;
      l->base[p * (T + 1) + s] = m;
      m += n;
    }
  }
  l->total = m;
  for (int q = 0; q < STATES; q++)
    for (long k = 0; k < most(l->width, c->outputs); k++) l->start[q][k] = START[q];
  for (long k = 0; k < most(l->width, c->outputs); k++) store_numbers_up_to(l->begin + k, all(START[0]), 1);
}

static long time_of(const Call *c, long row, long s) { return c->reverse ? length_of(c, row) - 1 - s : s; }
/* Whether the states before step s are those that a sequence begins with. */
static int begins(const Call *c, long row, long s) {
  if (!c->resets) return 0;
  const long t = time_of(c, row, s) + c->reverse;
  return t < length_of(c, row) && c->resets[t * c->batch + row];
}
static const number *output_before(const Call *c, const Layout *l, long row, long s) {
  if (begins(c, row, s)) return l->begin;
  if (s == 0) return c->initial[0] ? (const number *)c->initial[0] + row * c->outputs : l->begin;
  return c->y + time_of(c, row, s - 1) * c->y_step + row * c->y_row;
}
static const number *last_output(const Call *c, const Layout *l, long row) {
  const long n = length_of(c, row);
  return n ? c->y + time_of(c, row, n - 1) * c->y_step + row * c->y_row : output_before(c, l, row, 0);
}
static const number *input_at(const Call *c, long row, long s) { return c->x + time_of(c, row, s) * c->x_step + row * c->x_row; }

/* What a row's update reads of the units from `at` on, of which `left` are real; sums: those units' first one, others UNIT apart. */
INLINE void load_inputs(vec *in, const float *sums, const number *before, const float *memory, long memory_state, const float *vectors,
                        long width, long at, long left) {
  UNROLL for (int s = 0; s < SUMS; s++) in[s] = load(sums + s * UNIT) * SUM_SCALE(s);
  in[SUMS] = !READS_OUTPUT ? (vec){0} : OWN_OUTPUT ? load(memory + at) : load_numbers_up_to(before + at, left);
  UNROLL for (int q = 1; q < STATES; q++) in[SUMS + q] = load(memory + (q - !OWN_OUTPUT) * memory_state + at);
  UNROLL for (int v = 0; v < VECTORS; v++) in[SUMS + STATES + v] = load(vectors + v * width + at);
}

/* ---- threads ---- */

typedef struct {
  int threads, arrived, turn;
} Team;
static void wait_for_all(Team *team) {
  const int turn = __atomic_load_n(&team->turn, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == team->threads) {
    __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&team->turn, turn + 1, __ATOMIC_RELEASE);
    return;
  }
  for (long spins = 0; __atomic_load_n(&team->turn, __ATOMIC_ACQUIRE) == turn; spins++) {
    if (spins > 10000) sched_yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#endif
  }
}

typedef struct Job {
  void (*run)(const Call *, Layout *, int, Team *);
  const Call *call;
  Layout *layout;
  Team team;
} Job;
typedef struct {
  Job *job;
  int me;
} Member;
static void *run_member(void *given) {
  Job *job = ((Member *)given)->job;
  while (!__atomic_load_n(&job->team.threads, __ATOMIC_ACQUIRE)) sched_yield();
#if TILES
  const long rows = job->call->steps * job->call->batch;
  begin_tiles(rows);
#endif /* TILES */
  job->run(job->call, job->layout, ((Member *)given)->me, &job->team);
#if TILES
  end_tiles(rows);
#endif /* TILES */
  return 0;
}
#if LIBRARY
static void (*openmp_parallel)(void (*)(void *), void *, unsigned, unsigned);
static int (*openmp_number)(void), (*openmp_threads)(void);
/* The functions of the OpenMP library that the process has loaded; zeros: threads of our own. */
void use_openmp(void *parallel, void *number, void *threads) {
  openmp_parallel = (void (*)(void (*)(void *), void *, unsigned, unsigned))parallel;
  openmp_number = (int (*)(void))number;
  openmp_threads = (int (*)(void))threads;
}
static void run_openmp(void *given) {
  Member member = {given, openmp_number()};
  if (member.me == 0) __atomic_store_n(&member.job->team.threads, openmp_threads(), __ATOMIC_RELEASE);
  run_member(&member);
}
#endif /* LIBRARY */
/* On as many threads as there are, at most c->threads. */
static void run_team(void (*run)(const Call *, Layout *, int, Team *), const Call *c, Layout *l) {
#if TILES
  ask_for_tiles();
#endif /* TILES */
  Job job = {run, c, l, {0, 0, 0}};
#if LIBRARY
  if (c->threads > 1 && openmp_parallel) {
    openmp_parallel(run_openmp, &job, c->threads, 0);
    return;
  }
#endif /* LIBRARY */
  Member members[c->threads];
  pthread_t threads[c->threads];
  int count = 1;
  for (; count < c->threads; count++) {
    members[count] = (Member){&job, count};
    if (pthread_create(&threads[count], 0, run_member, &members[count])) break;
  }
  members[0] = (Member){&job, 0};
  __atomic_store_n(&job.team.threads, count, __ATOMIC_RELEASE);
  run_member(&members[0]);
  for (int me = 1; me < count; me++) pthread_join(threads[me], 0);
}

/* Where backward finds what is kept of position j (of n at this step) in block u. */
#define KEPT_AT(l, m, n, u, j) ((l)->kept + (m) * KEPT * (l)->width + ((u) * (n) + (j)) * KEPT * UNIT)
