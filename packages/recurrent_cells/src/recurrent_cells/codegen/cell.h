/* {title}

   cc -O3 -march=native -std=gnu99 cell.c test.c -o test -pthread -lm && ./test weights.bin

   Arrays are contiguous float32, the last index fastest. Functions may be called by several threads at once, except that a stream
   is for one at a time. */
#ifndef CELL_H
#define CELL_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {{
#endif

enum {{ CELL_INPUTS = {inputs}, CELL_OUTPUTS = {outputs}, CELL_STATES = {states} }}; /* values of x and y for a row and step */

typedef struct cell cell;

/* Read the weights; 0 if the file cannot be read or does not have as many as these layers, or if memory is short. */
cell *cell_load(const char *path);
/* The same from memory, which may be freed then. count: of floats. */
cell *cell_make(const float *weights, size_t count);
void cell_free(cell *);

/* y [steps][batch][CELL_OUTPUTS] of x [steps][batch][CELL_INPUTS].

   states: one array for each of
     {shapes}
   with the initial states, which become the final ones; or 0: initial ones are {start}, and final ones are not wanted.
   threads: how many at most, from 1 to 1024. Returns 0, or -1 where memory is short. */
int cell_forward(const cell *, long steps, long batch, const float *x, float *y, float *const *states, int threads);
{stream}
#ifdef __cplusplus
}}
#endif
#endif
