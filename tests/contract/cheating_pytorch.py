"""Wrong PyTorch styles that only what is verified after the last timed batch finds out."""

from implementations.pytorch.cell import lstm_stack
from implementations.pytorch.model import Model

from . import cheating

caching, wrong_at_size, early = cheating.styles(Model, lambda: lstm_stack)
