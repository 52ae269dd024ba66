"""How many processes each cell gets after the first ones: as many as there may be where something is undecided that these are
likely to decide; where an interval is wider than the
protocol asks for, as many as that needs. What a second does most for comes first, as long as the protocol's seconds last."""

import argparse
import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from measurement import quiet
from measurement.record import damage, plainly, read_json, write_json
from plan import matrix
from plan.matrix import NOW, Measurement
from stats import clean, samples, undecided
from stats.quantities import Numbers, of_times
from stats.samples import Times
from stats.undecided import Statement

RESULTS = Path("results")
THEN = 0.1  # of what a verdict on today's frameworks is worth
Records = Mapping[Measurement, Sequence[dict]]
Measured = Mapping[Measurement, Times]  # of cells that have a number


def _key(cell: Measurement) -> undecided.Key:
    return cell.benchmark, cell.implementation, cell.phase, cell.device


def numbers(times: Measured, cells: Records) -> Numbers:
    """What claims are decided on, of cells of one document and generation: their times, and words per second."""
    found = {}
    for cell, own in times.items():
        found[*_key(cell), "wall_s"] = of_times(own)
        benchmark = cells[cell][0]["benchmark"]
        if "vocabulary" in benchmark:
            words = benchmark["batch"] * benchmark["length"]
            found[*_key(cell), "words_per_s"] = of_times(own, words)
    return found


def statements(
    times: Measured,
    cells: Records,
    document_claims: Collection[Mapping],
    rows: Collection[str],
    most: int,
) -> list[Statement]:
    """What is undecided of one document on one machine, with the cells that may decide it; rows: those one may use."""
    generations: dict[str, dict[Measurement, Times]] = defaultdict(dict)
    for cell, own in times.items():
        generations[matrix.generation(cell.environment)][cell] = own
    found = []
    for generation, own in generations.items():
        known = numbers(own, cells)
        named = {_key(cell): cell for cell in own}
        # Nobody chooses among the rows of an old framework, or of a protocol that is there to be compared with its baseline.
        usable = {
            key: number
            for key, number in known.items()
            if generation == NOW and "baseline" not in cells[named[key[:-1]]][0]["benchmark"]
        }
        # Nor does a finding speak of any time but now.
        told = [each for each in document_claims if generation == NOW or "finding" not in each]
        for each in (
            *undecided.of_claims(told, known, most),
            *undecided.of_fastest(usable, rows, most),
        ):
            those = {named[key]: count for key, count in each.processes.items()}
            worth = each.worth * (1 if generation == NOW else THEN)
            name = f"{generation}: {each.name}"
            found.append(each._replace(name=name, processes=those, worth=worth))
    return found


def of_document(
    cells: Records, document_claims: Iterable[Mapping], rows: Collection[str], protocol: Mapping
) -> dict[Measurement, int]:
    """{cell: processes that it is to have} of one document on one machine, from the records of its first processes, within
    `further_s`."""
    most, target = protocol["most_processes"], protocol["target_interval"]
    best = quiet.of_run(record for records in cells.values() for record in records)
    done = {
        cell: records
        for cell, records in cells.items()
        if all(record["status"] == "ok" for record in records)
    }
    cells = {**cells, **{cell: clean.usable_records(own, best) for cell, own in done.items()}}
    times = samples.measured(cells)
    # Statistics count looks; of older records a process is one.
    looks = {
        cell: statistics.median(len(record.get("looks", "1")) for record in records)
        for cell, records in cells.items()
    }
    there = {cell: len(records) for cell, records in cells.items()}
    seconds = {
        cell: statistics.median(record["seconds"] for record in records) / looks[cell]
        for cell, records in cells.items()
    }
    most_looks = math.ceil(most * max(looks.values(), default=1))
    known = statements(times, cells, list(document_claims), rows, most_looks)
    if target is not None:
        beside = {cell: (cell.benchmark, cell.phase, cell.device) for cell in times}
        known += undecided.of_wide(times, beside, target, most_looks)
        more = {
            cell: int((count + 1) * looks[cell])
            for cell, records in done.items()
            if protocol["processes"] <= (count := there[cell]) < most and clean.joins(records, best)
        }
        known += undecided.of_apart(times, more, seconds)
    counted = {cell: math.ceil(count * looks[cell]) for cell, count in there.items()}
    chosen = undecided.chosen(known, counted, seconds, protocol["further_s"])
    wanted = {cell: math.ceil(count / looks[cell]) for cell, count in chosen.items()}
    return {cell: max(count, min(most, wanted.get(cell, 0))) for cell, count in there.items()}


def kept(paths: Sequence[str], first: Mapping, most: int) -> list[str]:
    """The records of a cell, `most` at most: the first ones, which lie at `paths` (named as jobs.TimeJob has it), `first` is one,
    and those with the same identity that follow them, of a run that was to have more. Judged anew, none of these is lost."""
    found = [*paths]
    folder = (RESULTS / paths[0]).parent
    name, _, end = Path(paths[0]).name.rpartition("-1.")
    while name and end.count(".") == 1 and len(found) < most:
        there = folder.glob(f"{name}-{len(found) + 1}.*.json")
        same = (
            path
            for path in there
            if not damage(str(path)) and read_json(str(path))["parts"] == first["parts"]
        )
        if (following := next(same, None)) is None:
            break
        found.append(str(following.relative_to(RESULTS)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifest", required=True, type=Path, help="of the first processes")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    manifest = read_json(str(arguments.manifest))
    most = manifest["protocol"]["most_processes"]
    cells: dict[Measurement, list[dict]] = {}
    for entry in manifest["cells"]:
        if paths := entry["records"]:
            first = read_json(str(RESULTS / paths[0]))
            records = [read_json(str(RESULTS / path)) for path in kept(paths, first, most)]
            cells[Measurement.of(entry)] = records
    own = [each for each in matrix.statements() if each["document"] == manifest["document"]]
    rows = [each["implementation"] for each in matrix.implementations() if "flexibility" in each]
    counts = of_document(cells, own, rows, manifest["protocol"])
    found = {cell.name: max(count, len(cells[cell])) for cell, count in counts.items()}
    write_json(arguments.output, found)


if __name__ == "__main__":
    plainly(main)
