"""A project folder whose records and manifests are made by hand, to tabulate, analyse and render."""

import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from measurement.record import SCHEMA_VERSION, read_json, write_json, write_sealed
from plan import matrix
from plan.configuration import validated
from plan.matrix import Measurement
from reporting import results
from reporting.sections import Tables
from steps import analyse_document, join_tables, render_first_page, render_page, tabulate_records
from tests.conftest import ROOT

BATCHES = 5
GPU = {"name": "A GPU", "driver": "580.95.05", "memory": "143771 MiB"}
MACHINE = {
    "machine": "test-2c-abc123",
    "cores": 2,
    "cpu": {"Architecture": "x86_64", "Model name": "Abacus 9000", "Flags": "avx"},
    "memory_bytes": 2**34,
    "gpus": [],
    "system": "A system",
    "kernel": "1.0",
    "governor": None,
}
Change = Callable[[Measurement, int, dict], None]


@functools.cache
def cells(document: str, device: str = "cpu") -> list[Measurement]:
    """A document's cells on a machine's CPU, or on its GPU."""
    return [cell for cell in matrix.cells_of(document) if cell.device == device]


@functools.cache
def _places(document: str, device: str) -> dict[Measurement, int]:
    return {cell: place for place, cell in enumerate(cells(document, device))}


def on_gpu(found: dict, seconds: float) -> dict:
    """A record as a GPU leaves it; launching takes nine tenths of the time, kernels a half."""
    state = {
        **{"name": "A GPU", "sm_mhz": 1980.0, "memory_mhz": 2619.0, "most_sm_mhz": 1980.0},
        **{"temperature_c": 43.0, "power_w": 212.4, "power_limit_w": 700.0, "held_back_by": []},
        **{"utilisation_percent": 83.0, "memory_used_mib": 5321.0},
    }
    batch = {"launched_s": 0.9 * seconds, "span_s": seconds, "kernel_s": seconds / 2}
    settings = {"threads": 2, "tf32": False, "cudnn": True}
    facts = {"framework": "A framework", "framework_version": "9.8.7", "settings": settings}
    return found | {
        "gpu": {"before": state, "after": state, "batch": batch | {"kernels": 1234}},
        "machine": found["machine"] | {"gpus": [GPU]},
        "memory": {"process_peak_bytes": 2**30, "device_peak_bytes": 2**31},
        "framework": facts | {"build": {"cuda": "13.0", "cudnn": 92000}},
    }


def wall_s(cell: Measurement, process: int, document: str = "stacked-lm") -> float:
    """What a cell was measured at: different for every cell, and for its processes."""
    position = _places(document, cell.device)[cell]
    return (1000 + position) / 1000 + process / 10000


def record(cell: Measurement, process: int, stand_in: bool, document: str) -> dict:
    """A record of status `ok`."""
    seconds = wall_s(cell, process, document)
    errors = {"output": 1e-7} if cell.phase == "forward" else {"gradient:embedding": 2e-7}
    found = {
        "schema_version": SCHEMA_VERSION,
        "parts": {"sources": "01234567"},
        "kind": "time",
        "identity": {
            **{"benchmark": cell.benchmark, "implementation": cell.implementation},
            **{"environment": cell.environment, "phase": cell.phase, "device": cell.device},
            "process": process,
        },
        "status": "ok",
        "reason": "",
        "benchmark": matrix.document(document)["benchmarks"][cell.benchmark],
        "protocol": {"timed_batches": BATCHES},
        "threads": 2,
        "seed": 0,
        "warmup": [3.0],
        "samples": [seconds] * BATCHES,
        "faults": [0] * BATCHES,
        "verification": {"errors": {"loss": 1e-7}, "finished": True, "seconds": 0.5},
        "interference": {"wall_s": 1.0, "own_cpu_s": 2.0, "other_cpu_s": 0.0, "steal_s": 0.0},
        "setup": {"import_s": 1.0, "build_s": 1.0, "first_step_s": 3.0},
        "memory": {"process_peak_bytes": 2**30, "device_peak_bytes": None},
        "framework": {
            **{"framework": "A framework", "framework_version": "9.8.7", "build": {}},
            "settings": {"threads": 2},
        },
        "windows": 309_847,
        "check": {
            "status": "ok",
            "errors": errors,
            "gradient_error": errors.get("gradient:embedding"),
        },
        "environment": {
            **{"environment": cell.environment, "fingerprint": "0123abcd", "builder": "venv"},
            **{"status": "ok", "reason": "", "python": "3.11.7"},
            **{"pins": {"numpy": "2.0"}, "packages": {"numpy": "2.0"}},
        },
        "corpus": {
            **{"source": "stand-in" if stand_in else "a folder", "stand_in": stand_in},
            **{"tokens": {"train": 929_589, "valid": 73_760, "test": 82_430}, "stride": 3},
        },
        "machine": MACHINE,
        "load": {"before": [0, 0, 0], "after": [0, 0, 0]},
        "repository": None,
        "started": "2026-01-01T00:00:00Z",
        "seconds": 10.0,
    }
    return on_gpu(found, seconds) if cell.device == "gpu" else found


