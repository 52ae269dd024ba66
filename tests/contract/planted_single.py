"""A row that takes half precision and silently computes in float32, in TensorFlow."""

from implementations.tensorflow.graph_while import WhileLoop
from implementations.tensorflow.model import Model
from measurement import precision


def build(workload, weights, device, phase):
    single = workload.changed(data_type=precision.FLOAT32)
    return Model(single, weights, device, phase, WhileLoop(), function={})
