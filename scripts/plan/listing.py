"""What a document's report is made of on this machine: its manifest, which names every cell with its records, as far
as they are there. A function of the plan and the records: one that is there can be held against what it has to say."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from measurement.record import damage as damage_of
from measurement.record import read_json
from plan import matrix
from plan.jobs import MANIFEST_VERSION, RESULTS, Job, damage, digest_of, seal
from plan.planner import Plan

LATER = "not measured yet when the records were listed; run the same command to continue"


def there(job: Job) -> bool:
    """Whether a job has left its record, be it of a failure."""
    return Path(job.path).exists() and not damage(job.path)


def below_results(job: Job) -> str:
    return str(Path(job.path).relative_to(RESULTS))


def path_of(plan: Plan, document: str) -> str:
    """The file of a document's manifest."""
    return f"{RESULTS}/manifests/{document}-{plan.machine}.json"


def manifest(plan: Plan, document: str, counts: Mapping[str, int] | None = None) -> dict:
    """The manifest of a document; `counts`: processes of the cells that got further ones. Without, it is that of the
    first processes, and training runs are not looked at."""
    records: dict[matrix.Measurement, list[str]] = {}
    seals = []
    for job in filter(there, plan.timings(document, dict(counts or {}))):
        records.setdefault(job.cell, []).append(below_results(job))
        seals.append(seal(job.path))
    runs = {}
    for job in filter(there, [] if counts is None else plan.convergences(document)):
        runs[job.cell] = below_results(job)
        seals.append(seal(job.path))

    def why_not(cell: matrix.Measurement, measured: bool, trained: bool = False) -> dict:
        left_out = matrix.why_not(cell, document, plan.config, trained)
        status, reason = left_out or ((None, "") if measured else (matrix.NOT_RUN, LATER))
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
        "seals": digest_of(
            seals, 16
        ),  # of another measurement of the same name everything is made anew
    }


def is_right(path: str, manifest: Mapping) -> bool:
    """Whether a file says what a manifest has to."""
    if not Path(path).is_file() or damage_of(path):
        return False
    found = read_json(path)
    found.pop("seal", None)
    return found == json.loads(json.dumps(manifest))
