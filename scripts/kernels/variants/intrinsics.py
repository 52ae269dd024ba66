"""MetaSchedule without the import of every architecture's tensor intrinsics (22 s)."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import tvm.s_tir

_PACKAGE = "tvm.s_tir.tensor_intrin"


def import_only_x86_intrinsics() -> None:
    """Put a package in the place of tvm.s_tir.tensor_intrin that loads x86's intrinsics only.

    MetaSchedule imports the whole package in each tuning context and each worker. What takes
    long there is parsing the scripts of CUDA, ROCm, Hexagon and others. x86's are few, and the
    default rules of an AVX-512 target look for them by name.
    """
    if _PACKAGE in sys.modules:
        return
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [str(Path(tvm.s_tir.__file__).with_name("tensor_intrin"))]
    sys.modules[_PACKAGE] = package
    tvm.s_tir.tensor_intrin = package
    importlib.import_module(f"{_PACKAGE}.x86")
