"""How many processes each cell gets after the first ones: where the protocol asks for an interval by how wide it is; and as
many as there may be where something is undecided that these are likely to decide, what a second decides most of first, as
long as the protocol's seconds last."""

import argparse
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from measurement import quiet
from measurement.record import plainly, read_json, write_json
from plan import matrix
from plan.matrix import Cell
from reporting import estimates, undecided
from reporting.quantities import Numbers, of_times
from reporting.undecided import Statement

RESULTS = Path("results")
Records = Mapping[Cell, Sequence[dict]]


def wanted(records: Sequence[dict], protocol: Mapping) -> int:
    """The number of processes of a cell with these records. One that has no number needs no more of them."""
    if protocol["target_interval"] is None or any(record["status"] != "ok" for record in records):
        return len(records)
    samples = [record["samples"] for record in records]
    return estimates.processes_needed(
        samples, protocol["target_interval"], protocol["most_processes"]
    )


def _key(cell: Cell) -> undecided.Key:
    return cell.benchmark, cell.implementation, cell.phase, cell.device


def numbers(cells: Records) -> Numbers:
    """What claims are decided on, of cells of one document and generation: their times, and words per second."""
    found = {}
    for cell, records in cells.items():
        times = estimates.medians(records)
        found[*_key(cell), "wall_s"] = of_times(times)
        benchmark = records[0]["benchmark"]
        if "vocabulary" in benchmark:
            words = benchmark["batch"] * benchmark["length"]
            found[*_key(cell), "words_per_s"] = of_times(times, words)
    return found


def statements(
    cells: Records,
    document_claims: Collection[Mapping],
    rows: Collection[str],
    most: int,
    best: dict,
) -> list[Statement]:
    """What is undecided of one document on one machine, with the cells that may decide it; rows: those one may use; best:
    of the machine (`quiet.of_run`)."""
    generations: dict[str, dict[Cell, Sequence[dict]]] = defaultdict(dict)
    off = {}
    for cell, records in cells.items():
        if records and all(record["status"] == "ok" for record in records):
            generations[matrix.generation(cell.environment)][cell] = records
            off[cell] = estimates.disturbed(records, best)
    judged = [each for own in off.values() for each in own]
    good = 1 - sum(judged) / len(judged) if judged else 0.0
    found = []
    for generation, own in generations.items():
        known, times = numbers(own), {cell: estimates.medians(own[cell]) for cell in own}
        named = {_key(cell): cell for cell in own}
        for each in (
            *undecided.of_claims(document_claims, known, most),
            *undecided.of_fastest(known, rows, most),
        ):
            those = frozenset(named[key] for key in each.cells)
            found.append(each._replace(name=f"{generation}: {each.name}", cells=those))
        found += undecided.of_disturbed(times, off, most, good)
    return found


def of_document(
    cells: Records, document_claims: Iterable[Mapping], rows: Collection[str], protocol: Mapping
) -> dict[Cell, int]:
    """{cell: processes that it is to have} of one document on one machine, from the records of its first processes: those
    that a narrow interval needs, and as many as there may be of cells that are likely to decide something, within
    `further_s`."""
    most = protocol["most_processes"]
    best = quiet.of_run(record for records in cells.values() for record in records)
    cells = {
        cell: [estimates.counted(record, best) for record in records]
        for cell, records in cells.items()
    }
    found = {cell: wanted(records, protocol) for cell, records in cells.items()}
    there = {cell: len(records) for cell, records in cells.items()}
    seconds = {
        cell: statistics.median(record["seconds"] for record in records)
        for cell, records in cells.items()
    }
    known = statements(cells, list(document_claims), rows, most, best)
    for cell, count in undecided.chosen(known, there, seconds, protocol["further_s"]).items():
        found[cell] = max(found[cell], count)
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
    own = [claim for claim in matrix.claims() if claim["document"] == manifest["document"]]
    rows = [each["implementation"] for each in matrix.implementations() if "flexibility" in each]
    counts = of_document(cells, own, rows, manifest["protocol"])
    write_json(arguments.output, {cell.name: count for cell, count in counts.items()})


if __name__ == "__main__":
    plainly(main)
