"""Whether a version can be used here: its environments are built, and what runs in them is imported."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from measurement.record import read_json
from measurement.supervisor import worker_environment
from plan import environments, matrix
from plan.jobs import RESULTS
from plan.matrix import Measurement
from plan.versions import Side

SCRIPTS = Path(__file__).resolve().parents[1]


class Impossible(Exception):
    """A version cannot be had; the message says why."""

    def __init__(self, told: str, version: str | None = None) -> None:
        super().__init__(told)
        self.version = version


def build(side: Side, name: str) -> str | None:
    """Build one of a version's environments, where it is not yet there. Returns why there is none, if so."""
    job = side.plan.environment(name)
    if job.order["builder"] != "venv":
        return "its interpreter is set in `interpreters`, so pins have no effect"
    if not job.done():
        log = Path(RESULTS, "logs", "environments", f"{job.stem}.txt")
        for file in (log, Path(job.path)):
            file.parent.mkdir(parents=True, exist_ok=True)
        told = ["--job", json.dumps(job.told()), "--log", log, "--output", job.path]
        done = subprocess.run(
            [sys.executable, SCRIPTS, "build_environment", *told], capture_output=True, text=True
        )
        if done.returncode:
            return done.stderr.strip()[-300:]
    record = read_json(job.path)
    if record["status"] != "ok" and not Path(job.order["folder"], "complete").exists():
        shutil.rmtree(job.order["folder"], ignore_errors=True)
    return None if record["status"] == "ok" else record["reason"]


def does_not_import(side: Side, name: str, implementations: Iterable[str]) -> str | None:
    """Why none of an environment's implementations can be imported; None if one can."""
    python, reason = environments.python(side.plan.environment(name).order), None
    for implementation in dict.fromkeys(implementations):
        file = Path(matrix.implementation_file(implementation)).relative_to(matrix.SCRIPTS)
        code = f"import {'.'.join(file.with_suffix('').parts)}"
        variables = worker_environment("check", 1, "cpu")
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=variables)
        if done.returncode == 0:
            return None
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        reason = reason or f"{implementation} cannot be imported: {said[-1][:300]}"
    return reason


def require_usable(side: Side, names: Iterable[str], cells: Sequence[Measurement]) -> None:
    """Build a version's environments and import what runs in them, or say why that cannot be."""
    for name in names:
        own = [cell.implementation for cell in cells if cell.environment == name]
        if own and (problem := build(side, name) or does_not_import(side, name, own)):
            raise Impossible(f"{name}: {problem}", side.version)
