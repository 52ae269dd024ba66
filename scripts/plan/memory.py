"""How much memory processes take, by what earlier ones took: of the same cell here, else of the examples; so that a run has no
more of them alive at once than the machine holds."""

import csv
import functools
from pathlib import Path

from measurement import machine
from measurement.record import read_json
from plan.estimate import EXAMPLES
from plan.files import damage
from plan.jobs import RESULTS, MeasurementJob

USUAL_MB = 1500  # of what was never seen: the middle of the example's rows, and half as much again
SHARE = 0.6  # of a machine's memory; the rest is the system's, the run's own, and what a row takes more than before
MOST_SEATS = 10  # of two cores; more rows in a round lie further apart in time


@functools.cache
def _examples() -> dict[str, int]:
    """{name of a cell: peak in bytes} of the tables that come with the repository, the highest of all machines."""
    found: dict[str, int] = {}
    for path in sorted(EXAMPLES.glob("*/cells.csv")):
        with open(path, encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row["peak_memory_bytes"]:
                    name = "{environment}/{benchmark}/{implementation}/{phase}-{device}".format(
                        **row
                    )
                    found[name] = max(found.get(name, 0), int(float(row["peak_memory_bytes"])))
    return found


class Peaks:
    """Of one results folder."""

    def __init__(self) -> None:
        self._found: dict[str, int] = {}

    def megabytes(self, job: MeasurementJob) -> int:
        """Of a timing's process."""
        name = job.cell.name
        if name not in self._found:
            self._found[name] = self._here(name) or _examples().get(name, 0)
        return (self._found[name] >> 20) or USUAL_MB

    def _here(self, name: str) -> int:
        """The highest peak in bytes that records of a cell have; 0 without any. What is damaged says nothing."""
        place = Path(RESULTS, "records", name)
        paths = map(str, place.parent.glob(f"{place.name}-*.json"))
        records = [read_json(path) for path in paths if not damage(path)]
        peaks = [each.get("memory", {}).get("process_peak_bytes") for each in records]
        return max(filter(None, peaks), default=0)


def limits() -> dict[str, int]:
    """What processes alive at once may take together, {resource: amount}."""
    return {"seats": MOST_SEATS, "living_mb": int(SHARE * machine.memory_bytes()) >> 20}
