"""What a document's report is made of on this machine: its manifest, which names every cell with its records, as far
as they are there. `planned` says what may stand in it, once a run; `filled` is a function of that and of the records, so
that a manifest that is there can be held against what it has to say."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from measurement.record import damage as damage_of
from measurement.record import read_json
from plan import matrix
from plan.files import damage, seal
from plan.jobs import MANIFEST_VERSION, RESULTS, Job, digest_of
from plan.planner import Plan

PLANNED = f"{RESULTS}/plan.json"  # {manifest: what may stand in it} of the last run
NOT_YET = "not measured yet when the records were listed"
LATER = f"{NOT_YET}; run the same command to continue"  # earlier versions end differently


def there(record: str) -> bool:
    """Whether a job has left its record (a path below results/), be it of a failure."""
    path = f"{RESULTS}/{record}"
    return Path(path).exists() and not damage(path)


def path_of(plan: Plan, document: str) -> str:
    """The file of a document's manifest."""
    return f"{RESULTS}/manifests/{document}-{plan.machine}.json"


def _records(jobs: Iterable[Job]) -> dict[matrix.Measurement, list[str]]:
    """{cell: the records of its jobs, below results/}."""
    found = defaultdict(list)
    for job in jobs:
        found[job.cell].append(str(Path(job.path).relative_to(RESULTS)))
    return found


def planned(plan: Plan, document: str, timings: Iterable[Job], runs: Iterable[Job]) -> dict:
    """The manifest of a document as if all these timings and training runs had left their records."""
    timed, trained = _records(timings), _records(runs)

    def why_not(cell: matrix.Measurement, trained: bool = False) -> dict:
        left_out = matrix.why_not(cell, document, plan.config, trained)
        return dict(zip(("status", "reason"), left_out or (None, ""), strict=True))

    settings = plan.settings(document)
    return {
        "schema_version": MANIFEST_VERSION,
        "document": document,
        "machine": plan.machine,
        "preliminary": plan.config["preliminary"],
        "config": plan.config,
        "protocol": settings["protocol"],
        "check": settings["check"],
        "cells": [
            asdict(cell) | {"records": timed.get(cell, [])} | why_not(cell)
            for cell in matrix.cells_of(document)
        ],
        "training": [
            asdict(cell) | {"record": next(iter(trained.get(cell, [])), None)} | why_not(cell, True)
            for cell in matrix.trained_cells_of(document)
        ],
    }


def filled(planned: Mapping) -> dict:
    """A manifest that was planned, with those of its records that are there."""

    def measured(entry: dict, name: str, found: object) -> dict:
        missing = {} if found or entry["status"] else {"status": matrix.NOT_RUN, "reason": LATER}
        return entry | {name: found} | missing

    cells = [
        measured(entry, "records", list(filter(there, entry["records"])))
        for entry in planned["cells"]
    ]
    training = [
        measured(entry, "record", next(filter(there, filter(None, [entry["record"]])), None))
        for entry in planned["training"]
    ]
    records = [record for entry in cells for record in entry["records"]]
    records += [entry["record"] for entry in training if entry["record"]]
    # Of another measurement of the same name everything is made anew.
    seals = digest_of([seal(f"{RESULTS}/{record}") for record in records], 16)
    return {**planned, "cells": cells, "training": training, "seals": seals}


def manifest(plan: Plan, document: str, counts: dict[str, int]) -> dict:
    """The manifest of a document as it is now; counts: processes of the cells that got further ones."""
    return filled(
        planned(plan, document, plan.timings(document, counts), plan.convergences(document))
    )


def is_right(path: str, manifest: Mapping) -> bool:
    """Whether a file says what a manifest has to."""
    if not Path(path).is_file() or damage_of(path):
        return False
    found = read_json(path)
    found.pop("seal", None)
    return found == json.loads(json.dumps(manifest))
