"""Recurrent layers of any cell, as kernels that TVM compiles from ten lines: see README.md.

`template` what is computed and how, `search` finds its parameters, `build` makes libraries that `run` runs;
`variants` are the ways without a template. Cells come from the package `recurrent_cells`.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    **dict.fromkeys(("CELLS", "Cell", "CellError", "cell", "sigmoid", "tanh"), "cells"),
    **dict.fromkeys(("CompiledCell", "compile_cell", "load_cell"), "compiled"),
    "Recurrent": "module",
    **dict.fromkeys(("SavedLayers", "load"), "saved"),
}


def __getattr__(name: str) -> Any:
    """Each where it is first wanted: PyTorch is for `Recurrent` only, TVM's compiler for what has to be built."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__} has no {name}")
    if _WHERE[name] == "cells":
        return getattr(import_module("recurrent_cells"), name)
    try:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise ImportError(f"{name} wants PyTorch: pip install torch") from None


def __dir__() -> list[str]:
    return sorted(_WHERE)
