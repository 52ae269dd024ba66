"""Figures of the documents: one style, readable in print, in grey and for colour-blind readers.

Every figure takes a document's rows of cells.csv on one device, with `label`, `family` and `flexibility`
(`perplexity`: those of its training runs), is written as SVG and PNG, and returns its alternative text: what a reader who cannot see it should know.
"""

from .bars import bars
from .perplexity import COLUMNS as PERPLEXITY
from .perplexity import perplexity
from .rates import rates
from .trade_off import trade_off
from .wall_time import wall_time

__all__ = ["PERPLEXITY", "bars", "perplexity", "rates", "trade_off", "wall_time"]
