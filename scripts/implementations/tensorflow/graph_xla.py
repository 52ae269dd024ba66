"""The loop of `graph_while`, compiled by XLA: 3 s to the first step. Unrolled, it took 78 s."""

import tensorflow as tf

from implementations.contract import Unsupported

from .graph_while import WhileLoop
from .model import LanguageModel


def build(workload, weights, device, phase):
    if tuple(int(part) for part in tf.__version__.split(".")[:2]) < (2, 5):
        raise Unsupported("tf.function(jit_compile=True) came with TensorFlow 2.5")
    function = {"jit_compile": True}
    return LanguageModel(workload, weights, device, phase, WhileLoop(), function=function)
