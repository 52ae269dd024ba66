"""What a document's report is made of on this machine: its manifest, which names every cell with its records, as far
as they are there."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from measurement.record import plainly, read_json, write_json
from plan import copies, matrix
from plan.jobs import MANIFEST_VERSION, RESULTS, Job, damage
from plan.planner import Plan


def there(job: Job) -> bool:
    """Whether a job has left its record, be it of a failure."""
    return Path(job.path).exists() and not damage(job.path)


def below_results(job: Job) -> str:
    return str(Path(job.path).relative_to(RESULTS))


LATER = "not measured yet when the records were listed; the same command goes on"


def path_of(plan: Plan, document: str) -> str:
    """The file of a document's manifest."""
    return f"{RESULTS}/manifests/{document}-{plan.machine}.json"


def manifest(plan: Plan, document: str, counts: dict[str, int]) -> dict:
    """The manifest of a document; `counts`: processes of the cells that got further ones."""
    records: dict[matrix.Cell, list[str]] = {}
    for job in filter(there, plan.timings(document, counts)):
        records.setdefault(job.cell, []).append(below_results(job))
    runs = {job.cell: below_results(job) for job in filter(there, plan.convergences(document))}

    def why_not(cell: matrix.Cell, measured: bool, trained: bool = False) -> dict:
        left_out = matrix.why_not(cell, document, plan.config, trained)
        status, reason = left_out or ((None, "") if measured else ("not-run", LATER))
        return {"status": status, "reason": reason}

    cells = [
        asdict(cell) | {"records": records.get(cell, [])} | why_not(cell, cell in records)
        for cell in matrix.cells_of(document)
    ]
    training = [
        asdict(cell) | {"record": runs.get(cell)} | why_not(cell, cell in runs, trained=True)
        for cell in matrix.trained_cells_of(document)
    ]
    settings = plan.settings(document)
    return {
        "schema_version": MANIFEST_VERSION,
        "document": document,
        "machine": plan.machine,
        "preliminary": plan.config["preliminary"],
        "config": plan.config,
        "protocol": settings["protocol"],
        "check": settings["check"],
        "cells": cells,
        "training": training,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=json.loads, help="what the plan is made of")
    parser.add_argument("--document", required=True)
    parser.add_argument("--processes", help="processes.json, where noisy cells got further ones")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    copies.take()  # what was measured is what was planned, whatever stands in scripts/ by now
    counts = read_json(arguments.processes) if arguments.processes else {}
    found = manifest(Plan(**arguments.plan), arguments.document, counts)
    write_json(arguments.output, found)


if __name__ == "__main__":
    plainly(main)
