"""A ceiling, not an LSTM: the matrix products of a workload alone, in a framework, as a style of it calls them.

`products` of a framework calls them as its fine-grained row does, `products-large` in calls of many rows each. Time over
the first is what a style adds to its library; the second, and the machine's multiply-add peak, tell what the library
makes of the machine. As in every row, results are new memory each time.
"""

import numpy as np

from measurement.contract import Runner
from measurement.shapes import FORWARD, OF_INPUT, OF_WEIGHT, flops, products

SHOWN = 32  # rows of a result that are compared
DRAWN = 1000003  # numbers that fill all operands over and over: 64 million of them took five seconds to draw


def operands(product, random):
    """float32 (left [times, ...], right): the matrices whose product is asked for, as FORWARD has them; each time has
    its own x, and what is a weight stays."""
    x = (product.times, product.rows, product.depth)
    w = (product.depth, product.columns)
    d = (product.times, product.rows, product.columns)
    shapes = {FORWARD: (x, w), OF_INPUT: (d, w), OF_WEIGHT: (x, d)}[product.role]
    drawn = [random.uniform(-0.5, 0.5, DRAWN).astype(np.float32) for _ in shapes]
    return [np.resize(each, shape) for each, shape in zip(drawn, shapes)]


class Products(Runner):
    """A subclass says what a matrix is, and multiplies."""

    def __init__(self, workload, phase, form):
        random = np.random.RandomState(0)
        self.form = form
        self.products = products(workload, phase, form)
        self.arrays = [operands(product, random) for product in self.products]
        self.prepare()

    def prepare(self):
        """Make of `arrays` what `step` multiplies."""
        raise NotImplementedError

    def fetch(self, handle):
        """The last result of each product, host arrays."""
        raise NotImplementedError

    def expected(self, inputs):
        shown = []
        for product, (left, right) in zip(self.products, self.arrays):
            left = left[-1]
            if product.role == OF_WEIGHT:
                left, right = left.T, right[-1]
            elif product.role == OF_INPUT:
                right = right.T
            rows = left[:: step_of(len(left))].astype(np.float64)
            shown.append(rows.dot(right.astype(np.float64)).ravel())
        return np.concatenate(shown)

    def results(self, handle):
        found = [np.asarray(each) for each in self.fetch(handle)]
        return {"output": np.concatenate([each[:: step_of(len(each))].ravel() for each in found])}

    def synchronise(self):
        """On a CPU a product has finished when its call returns, unless a subclass says otherwise."""

    def settings(self):
        """What the record says of the calls."""
        return {"form": self.form, "gflop": flops(self.products) / 1e9}


def step_of(rows):
    """Every how manieth row is compared."""
    return max(1, rows // SHOWN)
