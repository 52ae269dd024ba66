"""What a document's report is made of on this machine: its manifest, which names every cell with its records."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from measurement.record import read_json, write_json
from plan import matrix
from plan.jobs import MANIFEST_VERSION, RESULTS, Job
from plan.planner import Plan


def below_results(job: Job) -> str:
    return str(Path(job.path).relative_to(RESULTS))


def manifest(plan: Plan, document: str, counts: dict[str, int]) -> dict:
    """The manifest of a document; `counts`: processes of the cells that got further ones."""
    records: dict[matrix.Cell, list[str]] = {}
    for job in plan.timings(document, counts):
        records.setdefault(job.cell, []).append(below_results(job))
    runs = {job.cell: below_results(job) for job in plan.convergences(document)}
    cells, training = [], []
    for cell in matrix.cells_of(document):
        status, reason = matrix.why_not(cell, document, plan.config) or (None, "")
        measured = {"records": records.get(cell, []), "status": status, "reason": reason}
        cells.append(asdict(cell) | measured)
    for cell in matrix.trained_cells_of(document):
        status, reason = matrix.why_not(cell, document, plan.config, trained=True) or (None, "")
        trained = {"record": runs.get(cell), "status": status, "reason": reason}
        training.append(asdict(cell) | trained)
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
    counts = read_json(arguments.processes) if arguments.processes else {}
    found = manifest(Plan(**arguments.plan), arguments.document, counts)
    write_json(arguments.output, found)


if __name__ == "__main__":
    main()
