"""A cell's step as source text of each framework's operators, and as NumPy's with its gradient, as a person could have
written it: made from the cell's graph, with its author's names."""

from __future__ import annotations

from ..cells import found_cell
from ..cells.language import Cell, CellError
from . import jax_source, numpy_source, pytorch_source, tensorflow_source

_WRITERS = {
    "numpy": numpy_source.written,
    "pytorch": pytorch_source.written,
    "tensorflow": tensorflow_source.written,
    "jax": jax_source.written,
}

FRAMEWORKS = tuple(_WRITERS)


def generate(cell: Cell | str, framework: str, origin: str) -> str:
    """Generate a cell's step as the source of a Python module that imports only its framework.

    Parameters
    ----------
    cell:
        The cell, not projected, or the name of a predefined one.
    framework:
        `"pytorch"`, `"tensorflow"` or `"jax"`: one step of basic operators. `"numpy"`: `step(sums, vectors, states)`, which
        returns the new states and a tape, `gradient(tape, *d_states)`, which returns the gradients of sums, vectors and states,
        and `CELL`, a dictionary that describes the cell.
    origin:
        Name of the cell's file, for the docstring.

    Raises
    ------
    ValueError
        If the framework is unknown.
    CellError
        If the cell is projected.
    """
    if framework not in _WRITERS:
        raise ValueError(f"no sources of {framework!r}; there are {', '.join(FRAMEWORKS)}")
    cell = found_cell(cell, "generate")
    if cell.projected:
        raise CellError(f"cell {cell.name}: a projected output has no step of operators here")
    return _WRITERS[framework](cell, origin)
