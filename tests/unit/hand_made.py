"""A project folder whose records are made by hand, to collect and render."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import collect_records
import render_report
from measurement.record import SCHEMA_VERSION, write_json
from plan import configuration, matrix
from plan.matrix import Cell
from reporting import results
from tests.conftest import ROOT

BATCHES = 5
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
Change = Callable[[Cell, int, dict], None]


def cells(document: str) -> list[Cell]:
    """A document's cells on a machine without a GPU."""
    return [cell for cell in matrix.cells_of(document) if cell.device == "cpu"]


def wall_s(cell: Cell, process: int, document: str = "stacked-lm") -> float:
    """What a cell was measured at: different for every cell, and for its processes."""
    position = cells(document).index(cell)
    return (1000 + position) / 1000 + process / 10000


def record(cell: Cell, process: int, stand_in: bool, document: str) -> dict:
    """A record of status `ok`."""
    seconds = wall_s(cell, process, document)
    errors = {"output": 1e-7} if cell.phase == "forward" else {"gradient:embedding": 2e-7}
    return {
        "schema_version": SCHEMA_VERSION,
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


def training_record(cell: Cell, stand_in: bool, document: str) -> dict:
    """A record of one epoch of training; validation perplexities differ in the fourth digit."""
    found = record(cell, 1, stand_in, document)
    for key in ("warmup", "samples", "faults", "interference", "windows"):
        del found[key]
    del found["identity"]["process"]
    own = [each for each in matrix.trained_cells_of(document) if each.device == "cpu"]
    off = own.index(cell) / 10000
    points = zip((1000, 2323), (400.0, 270.5), (300.0, 179.5), strict=True)
    curve = [
        {
            **{"batch": batch, "train_perplexity": training},
            **{"valid_perplexity": validation * (1 + off), "train_s": batch / 10},
        }
        for batch, training, validation in points
    ]
    return found | {
        **{"kind": "train", "curve": curve, "epoch_batches": 2323, "resumed_at": []},
        "weights_sha256": "0123456789abcdef" * 4,
    }


def bad(status: str, reason: str) -> Callable[[dict], None]:
    """Turns an `ok` record into one of another status, which has no samples."""

    def change(found: dict) -> None:
        for key in ("samples", "warmup", "interference", "setup", "memory", "framework", "windows"):
            del found[key]
        found.update(status=status, reason=reason)

    return change


def project(
    folder: Path,
    change: Change | None = None,
    processes: int = 1,
    stand_in: bool = False,
    document: str = "stacked-lm",
) -> Path:
    """A project with the repository's config and templates, and a record a process of every CPU cell."""
    for name in ("config", "report", "workflow"):
        (folder / name).symlink_to(ROOT / name)
    for cell in cells(document):
        for process in range(1, processes + 1):
            found = record(cell, process, stand_in, document)
            if change:
                change(cell, process, found)
            write_json(str(folder / cell.record(process)), found)
    for cell in matrix.trained_cells_of(document):
        if cell.device == "cpu":
            found = training_record(cell, stand_in, document)
            write_json(str(folder / cell.training_record), found)
    return folder


def collect(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    processes: int = 1,
    document: str = "stacked-lm",
    also_report: tuple[Path, ...] = (),
    **overrides: object,
) -> None:
    """What the rule collect_records does, in this process."""
    monkeypatch.chdir(folder)
    protocol = {"processes": processes, "timed_batches": BATCHES}
    config = configuration.validated(
        {"documents": [document], "devices": ["cpu"], "protocol": protocol}
        | {"overrides": {document: overrides}, "also_report": list(map(str, also_report))}
    )
    arguments = ["--config", json.dumps(config), "--csv", "results/cells.csv"]
    arguments += ["--parquet", "results/cells.parquet", "--context", "results/context.json"]
    arguments += ["--records", "results/records.zip"]
    monkeypatch.setattr("sys.argv", ["collect_records.py", *arguments])
    collect_records.main()


def repack(folder: Path, change: Callable[[Cell, dict], bool | None]) -> Path:
    """Change the records of a results folder where it is read, in records.zip; those for which False is returned go."""
    archive = folder / results.ARCHIVE
    with zipfile.ZipFile(archive) as packed:
        records = {name: json.loads(packed.read(name)) for name in packed.namelist()}
    with zipfile.ZipFile(archive, "w") as packed:
        for name, found in records.items():
            if change(results.cell_of(found), found) is not False:
                packed.writestr(name, json.dumps(found))
    return folder


def render(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rule render_report does, in this process."""
    monkeypatch.chdir(folder)
    arguments = ["--cells", "results/cells.parquet", "--context", "results/context.json"]
    arguments += ["--folder", "results/report"]
    monkeypatch.setattr("sys.argv", ["render_report.py", *arguments])
    render_report.main()
