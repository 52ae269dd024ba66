"""Processes in measured environments, for all tests that ask for one: as many at once as there are cores.

Most of what they take is importing a framework or compiling, on one core. Nothing here is timed. Those that compile by
Theano follow each other, beside the others: they share what is compiled, whose lock would have one wait for another while
it takes a core's place.
"""

import fcntl
import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from measurement import caches, instructions
from plan import environments

POOL, THEANO = ThreadPoolExecutor(os.cpu_count()), ThreadPoolExecutor(1)
CORES = threading.Semaphore(os.cpu_count() or 1)
TEMPORARY = tempfile.TemporaryDirectory(prefix="contract-")  # compilers fill it with gigabytes
# Theano's compiler without optimisation, which takes 0.6 of the time: a few hundred modules of half a second each.
THEANORC = Path(TEMPORARY.name, "theanorc")
THEANORC.write_text(f"[global]\ncxx = {Path(__file__).with_name('unoptimised_g++')}\n")

# What decides how an environment is had.
DEFAULTS = {
    **{"devices": ["cpu"], "interpreters": {}},
    "environment_folder": yaml.safe_load(Path("config/config.yaml").read_text())[
        "environment_folder"
    ],
}


@functools.cache
def _places(environment: str) -> tuple[Path, Path] | None:
    """(record, interpreter) of an environment as the workflow builds it; None without a Python for it here."""
    has = environments.here(environment, DEFAULTS, conda=False)
    if not has["interpreter"]:
        return None
    folder = Path(has["folder"])
    return Path(f"results/environments/{folder.name}.json"), folder / "bin" / "python"


def build(names: Iterable[str]) -> None:
    """Build the environments that are not there yet, in one run of the workflow's own rule."""
    asked = list(filter(None, map(_places, sorted(set(names)))))
    with open(Path(sys.prefix) / "building.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # files of tests run side by side
        missing = [places for places in asked if not all(map(Path.exists, places))]
        for record, _ in missing:
            record.unlink(missing_ok=True)
        if missing:
            command = [
                Path(sys.executable).parent / "snakemake",
                "--cores",
                "all",
                "--quiet",
                "all",
                "--config",
                f"devices={DEFAULTS['devices']}",  # also beside a GPU, which has environments of its own
                f"environment_folder={DEFAULTS['environment_folder']}",
            ]
            subprocess.run([*command, "--", *(record for record, _ in missing)], check=True)


def has_python(environment: str) -> bool:
    """Whether there is an interpreter for an environment on this machine."""
    return _places(environment) is not None


def interpreter(environment: str) -> str:
    """The environment's interpreter, built if it is not there yet."""
    places = _places(environment)
    if not places:
        python = environments.load(f"envs/{environment}.yaml").python
        pytest.skip(f"no Python {python} on this machine")
    build([environment])
    record, python = places
    assert json.loads(record.read_text())["status"] == "ok", record.read_text()
    return str(python)


def by_theano(arguments: Iterable[str]) -> bool:
    """Whether a process compiles by Theano, by what it is asked for."""
    return any("theano" in each or "lasagne" in each for each in arguments)


@functools.cache
def _started(python: str, script: str, arguments: tuple[str, ...], isa: str | None) -> Future:
    variables = {**os.environ, "PYTHONPATH": "scripts:.", "OMP_NUM_THREADS": "1"}
    variables |= instructions.switches(isa, variables) | {"THEANORC": str(THEANORC)}
    command = [python, f"tests/contract/{script}", *arguments]
    return (THEANO if by_theano(arguments) else POOL).submit(
        _run, command, dict(variables, **caches.below(TEMPORARY.name))
    )


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess:
    with CORES:
        return subprocess.run(command, capture_output=True, text=True, env=variables)


def start(environment: str, script: str, *arguments: str) -> None:
    """Begin what a test is going to `run`, where there is a Python for it."""
    if _places(environment):
        _started(interpreter(environment), script, arguments, None)


def run(environment: str, script: str, *arguments: str, isa: str | None = None) -> dict:
    """What a script of this folder prints, as JSON, in an environment, held to an instruction set where one is given; the
    same again is not run twice."""
    done = _started(interpreter(environment), script, arguments, isa).result()
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
