"""The model's matrix products in TensorFlow, as `eager_fine_grained` and its graphs call them: one a step for the input
and the state side by side. One graph, in which each waits for the one before, as steps of a sequence do."""

import itertools

import tensorflow as tf

from implementations.products import Products
from measurement.shapes import JOINED, OF_INPUT, OF_WEIGHT

from .device import build_facts, configure, host
from .sessions import SESSIONS, Session, Variable


class MatrixProducts(Products):
    def __init__(self, workload, device, phase, form):
        self._settings = configure(device, workload.threads)
        self._device, self._threads = device, workload.threads
        Products.__init__(self, workload, phase, form)

    def prepare(self):
        if SESSIONS:
            session = Session(self._threads)
            session.build(self._build)
            self._run = session.build(session.function, self._multiply, [])
        else:
            self._build()
            self._run = tf.function(self._multiply)

    def _build(self):
        """Variables, or what is multiplied would be constants, and computed once."""
        self._operands = []
        for product, (left, right) in zip(self.products, self.arrays):
            rights = right if product.role == OF_WEIGHT else [right]
            self._operands.append(
                [[Variable(each, trainable=False) for each in part] for part in (left, rights)]
            )

    def _multiply(self):
        """All products are results. One that is none TensorFlow's graph optimiser leaves out, also where another waits
        for it: 648 GFLOP/s on a machine that has 459."""
        found = []
        for product, (lefts, rights) in zip(self.products, self._operands):
            for number, left in enumerate(lefts):
                with tf.control_dependencies(found[-1:]):
                    product_of = tf.matmul(
                        left.read_value(),
                        rights[number % len(rights)].read_value(),
                        transpose_a=product.role == OF_WEIGHT,
                        transpose_b=product.role == OF_INPUT,
                    )
                found.append(product_of)
        return found

    def step(self, inputs, targets):
        return self._run()

    def fetch(self, handle):
        ends = itertools.accumulate(len(lefts) for lefts, _ in self._operands)
        return [host(handle[end - 1]) for end in ends]

    def synchronise(self):
        if self._device != "cpu":
            tf.test.experimental.sync_devices()

    def describe(self):
        return {
            "framework": "TensorFlow",
            "framework_version": tf.__version__,
            "build": build_facts(),
            "settings": dict(self._settings, **self.settings()),
        }


def build(workload, weights, device, phase):
    return MatrixProducts(workload, device, phase, JOINED)
