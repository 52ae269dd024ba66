"""Kernels of recurrent layers by TVM: a schedule template, its search, and what the automatic ways give.

`template` what is computed and how, `search` finds its parameters, `build` makes libraries that `run` runs;
`variants` are the ways without a template.
"""
