"""Figures of the documents: one style, readable in print, in grey and for colour-blind readers.

Every figure takes a document's rows of cells.csv on one device, with `label`, `family` and `flexibility`, is
written as SVG and PNG, and returns its alternative text: what a reader who cannot see it should know.
"""

from .bars import bars
from .rates import rates
from .trade_off import trade_off
from .wall_time import wall_time

__all__ = ["bars", "rates", "trade_off", "wall_time"]
