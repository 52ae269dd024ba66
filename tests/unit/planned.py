"""Plans of the repository's own matrix, in an empty folder: nothing is done yet."""

import sys
from pathlib import Path

import pytest
import yaml

from plan.configuration import merged
from plan.jobs import Job
from plan.planner import Plan
from tests.conftest import ROOT

DOCUMENTS = ["stacked-lm", "tvm-lstm", "cudnn-lstm-ptb"]
TRIALS = {"template-tuned": 20, "default-rules": 20, "default-rules-gpu": 20}


def empty_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository without results, as working folder."""
    for name in ("config", "envs", "scripts", "workflow"):
        (folder / name).symlink_to(ROOT / name)
    monkeypatch.chdir(folder)


def config(**changes: object) -> dict:
    """The published configuration for this machine's CPU without overrides, and with these changes."""
    settled = yaml.safe_load((ROOT / "config/config.yaml").read_text()) | {
        "documents": DOCUMENTS,
        "devices": ["cpu"],
        "machine": "here",
        "overrides": {},
        # Nothing is built and nothing looked for.
        "interpreters": {file.stem: sys.executable for file in (ROOT / "envs").glob("*.yaml")},
    }
    fixed = {"protocol": {"threads": 2, "processes": 2}, "kernels": {"trials": TRIALS}}
    return merged(merged(settled, fixed), changes)


def all_jobs(plan: Plan) -> dict[tuple[str, str], Job]:
    """{(kind, name): job} of all that a plan asks for, with what it needs."""
    found: dict[tuple[str, str], Job] = {}
    queue: list[Job] = []
    for document in plan.config["documents"]:
        queue += [*plan.timings(document), *plan.convergences(document)]
    while queue:
        job = queue.pop()
        if (job.kind, job.name) not in found:
            found[job.kind, job.name] = job
            queue.extend(job.needs)
    return found
