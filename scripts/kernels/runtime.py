"""What every way to run a kernel shares."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Layer = Sequence[Array]
"""w_input [K, gates * H], w_recurrent [H, gates * H], bias [sums * H], then the cell's vectors [H]."""

ALIGNMENT = 64
"""Bytes; TVM's compiled functions require it of every argument."""


def set_threads(threads: int) -> None:
    """Threads of TVM's pool. Call before TVM is first imported in the process."""
    os.environ["TVM_NUM_THREADS"] = str(threads)
