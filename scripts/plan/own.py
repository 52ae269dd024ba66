"""Cells of somebody's own (`make cell`): where what belongs to one lies. Each has a folder below results/cells: the file as it
was given, what was generated of it, and the document and configuration that its rows are measured by. In a run's copy of
the scripts those modules are the package `own` (plan/copies.py), by which every process finds them."""

from pathlib import Path

from measurement.cells import OWN

FOLDER = Path("results/cells")
FOLDER_OF_SHAPES = Path("results/bumps/shapes")
PACKAGE = Path("scripts/own")
KERNELS = "tvm"  # the framework that takes the file itself
PACKAGED = "recurrent_cells"  # takes it, too
SINGLE = "single-"  # what the names of their benchmarks of one sequence begin with
DOCUMENT = "cell-"  # what the names of their documents begin with
SHAPE_DOCUMENT = "shape-"  # those of shapes of somebody's own (own_shape.py)
FRAMEWORKS = {"iree": "jax"}  # whose generated step a framework takes, where it is another one's


def folder_of(document: str) -> Path:
    """Where the cell of a document lies, if it is one's."""
    return FOLDER / document.removeprefix(DOCUMENT).replace("-", "_")


def document_of(name: str) -> str:
    """`my_cell` -> `cell-my-cell`"""
    return DOCUMENT + name.replace("_", "-")


def documents() -> list[str]:
    """The documents of all cells that are there."""
    return sorted(document_of(path.parent.name) for path in FOLDER.glob("*/document.yaml"))


def module(path: Path) -> Path:
    """Where a file of the package lies in the project."""
    return FOLDER / path.relative_to(PACKAGE)


def name_of(cell: str) -> str:
    """`own.my_cell` -> `my_cell`; of a cell of this project \"\"."""
    return cell.removeprefix(OWN) if cell.startswith(OWN) else ""


def entries(cell: str, implementation: str = KERNELS) -> list[str]:
    """The files of the package that decide what an implementation computes of a cell, and what it is held against; none
    of a cell of this project."""
    if not (name := name_of(cell)):
        return []
    framework = implementation.partition("/")[0]
    found = ["__init__", "reference"]
    if framework in (KERNELS, PACKAGED):
        found += ["kernel", "cell"]
    found.append(FRAMEWORKS.get(framework, framework))
    files = [f"{each}.py" for each in found if (FOLDER / name / f"{each}.py").exists()]
    return [str(PACKAGE / name / file) for file in files]
