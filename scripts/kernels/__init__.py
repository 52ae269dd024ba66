"""Recurrent layers of any cell, as kernels that TVM compiles from ten lines: see README.md.

`template` what is computed and how, `search` finds its parameters, `build` makes libraries that `run` runs;
`variants` are the ways without a template. As the package `recurrent_cells`, `pip install .` gives what is below.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    **dict.fromkeys(("CELLS", "Cell", "CellError", "cell"), "cells"),
    **dict.fromkeys(("sigmoid", "tanh", "exp", "log", "sqrt", "sin", "cos", "softplus"), "cells"),
    **dict.fromkeys(("relu", "absolute", "sign", "maximum", "minimum", "where", "norm"), "cells"),
    **dict.fromkeys(("CompiledCell", "compile_cell", "load_cell"), "compiled"),
    "Recurrent": "module",
    **dict.fromkeys(("SavedLayers", "load"), "saved"),
}


def __getattr__(name: str) -> Any:
    """Each where it is first wanted: PyTorch is for `Recurrent` only, TVM's compiler for what has to be built."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no {name}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_WHERE)
