  cell_stream *stream = cell_stream_make(made, BATCH, 1);
  float apart = 0;
  for (long s = 0; s < STEPS; s++) {
    const float *found = cell_step(stream, x + s * BATCH * CELL_INPUTS);
    for (long k = 0; k < BATCH * CELL_OUTPUTS; k++) apart = fmaxf(apart, fabsf(found[k] - y[s * BATCH * CELL_OUTPUTS + k]));
  }
  printf("largest difference of single steps: %.2g\n", apart);
  worst = fmaxf(worst, apart);
  const clock_t start = clock();
  long steps = 0;
  for (; clock() - start < CLOCKS_PER_SEC / 5; steps++) cell_step(stream, x);
  printf("%ld rows, a step: %.2f us\n", (long)BATCH, 1e6 * (clock() - start) / CLOCKS_PER_SEC / steps);
  cell_stream_free(stream);
