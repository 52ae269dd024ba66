"""Cells whose sources were generated, for processes of measured environments: packages as `make cell` leaves them, of the examples and
of the six cells that have a step by hand. Where the harness looks them up is replaced by what is generated."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

from measurement import cells, steps
from recurrent_cells.cell_file import load
from recurrent_cells.cells import CELLS as KERNELS
from recurrent_cells.cells import Cell
from recurrent_cells.sources import generate

BY_HAND = {name: name.replace("-", "_") for name in cells.CELLS}
EXAMPLES = {
    path.stem: path for path in sorted(Path("packages/recurrent_cells/examples/cells").glob("*.py"))
}
FILES = {"numpy": "reference"}
# One or two of each structure, for what compiles seconds a cell: without a matrix of h, with vectors, norms, several states,
# second products, heads and matrix states.
SAMPLE = (
    *("sru", "rwkv", "real_gated_lru", "bistable", "multiplicative_integration", "normed_gru"),
    *("janet", "lem", "lru", "hgrn", "mogrifier", "recurrent_highway", "slstm_heads", "mlstm"),
)


def package(folder: str, name: str, one: Cell, framework: str) -> ModuleType:
    """The module that is generated of a cell for a framework, imported from `folder`/own_NAME."""
    place = Path(folder, f"own_{name}")
    place.mkdir(parents=True, exist_ok=True)
    (place / "__init__.py").touch()
    file = FILES.get(framework, framework)
    (place / f"{file}.py").write_text(generate(one, framework, f"{name}.py"))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    sys.modules.pop(f"own_{name}.{file}", None)
    return importlib.import_module(f"own_{name}.{file}")


def registered(folder: str, name: str, framework: str, one: Cell | None = None) -> str:
    """Have the harness know a cell of the examples by its reference and a framework's step; its name there."""
    one = one or load(EXAMPLES[name])
    made = package(folder, name, one, "numpy")
    called = f"own.{name}"
    dict.__setitem__(cells.CELLS, called, cells.Cell(**made.CELL))
    dict.__setitem__(steps.STEPS, called, (made.step, made.gradient))
    if framework in STYLES:
        step(folder, name, one, called, framework)
    else:
        dict.__setitem__(KERNELS, called, one)
    return called


def step(folder: str, name: str, one: Cell, called: str, framework: str) -> None:
    """Put the generated step where a framework's styles look up `called`."""
    table, attribute = STYLES[framework]
    found = getattr(importlib.import_module(f"implementations.{framework}.cells"), table)
    dict.__setitem__(found, called, getattr(package(folder, name, one, framework), attribute))


STYLES = {"pytorch": ("STEPS", "step"), "jax": ("STEPS", "step"), "tensorflow": ("CELLS", "cell")}
