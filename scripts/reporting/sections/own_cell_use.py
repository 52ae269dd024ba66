"""What to use for a cell of somebody's own: to train it, for many sequences, and for one at a time."""

from collections.abc import Mapping

from reporting.sections import Tables, use
from reporting.sections.own_cell import name, of

FOR = (
    ("train it", "training", False),
    ("run batches (throughput)", "forward", False),
    ("answer one sequence (latency)", "forward", True),
)


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """As `use` has it, by the document's labels."""
    cells = tables.cells.assign(name=tables.cells["label"])
    tables = Tables(cells, tables.trainings, tables.published)
    parts = [
        use.analyse(tables, about, to, phase, of(about, name(about), request))
        for to, phase, request in FOR
    ]
    found = [part for part in parts if part]
    return use.merge(found) if found else None
