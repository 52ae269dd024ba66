"""How much memory processes take, by what earlier ones took: of the same cell here, else of the examples; so that a run has no
more of them alive at once than the machine holds."""

import functools
from pathlib import Path

from measurement import machine
from measurement.record import read_json
from plan.earlier import name_of
from plan.estimate import EXAMPLES, example_rows
from plan.files import damage
from plan.jobs import RESULTS, TimeJob

USUAL_MB = 1500  # of what was never seen: the middle of the example's rows, and half as much again
SHARE = 0.6  # of a machine's memory; the rest is the system's, the run's own, and what a row takes more than before
MOST_SEATS = 10  # of two cores; more rows in a round lie further apart in time


@functools.cache
def _examples() -> dict[str, int]:
    """{name of a cell: peak in bytes} of the tables that come with the repository, the highest of all machines."""
    found: dict[str, int] = {}
    for row in example_rows(EXAMPLES):
        if row["peak_memory_bytes"]:
            name = name_of(row)
            found[name] = max(found.get(name, 0), int(float(row["peak_memory_bytes"])))
    return found


@functools.cache
def megabytes(name: str) -> int:
    """Of a process that times a cell: the highest peak of its records, else of the examples. What is damaged says nothing."""
    place = Path(RESULTS, TimeJob.folder, name)
    paths = map(str, place.parent.glob(f"{place.name}-*.json"))
    records = [read_json(path) for path in paths if not damage(path)]
    peaks = [each.get("memory", {}).get("process_peak_bytes") for each in records]
    peak = max(filter(None, peaks), default=0) or _examples().get(name, 0)
    return (peak >> 20) or USUAL_MB


def limits() -> dict[str, int]:
    """What processes alive at once may take together, {resource: amount}."""
    return {"seats": MOST_SEATS, "living_mb": int(SHARE * machine.memory_bytes()) >> 20}
