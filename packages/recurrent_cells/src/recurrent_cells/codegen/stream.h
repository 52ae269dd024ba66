
/* Step by step, without allocation. `batch` sequences at once; free the stream before its cell. */
typedef struct cell_stream cell_stream;
cell_stream *cell_stream_make(const cell *, long batch, int threads); /* 0 where memory is short */
void cell_stream_free(cell_stream *);
/* The output [batch][CELL_OUTPUTS] for the input x [batch][CELL_INPUTS]; the next step overwrites it. */
const float *cell_step(cell_stream *, const float *x);
/* Begin a row's sequence again; all of them with -1. */
void cell_stream_reset(cell_stream *, long row);