def training_record(cell: Measurement, stand_in: bool, document: str) -> dict:
    """A record of one epoch of training; validation perplexities differ in the fourth digit."""
    found = record(cell, 1, stand_in, document)
    for key in ("warmup", "samples", "faults", "interference", "windows"):
        del found[key]
    del found["identity"]["process"]
    own = [each for each in matrix.trained_cells_of(document) if each.device == cell.device]
    off = own.index(cell) / 10000
    curve = [
        {
            **{"batch": batch, "train_perplexity": training},
            **{"valid_perplexity": validation * (1 + off), "train_s": batch / 10},
        }
        for batch, training, validation in ((1000, 400.0, 300.0), (2323, 270.5, 179.5))
    ]
    return found | {
        **{"kind": "train", "curve": curve, "epoch_batches": 2323, "resumed_at": []},
        "weights_sha256": "0123456789abcdef" * 4,
    }


def bad(status: str, reason: str) -> Callable[[dict], None]:
    """Turns an `ok` record into one of another status, which has no samples."""
    lacks = "samples faults verification warmup interference setup memory framework windows"

    def change(found: dict) -> None:
        for key in lacks.split():
            del found[key]
        found.update(status=status, reason=reason)

    return change


def place(cell: Measurement, process: int, machine: str = MACHINE["machine"]) -> str:
    """Where a record lies below a results folder; what reads it knows the name from the manifest only."""
    return f"records/{machine}/{cell.name}-{process}.json"


def training_place(cell: Measurement, machine: str = MACHINE["machine"]) -> str:
    return f"convergence/{machine}/{cell.name}.json"


