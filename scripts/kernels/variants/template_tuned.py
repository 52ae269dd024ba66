"""The schedule template, with the schedule that its search found."""

from measurement.contract import Unsupported
from recurrent_cells.cells import CELLS

from ..build import build_template
from ..search import tuning
from ..search.database import ScheduleDatabase

__all__ = ["build", "tune"]


def tune(spec, target, trials, folder):
    require_plain(spec)
    return tuning.tune(spec, target, trials, folder)


def build(spec, target, folder, database, vocabulary, classes=None):
    require_plain(spec)
    schedule = ScheduleDatabase(spec.tuned, target, database).best()
    build_template(spec, schedule, target, folder, vocabulary, classes)


def require_plain(spec):
    """Raise Unsupported where the cell has other products than those of its gates with whole matrices."""
    cell = CELLS[spec.cell]
    if cell.heads > 1 or cell.matrices or cell.of_heads:
        raise Unsupported("the template has neither heads, nor further matrices, nor matrix states")
