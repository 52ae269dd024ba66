"""The loop of `graph_while`, compiled by XLA: 3 s to the first step. Unrolled, it took 78 s."""

import inspect

import tensorflow as tf

from measurement.contract import Unsupported

from .graph_while import WhileLoop
from .model import Model

DATA_TYPES = ("float32", "bfloat16")


class CompiledInside(Model):
    """The whole step compiled by a call inside the graph, before `jit_compile` came with TensorFlow 2.5."""

    def _forward(self, inputs):
        if self._phase == "training":
            return super(CompiledInside, self)._forward(inputs)
        return tf.xla.experimental.compile(super(CompiledInside, self)._forward, [inputs])

    def _train(self, *given):
        return tf.xla.experimental.compile(super(CompiledInside, self)._train, list(given))


def build(workload, weights, device, phase):
    if workload.loss == "ctc" and phase == "training":
        raise Unsupported("XLA cannot compile TensorFlow's CTC loss")
    if not hasattr(tf, "function"):
        raise Unsupported("TensorFlow %s is built without XLA" % tf.__version__)
    kind, function = Model, {"jit_compile": True}
    if "jit_compile" not in inspect.signature(tf.function).parameters:
        kind, function = CompiledInside, {}
    return kind(workload, weights, device, phase, WhileLoop(), function=function)
