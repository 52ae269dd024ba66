"""The projects that faults are tried on, each small and measured in seconds, the last two in real frameworks."""

import os
from pathlib import Path

from measurement import machine
from tests.contract.running import interpreter
from tests.tiny import BENCHMARK, CARRIED
from tests.workflow.conftest import Project, implementation, make_project, manifest

from .trial import REPORT
from .verdict import Lab

LAYER = {"features": 16, "hidden": 16, "layers": 1, "length": 3, "batch": 4}


def plain(
    root: Path, *entries: dict, environment: str | None = None, **document: object
) -> Project:
    """A project with some implementations, of an environment that a cell needs, and no claims."""
    root.mkdir()
    project = make_project(root)
    project.targets = (manifest(),)
    project.implement(*entries)
    project.configure("config/documents/tiny.yaml", **document)
    # A second of batches a process, so that a moment within them can be met.
    project.set_protocol(rounds=12, most_rounds=12, look_s=0.001, most_s=None)
    if environment:
        named = {environment: os.path.abspath(interpreter(environment))}
        project.settings(interpreters=project.setting("interpreters") | named)
    return project


def cells(root: Path) -> Lab:
    """Two implementations; a trial's run checks and times one of them, whose batches take 50 ms."""
    entries = [implementation("faulty", "plain"), implementation("other", "second")]
    missing = ("records/**/faulty/*", "checks/**/faulty/*", "manifests/*")
    return Lab(plain(root, *entries), *missing)


def pages(root: Path) -> Lab:
    """All that a report consists of, of cells whose precision was judged; nothing is missing."""
    entries = [implementation("loop", "plain"), implementation("other", "second")]
    project = plain(root, *entries)
    project.targets = ()
    # None is added: of a list made anew, another one might be asked for.
    project.set_protocol(processes=3, most_processes=4, target_interval=None, further_s=0)
    project.set_protocol(rounds=2, most_rounds=2)
    return Lab(project, command=REPORT)


def training(root: Path) -> Lab:
    """A training run of three seconds, with checkpoints."""
    project = plain(
        root,
        implementation("faulty", "plain"),
        phases=["training"],
        benchmarks={"tiny-lm": BENCHMARK | CARRIED},
        training={
            "benchmark": "tiny-lm",
            "points": [{"batch": 20, "within": 1e-9}],
            "implementations": ["plain/*"],
        },
    )
    project.settings(training={"batches": 60, "checkpoint_batches": 5})
    return Lab(project, "convergence/**/*", "manifests/*")


def parallel(root: Path) -> Lab:
    """PyTorch's two workers on one CPU."""
    entry = implementation("other", "pytorch") | {
        **{"implementation": "pytorch/data-parallel", "phases": ["training"]},
        "workers": {"count": 2, "of": {"cpu": "plain/other", "gpu": "plain/other"}},
    }
    large = BENCHMARK | CARRIED | {"batch": 4, "hidden": 64}
    project = plain(
        root,
        entry,
        implementation("other", "second"),
        environment="pytorch",
        phases=["training"],
        benchmarks={"tiny-lm": large},
    )
    project.set_protocol(look_s=0.1)
    return Lab(project, "records/**/data-parallel/*", "manifests/*")


def kernels(root: Path) -> Lab:
    """A tuned kernel of one small layer; a trial's run builds and times it, with its tuning or without."""
    entry = implementation("other", "tvm") | {
        **{"implementation": "tvm/template-tuned", "kernel": "template-tuned"},
        **{"benchmarks": ["layer-small"], "devices": ["cpu"], "phases": ["forward"]},
    }
    project = plain(root, entry, environment="tvm", benchmarks={"layer-small": LAYER})
    project.settings(kernels={"trials": {"template-tuned": 4}, "build_limit_s": 60})
    assert machine.facts()["machine"] in project.targets[0]
    return Lab(project, "records/**/*", "manifests/*")


LABS = {
    "cells": cells,
    "pages": pages,
    "training": training,
    "parallel": parallel,
    "kernels": kernels,
}
