"""How many processes each cell gets after the first ones: one more for each that was disturbed, and where the protocol asks
for an interval by how wide it is, and by the claims that the cell decides."""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from measurement import yardstick
from measurement.record import plainly, read_json, write_json
from plan import matrix
from plan.matrix import Cell
from reporting import claims, estimates
from reporting.quantities import Numbers, of_times

RESULTS = Path("results")


def wanted(records: Sequence[dict], protocol: Mapping) -> int:
    """The number of processes of a cell with these records. One that has no number needs no more of them."""
    if protocol["target_interval"] is None or any(record["status"] != "ok" for record in records):
        return len(records)
    samples = [record["samples"] for record in records]
    return estimates.processes_needed(
        samples, protocol["target_interval"], protocol["most_processes"]
    )


def replaced(off: Sequence[bool], protocol: Mapping) -> int:
    """The number of processes of a cell some of which were off the yardstick (yardstick.flagged): a further one for each of
    those."""
    return min(len(off) + sum(off), max(protocol["most_processes"], len(off)))


def numbers(cells: Mapping[Cell, Sequence[dict]]) -> Numbers:
    """What claims are decided on, of cells of one document and generation: their times, and words per second."""
    found = {}
    for cell, records in cells.items():
        if records and all(record["status"] == "ok" for record in records):
            key = (cell.benchmark, cell.implementation, cell.phase, cell.device)
            times = estimates.medians(records)
            found[*key, "wall_s"] = of_times(times)
            benchmark = records[0]["benchmark"]
            if "vocabulary" in benchmark:
                words = benchmark["batch"] * benchmark["length"]
                found[*key, "words_per_s"] = of_times(times, words)
    return found


def of_document(
    cells: Mapping[Cell, Sequence[dict]], document_claims: Iterable[Mapping], protocol: Mapping
) -> dict[Cell, int]:
    """{cell: processes that it is to have} of one document on one machine, from the records of its first processes: those
    that a narrow interval needs, and as many as there may be where a claim that it takes part in is undecided; no further
    ones where no interval is asked for."""
    found = {cell: wanted(records, protocol) for cell, records in cells.items()}
    if protocol["target_interval"] is None:
        return found
    generations: dict[str, dict[Cell, Sequence[dict]]] = defaultdict(dict)
    for cell, records in cells.items():
        generations[matrix.generation(cell.environment)][cell] = records
    document_claims = list(document_claims)
    for of_one in generations.values():
        further = claims.further_processes(
            document_claims, numbers(of_one), protocol["most_processes"]
        )
        for cell in of_one:
            key = (cell.benchmark, cell.implementation, cell.phase, cell.device)
            found[cell] = max(found[cell], further.get(key, 0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifest", required=True, type=Path, help="of the first processes")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    manifest = read_json(str(arguments.manifest))
    cells = {
        Cell.of(entry): [read_json(str(RESULTS / path)) for path in entry["records"]]
        for entry in manifest["cells"]
        if entry["records"]
    }
    best = yardstick.best(r.get("yardstick") for records in cells.values() for r in records)
    own = [claim for claim in matrix.claims() if claim["document"] == manifest["document"]]
    counts = of_document(cells, own, manifest["protocol"])
    found = {}
    for cell, count in counts.items():
        off = [bool(yardstick.flagged(r.get("yardstick"), best)) for r in cells[cell]]
        found[cell.name] = max(count, replaced(off, manifest["protocol"]))
    write_json(arguments.output, found)


if __name__ == "__main__":
    plainly(main)
