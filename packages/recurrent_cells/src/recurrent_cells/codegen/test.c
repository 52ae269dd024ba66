/* Compares cell.c with what the layer computed when it was exported, and one step at a time with all at once; then times steps. */
#include "cell.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {{ STEPS = {steps}, BATCH = {batch}, SHOWN = {shown} }};
/* The first values of y at the last step, for each row. */
static const float EXPECTED[BATCH][SHOWN] = {{
{expected}
}};

int main(int count, char **arguments) {{
  cell *made = cell_load(count > 1 ? arguments[1] : "weights.bin");
  if (!made) return fprintf(stderr, "test: weights cannot be read\n"), 2;
  float *x = malloc(sizeof(float) * STEPS * BATCH * CELL_INPUTS), *y = malloc(sizeof(float) * STEPS * BATCH * CELL_OUTPUTS);
  uint32_t drawn = 1;
  for (long k = 0; k < (long)STEPS * BATCH * CELL_INPUTS; k++) {{
    drawn = drawn * 1664525u + 1013904223u;
    x[k] = (float)(drawn >> 8) / 16777216.0f - 0.5f;
  }}
  if (cell_forward(made, STEPS, BATCH, x, y, 0, 1)) return fprintf(stderr, "test: out of memory\n"), 2;
  float worst = 0;
  for (long row = 0; row < BATCH; row++)
    for (long k = 0; k < SHOWN; k++) {{
      const float found = y[((STEPS - 1) * BATCH + row) * CELL_OUTPUTS + k];
      worst = fmaxf(worst, found == found ? fabsf(found - EXPECTED[row][k]) : INFINITY);
    }}
  printf("largest difference from the layer: %.2g\n", worst);
{test_stream}  free(x);
  free(y);
  cell_free(made);
  return worst < 1e-5f ? 0 : 1;
}}
