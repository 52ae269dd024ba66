"""A cell's step as source text of each framework's operators, and as NumPy's with its gradient, as a person could have
written it: made from the cell's graph, with its author's names."""

from __future__ import annotations

from ..cells.language import Cell, CellError
from . import jax_source, numpy_source, pytorch_source, tensorflow_source

_WRITERS = {
    "numpy": numpy_source.written,
    "pytorch": pytorch_source.written,
    "tensorflow": tensorflow_source.written,
    "jax": jax_source.written,
}

FRAMEWORKS = tuple(_WRITERS)


def generate(cell: Cell, framework: str, origin: str) -> str:
    """The module's text. origin: the file that the cell was written in, for the docstring.

    pytorch, jax, tensorflow: one step of operators. numpy: `step(sums, vectors, states)
    -> (new states, tape)` and `gradient(tape, *d_states) -> (d_sums, d_vectors, d_states)`, sums in the order of
    `cell.declared_sums`, and `CELL`, the cell's facts as a dictionary. Each module imports its framework only.
    """
    if framework not in _WRITERS:
        raise ValueError(f"no sources of {framework!r}; there are {', '.join(FRAMEWORKS)}")
    if cell.projected:
        raise CellError(f"cell {cell.name}: a projected output has no step of operators here")
    return _WRITERS[framework](cell, origin)
