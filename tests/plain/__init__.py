"""A framework for tests: the reference itself behind the contract, in NumPy, right and wrong."""
