"""IREE: JAX's function as StableHLO, compiled ahead of time for the CPU."""
