"""The model's matrix products by the OpenBLAS that Theano's code is linked with, as Keras's layer calls them: the input's
and the state's in two products a step."""

from scipy.linalg import blas

from implementations.products import Products
from implementations.theano_flags import build_facts, configure, theano
from measurement.shapes import OF_INPUT, OF_WEIGHT, SEPARATE


class MatrixProducts(Products):
    def __init__(self, workload, device, phase, form):
        self._configured = configure(device, workload.threads)
        Products.__init__(self, workload, phase, form)

    def prepare(self):
        """In BLAS's order of columns a matrix is its transpose: c = a b is c' = b' a', whose operands need no copy."""
        self.calls = []
        for product, (left, right) in zip(self.products, self.arrays):
            rights = right if product.role == OF_WEIGHT else [right] * len(left)
            trans = {"trans_a": product.role == OF_INPUT, "trans_b": product.role == OF_WEIGHT}
            self.calls.append(([(b.T, a.T) for a, b in zip(left, rights)], trans))

    def step(self, inputs, targets):
        last = []
        for calls, trans in self.calls:
            for b, a in calls:
                found = blas.sgemm(1.0, b, a, **trans)
            last.append(found)
        return last

    def fetch(self, handle):
        return [each.T for each in handle]

    def describe(self):
        return {
            "framework": "Theano",
            "framework_version": theano.__version__,
            "build": build_facts(),
            "settings": dict(self._configured, **self.settings()),
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, SEPARATE)
