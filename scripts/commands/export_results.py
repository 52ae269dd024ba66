"""`make export`: what was measured, in a form that other tools read.

pyperf: pyperf's JSON (its `stats`, `hist` and `compare_to`), a benchmark a cell, a run a process, with the
batches that count.
benchmark-action: the JSON of `customSmallerIsBetter` that github-action-benchmark takes: of each cell its number, the median
over processes of the median batch, in seconds.

Cells without a number are left out, and counted.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from measurement import quiet
from measurement.record import plainly, whole
from reporting import processors, results, tabulate
from stats import clean

PYPERF = "1.0"  # version of its files


def measured(parts: Iterable[results.Part]) -> list[tuple[str, results.Row, dict]]:
    """(name, row, its numbers as in cells.csv) of every cell that has some; of several machines, names begin with the
    machine's."""
    parts = list(parts)
    several, found = len({part.machine for part in parts}) > 1, []
    for part in parts:
        best = quiet.of_run(part.records)
        table = tabulate.cells(part.manifest["document"], [part])
        for row, numbers in zip(part.cells, table.to_dict("records"), strict=True):
            if numbers["status"] == "ok":
                name = f"{part.machine}/{row.cell.name}" if several else row.cell.name
                counted = tuple(clean.usable_records(row.records, best))
                found.append((name, replace(row, records=counted), numbers))
    return found


def _run(record: Mapping) -> dict:
    """One process, as pyperf has a run."""
    started = datetime.fromisoformat(record["started"]).replace(tzinfo=None)
    about = {
        "date": started.isoformat(" "),
        "duration": record["seconds"],
        "load_avg_1min": record["load"]["before"][0],
    }
    if peak := record["memory"]["process_peak_bytes"]:
        about["mem_max_rss"] = int(peak)
    return {
        "metadata": about,
        "warmups": [[1, seconds] for seconds in record["warmup"]],
        "values": record["samples"],
    }


def _benchmark(name: str, row: results.Row) -> dict:
    """One cell, as pyperf has a benchmark."""
    first = row.records[0]
    machine, framework = first["machine"], first["framework"]
    about = {
        "name": name,
        "unit": "second",
        "loops": 1,
        "hostname": machine["machine"],
        "cpu_count": machine["cores"],
        "cpu_model_name": processors.name(machine),
        "python_version": first["environment"]["python"],
        "framework": f"{framework['framework']} {framework['framework_version']}",
        "threads": first["threads"],
        "commit": (first["repository"] or {}).get("commit"),
    }
    return {
        "metadata": {key: value for key, value in about.items() if value},
        "runs": [_run(record) for record in row.records],
    }


def pyperf(cells: Iterable[tuple[str, results.Row, dict]]) -> dict:
    return {"version": PYPERF, "benchmarks": [_benchmark(name, row) for name, row, _ in cells]}


def benchmark_action(cells: Iterable[tuple[str, results.Row, dict]]) -> list[dict]:
    return [
        {
            "name": name,
            "unit": "s",
            "value": numbers["wall_median_s"],
            "range": f"{numbers['wall_low_s']:.4g} to {numbers['wall_high_s']:.4g}",
            "extra": "\n".join(
                (
                    f"{numbers['processes']} processes, {numbers['disturbed_processes']} disturbed",
                    f"range: {numbers['interval']}",
                    processors.name(row.records[0]["machine"]),
                )
            ),
        }
        for name, row, numbers in cells
    ]


FORMATS: dict[str, Callable] = {"pyperf": pyperf, "benchmark-action": benchmark_action}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("folder", nargs="?", default="results", type=Path)
    parser.add_argument("--output", type=Path, help="results/FORMAT.json unless given")
    arguments = parser.parse_args()
    parts = [results.read(path) for path in results.manifests_in(arguments.folder)]
    cells = measured(parts)
    without = sum(len(part.cells) for part in parts) - len(cells)
    if not cells:
        sys.exit(f"{arguments.folder}: no measurement has a number: nothing to export.")
    path = arguments.output or Path("results", f"{arguments.format}.json")
    with whole(str(path)) as stream:
        json.dump(FORMATS[arguments.format](cells), stream, indent=1, allow_nan=False)
        stream.write("\n")
    print(f"{path}: {len(cells)} measurements; {without} have no number")


if __name__ == "__main__":
    plainly(main)
