"""The static cell of `eager_cell` in the `tf.while_loop` of `graph_while`, in one graph."""

from .eager_cell import BlockCell
from .graph_while import WhileLoop
from .model import Model


class WhileLoopOfCells(BlockCell, WhileLoop):
    """In a symbolic loop."""


def build(workload, weights, device, phase):
    return Model(workload, weights, device, phase, WhileLoopOfCells(), function={})
