"""Built libraries on disk, each built once: known by cell, shape, machine, TVM's version and the code that made it.

Processes share them: one builds under a lock, a finished folder appears as a whole, a damaged one is built anew.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from recurrent_cells.cells import Cell
from recurrent_cells.graph import graph_digest

from .spec import KernelSpec
from .target import cpu_target

VARIABLE = "RECURRENT_CELLS_CACHE"
INFERENCE, TRAINING = "template", "training"
_SOURCES = (
    "recurrent_cells/cells",
    "kernels/template",
    "kernels/search/space.py",
    "kernels/build.py",
    "kernels/library.py",
    "kernels/spec.py",
    "kernels/target.py",
)


def cache_folder() -> Path:
    """$RECURRENT_CELLS_CACHE, or recurrent-cells in the user's cache folder."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recurrent-cells"


@functools.cache
def _code() -> str:
    """A digest of what decides how a kernel comes out, but of the cell and its shape."""
    here, digest = Path(__file__).parents[1], hashlib.sha256()
    for name in _SOURCES:
        place = here / name
        for source in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{source.relative_to(here)}\0".encode() + source.read_bytes())
    return digest.hexdigest()


def library(cell: Cell, spec: KernelSpec, kind: str) -> Path:
    """The folder with kernel.so and kernel.json of a cell's layers for INFERENCE or TRAINING; built if it is not there."""
    target = cpu_target(spec.threads)
    versions = [version(name) for name in ("apache-tvm", "apache-tvm-ffi")]
    identity = kind, asdict(spec), graph_digest(cell), sorted(target.items()), versions, _code()
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]

    def make(folder: Path) -> None:
        _build(cell, spec, kind, folder)

    return stored(f"{spec.name}-{kind}-{digest}", "kernel.so", make)


def stored(name: str, checked: str, make: Callable[[Path], None]) -> Path:
    """The cache's folder of this name; where it is missing or its file `checked` is not what was made, make(folder) fills it."""
    root = cache_folder()
    place = root / name
    if _whole(place, checked):
        return place
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise RuntimeError(f"no kernels can be kept in {root}: {error}; set {VARIABLE}") from None
    with _locked(root / f"{name}.lock"):
        if _whole(place, checked):
            return place
        shutil.rmtree(place, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=root))
        try:
            make(made)
            (made / "digest").write_text(_digest(made / checked))
            made.rename(place)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return place


def _build(cell: Cell, spec: KernelSpec, kind: str, folder: Path) -> None:
    if not any(map(shutil.which, ("g++", "clang++"))):
        raise RuntimeError(
            f"{spec.name} is not built yet, and linking it wants g++ or clang++ on PATH"
        )
    from .build import build_template, build_training
    from .search.space import default_schedule

    target = cpu_target(spec.threads)
    schedule = default_schedule(spec, target, cell)
    if kind == TRAINING:
        build_training(spec, schedule, target, folder, cell, graph_digest(cell))
    else:
        build_template(spec, schedule, target, folder, cell=cell)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _whole(place: Path, checked: str) -> bool:
    try:
        return (place / "digest").read_text() == _digest(place / checked)
    except OSError:
        return False


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Held by one process at a time; it goes with the process."""
    with open(file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def metadata(folder: Path) -> dict:
    """What kernel.json holds."""
    return json.loads((folder / "kernel.json").read_text())
