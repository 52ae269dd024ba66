"""The monolithic operator of `eager_block`, in one graph."""

from measurement import precision
from measurement.contract import Unsupported

from .eager_block import Block
from .model import Model

DATA_TYPES = ("float32", "bfloat16")  # the latter to say why not


def build(workload, weights, device, phase):
    if workload.data_type == precision.BFLOAT16:
        raise Unsupported("BlockLSTM takes float32 and float16, not bfloat16")
    return Model(workload, weights, device, phase, Block(), function={})