def project(
    folder: Path,
    change: Change | None = None,
    processes: int = 1,
    stand_in: bool = False,
    document: str = "stacked-lm",
    machine: str = MACHINE["machine"],
    device: str = "cpu",
    benchmarks: Sequence[str] = ("*",),
) -> Path:
    """A project with the repository's config and templates, and a record a process of every cell of a device and some
    benchmarks."""
    for name in ("config", "report", "workflow"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    for cell in cells(document, device):
        if not matrix.takes_part(list(benchmarks), cell.benchmark):
            continue
        for process in range(1, processes + 1):
            found = record(cell, process, stand_in, document)
            found["machine"] = found["machine"] | {"machine": machine}
            if change:
                change(cell, process, found)
            write_sealed(str(folder / "results" / place(cell, process, machine)), found)
    for cell in matrix.trained_cells_of(document):
        if cell.device == device:
            found = training_record(cell, stand_in, document)
            found["machine"] = found["machine"] | {"machine": machine}
            write_sealed(str(folder / "results" / training_place(cell, machine)), found)
    return folder


def configuration(
    document: str, processes: int = 1, devices: tuple[str, ...] = ("cpu",), **overrides: object
) -> dict:
    given = {"documents": [document], "devices": list(devices), "overrides": {document: overrides}}
    given["protocol"] = {"processes": processes, "rounds": BATCHES}
    return json.loads(_validated(json.dumps(given)))


@functools.cache
def _validated(given: str) -> str:
    """Once: every file of config/ is read for it."""
    return json.dumps(validated(json.loads(given)))


def write_manifest(
    folder: Path, document: str, config: dict, machine: str = MACHINE["machine"]
) -> Path:
    """What the rule of the plan writes: the document's cells, their records and why others have none."""
    results_folder = folder / "results"
    how = matrix.protocol_of(config, document)

    def rows(cells: list[Measurement], trained: bool) -> list[dict]:
        found = []
        for cell in cells:
            status, reason = matrix.why_not(cell, document, config, trained=trained) or (None, "")
            names = {key: getattr(cell, key) for key in results.CELL}
            numbers = [] if status else range(1, how["protocol"]["processes"] + 1)
            kept = {"records": [place(cell, number, machine) for number in numbers]}
            if trained:
                kept = {"record": None if status else training_place(cell, machine)}
            found.append({**names, **kept, "status": status, "reason": reason})
        return found

    path = results_folder / results.MANIFESTS / f"{document}-{machine}.json"
    write_json(
        str(path),
        {
            "schema_version": results.MANIFEST_VERSION,
            "document": document,
            "machine": machine,
            "preliminary": how["protocol"]["processes"] == 1,
            "config": config,
            "protocol": how["protocol"],
            "check": how["check"],
            "cells": rows(list(matrix.cells_of(document)), False),
            "training": rows(list(matrix.trained_cells_of(document)), True),
        },
    )
    return path


def _run(module: object, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["script", *map(str, arguments)])
    module.main()


def tabulate(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    processes: int = 1,
    document: str = "stacked-lm",
    also_report: tuple[Path, ...] = (),
    machine: str = MACHINE["machine"],
    **overrides: object,
) -> Path:
    """What the rule tabulate does, in this process; the folder of the document's results."""
    monkeypatch.chdir(folder)
    config = configuration(document, processes, **overrides)
    manifest = write_manifest(folder, document, config, machine)
    own = folder / "results" / "documents" / document
    arguments = ["--cells", own / "cells.parquet", "--about", own / "about.json"]
    also = ["--also", *also_report] if also_report else []
    more = ["--document", document, "--manifest", manifest, *also]
    _run(tabulate_records, monkeypatch, *arguments, *more)
    return own


def analyse(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments, **options) -> Path:
    """What the rules tabulate and analyse do."""
    own = tabulate(folder, monkeypatch, *arguments, **options)
    read = ["--cells", own / "cells.parquet", "--about", own / "about.json"]
    made = ["--sections", own / "sections.json", "--summary", own / "summary.json"]
    figures = folder / "results" / "report" / "figures" / own.name
    _run(analyse_document, monkeypatch, *read, *made, "--figures", figures)
    return own


def render_documents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What the rules of the documents' pages do, in this process; the folders of those that were analysed."""
    monkeypatch.chdir(folder)
    owns = sorted((folder / "results" / "documents").iterdir())
    for own in owns:
        page = folder / "results" / "report" / f"{own.name}.md"
        found = ["--sections", own / "sections.json", "--about", own / "about.json"]
        names = ["--documents", *(each.name for each in owns)]
        _run(render_page, monkeypatch, *found, "--output", page, *names)
    return owns


def render(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Likewise of all pages."""
    owns, results_folder = render_documents(folder, monkeypatch), folder / "results"
    summaries = [own / "summary.json" for own in owns]
    report = results_folder / "report"
    tables = [own / "cells.parquet" for own in owns]
    read = ["--cells", *tables, "--abouts", *(own / "about.json" for own in owns)]
    made = ["--summaries", *summaries, "--folder", report]
    _run(render_first_page, monkeypatch, *read, *made)
    csv = results_folder / "cells.csv"
    _run(join_tables, monkeypatch, "--cells", *tables, "--csv", csv)


def render_machine(folder: Path, monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """What the rules of another machine's pages do, for all documents."""
    monkeypatch.chdir(folder)
    report = folder / "results" / "report" / "machines" / machine
    owns = sorted((folder / "results" / "documents").iterdir())
    of_machine = ["--machine", machine]
    for own in owns:
        (own / machine).mkdir()
        found = ["--sections", own / machine / "sections.json"]
        read = ["--cells", own / "cells.parquet", "--about", own / "about.json"]
        made = ["--summary", own / machine / "summary.json", "--figures"]
        figures = report / "figures" / own.name
        _run(analyse_document, monkeypatch, *read, *of_machine, *found, *made, figures)
        page = ["--output", report / f"{own.name}.md", "--documents", *(o.name for o in owns)]
        _run(render_page, monkeypatch, *found, *read[2:], *of_machine, *page)
    tables = ["--cells", *(own / "cells.parquet" for own in owns)]
    tables += ["--abouts", *(own / "about.json" for own in owns)]
    made = ["--summaries", *(own / machine / "summary.json" for own in owns), "--folder", report]
    _run(render_first_page, monkeypatch, *tables, *of_machine, *made)


def table(folder: Path, document: str = "stacked-lm") -> pd.DataFrame:
    return pd.read_parquet(folder / "results" / "documents" / document / "cells.parquet")


def part(folder: Path, document: str, section: str) -> dict:
    """The data of one section of a document's page."""
    found = read_json(str(folder / "results" / "documents" / document / "sections.json"))
    return next(each["data"] for each in found["parts"] if each["section"] == section)


def row(implementation: str, seconds: float | None, **more: object) -> dict:
    """A row of the table, of training on a CPU, whose three processes lie 1 % apart; without a time it is unsupported."""
    times = [] if seconds is None else [seconds / 1.01, seconds, seconds * 1.01]
    return {
        **{"document": "d", "benchmark": "b", "implementation": implementation},
        **{"environment": "e", "machine": "m", "phase": "training", "device": "cpu"},
        **{"generation": "now", "name": implementation, "label": implementation},
        **{"status": "unsupported" if seconds is None else "ok", "reason": "", "flexibility": None},
        **{"wall_s": seconds, "wall_median_s": seconds, "process_medians_s": times},
        **dict.fromkeys(["words_per_s", "kernel_schedule_s", "kernel_build_s", "interval"]),
    } | more


def tables(rows: Sequence[dict] | pd.DataFrame) -> Tables:
    """What a section is given: these rows, and nothing published."""
    return Tables(pd.DataFrame(rows), pd.DataFrame())


QUIET = {"wall_s": 10.0, "own_cpu_s": 19.0, "other_cpu_s": 0.1, "steal_s": 0.0}


def process(samples: list[float], first_step: float = 1.0, **changes: object) -> dict:
    """A record of one process with what the estimates read."""
    record = {
        "identity": {"device": "cpu"},
        "threads": 2,
        "samples": samples,
        "setup": {"import_s": 0.5, "build_s": 0.25, "first_step_s": first_step},
        "memory": {"process_peak_bytes": 1000, "device_peak_bytes": None},
        "interference": QUIET,
        "machine": {"cores": 2},
        "load": {"before": [1.0, 1.0, 1.0]},
    }
    return record | changes
