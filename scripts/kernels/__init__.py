"""Recurrent layers as kernels that TVM compiles: see README.md.

`template` what is computed and how, `search` finds its parameters, `build` makes libraries that `run` runs;
`variants` are the ways without a template. Cells come from the package `recurrent_cells`.
"""
