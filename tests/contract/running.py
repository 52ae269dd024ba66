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
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from measurement import compiler_caches, instructions
from plan import environments

POOL, THEANO = ThreadPoolExecutor(os.cpu_count()), ThreadPoolExecutor(1)
CORES = threading.Semaphore(os.cpu_count() or 1)
TEMPORARY = tempfile.TemporaryDirectory(prefix="contract-")  # compilers fill it with gigabytes
# Theano by its operators' Python, which takes 0.4 of the time that compiling a few hundred modules of C does; and by its
# compiler without optimisation, for what has C only.
THEANORC = {kind: Path(TEMPORARY.name, kind) for kind in ("interpreted", "compiled")}
for kind, more in (("interpreted", "linker = py\n"), ("compiled", "")):
    cxx = Path(__file__).with_name("unoptimised_g++")
    THEANORC[kind].write_text(f"[global]\ncxx = {cxx}\n{more}")
GATE = "run_contract.py"
ASKED: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)  # rows by `place_of`

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
    record, python = places
    if not failed(record):
        build([environment])
    assert not failed(record), record.read_text()
    return str(python)


def failed(record: Path) -> bool:
    """Whether an environment was tried to build, and could not be."""
    return record.exists() and json.loads(record.read_text())["status"] != "ok"


def by_theano(arguments: Iterable[str]) -> bool:
    """Whether a process compiles by Theano, by what it is asked for."""
    return any("theano" in each or "lasagne" in each for each in arguments)


def place_of(row: str) -> str:
    """In which of an environment's processes run_contract.py checks a row. Most share one; apart are Keras, which has one
    backend a process, what is held to an instruction set, libraries that may end theirs for want of half precision, what
    replaces functions for all that comes after it, and CTC by Theano, whose operator has C code only: everything else of
    Theano's is interpreted, which takes a third of the time that compiling does."""
    module = row.split()[0].partition(":")[0]
    if held_to(row):
        return "held"
    if module.startswith("keras/") or module.endswith(("keras", "on_cpu", "data-parallel")):
        return module
    if "data_type" in row:
        return "half precision"
    return "compiled" if compiled(row) else ""


def held_to(row: str) -> str | None:
    """The instruction set that it asks for, which libraries are held to before they start."""
    return "avx2" if '"isa": "avx2"' in row else None


def compiled(row: str) -> bool:
    """Whether it is computed by an operator of Theano's that is in C."""
    return row.startswith("lasagne/") and row.endswith(" ctc")


def ask(environment: str, *rows: str) -> None:
    """Have run_contract.py check rows together with others of their environment."""
    for row in rows:
        ASKED[environment, place_of(row)][row] = None


def start_asked() -> None:
    """Begin what was asked for, Theano's processes first, which follow each other."""
    for (environment, _), rows in sorted(ASKED.items(), key=lambda each: not by_theano(each[1])):
        start(environment, GATE, *rows)


@functools.cache
def _started(python: str, script: str, arguments: tuple[str, ...]) -> Future:
    variables = {**os.environ, "PYTHONPATH": "scripts:.", "OMP_NUM_THREADS": "1"}
    for isa in set(map(held_to, arguments)):
        variables |= instructions.switches(isa, variables)
    kind = "compiled" if any(map(compiled, arguments)) else "interpreted"
    variables |= {"THEANORC": str(THEANORC[kind])}
    command = [python, f"tests/contract/{script}", *arguments]
    return (THEANO if by_theano(arguments) else POOL).submit(
        _run, command, dict(variables, **compiler_caches.below(TEMPORARY.name))
    )


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess:
    with CORES:
        return subprocess.run(command, capture_output=True, text=True, env=variables)


def start(environment: str, script: str, *arguments: str) -> None:
    """Begin what a test is going to `run`, where there is a Python for it and its environment could be built."""
    if (places := _places(environment)) and not failed(places[0]):
        _started(interpreter(environment), script, arguments)


def run(environment: str, script: str, *arguments: str) -> dict:
    """What a script of this folder prints, as JSON, in an environment; the same again is not run twice, and rows that were
    asked for together are taken from what their process prints."""
    places = {place_of(row) for row in arguments} if script == GATE else set()
    if places and all(row in ASKED[environment, place_of(row)] for row in arguments):
        found = {}
        for place in places:
            found |= _printed(environment, script, (*ASKED[environment, place],))
        return {row: found[row] for row in arguments}
    return _printed(environment, script, arguments)


def _printed(environment: str, script: str, arguments: tuple[str, ...]) -> dict:
    done = _started(interpreter(environment), script, arguments).result()
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return json.loads(done.stdout.splitlines()[-1])
