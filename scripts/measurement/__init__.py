"""Measuring: workloads, the reference, checks and clocks.

Runs inside the environments, old ones too: Python 3.6 syntax, standard library and NumPy only.
"""
