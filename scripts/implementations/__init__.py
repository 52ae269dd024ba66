"""One file an implementation, `<framework>/<style>.py`, each with a `build` (see contract.py).

Runs inside the environments, old ones too: Python 3.6 syntax, the framework and NumPy only.
"""
