"""Layers as C files of their own: `cell.c`, `cell.h`, `weights.bin`, and `test.c`, which compares them with the layer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..cells.language import Cell
from .source import SHARED, cell_source

STEPS, BATCH, SHOWN = 5, 3, 8
"""Of the test: steps, rows, and values of each row's output that are compared."""


class Layers(NamedTuple):
    """Layers in one direction or two; `weights`: of each layer and direction, in the kernel's order."""

    cell: Cell
    inputs: int
    hidden: int
    outputs: int
    layers: int
    directions: int
    weights: Sequence[Sequence[np.ndarray]]


def test_input(inputs: int) -> np.ndarray:
    """x of the test [STEPS, BATCH, inputs], as test.c draws it."""
    drawn, values = 1, []
    for _ in range(STEPS * BATCH * inputs):
        drawn = (drawn * 1664525 + 1013904223) % 2**32
        values.append((drawn >> 8) / 2**24 - 0.5)
    return np.array(values, np.float32).reshape(STEPS, BATCH, inputs)


def write(folder: Path, prefix: str, layers: Layers, expected: np.ndarray) -> None:
    """Write the files.

    Parameters
    ----------
    prefix:
        What files' and functions' names begin with, before `cell`.
    expected:
        y [STEPS, BATCH, outputs * directions] of `test_input`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    words = _words(layers, expected)
    flat = [one.astype("<f4").ravel() for own in layers.weights for one in own]
    texts = {"cell.c": _source(layers)}
    texts |= {file: _text(file).format(**words) for file in ("cell.h", "test.c")}
    files = {
        _prefixed(file, prefix): _prefixed(text, prefix).encode() for file, text in texts.items()
    }
    files[_prefixed("weights.bin", prefix)] = np.concatenate(flat).tobytes()
    for file, content in files.items():
        made = folder / f".{file}.{os.getpid()}"
        made.write_bytes(content)
        os.replace(made, folder / file)


def _prefixed(text: str, prefix: str) -> str:
    if not prefix:
        return text
    text = re.sub(r"\b(cell(?=_|\b)|weights\.bin|test\.c\b)", rf"{prefix}_\1", text)
    return re.sub(r"\bCELL(?=_)", f"{prefix.upper()}_CELL", text)


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text()


def _words(layers: Layers, expected: np.ndarray) -> Mapping[str, object]:
    cell, count, ways = layers.cell, layers.layers, layers.directions
    shown = expected[-1, :, :SHOWN]
    rows = [", ".join(f"{value:.9g}" for value in row) for row in shown]
    sizes = dict(zip(cell.states, cell.state_shapes(layers.hidden, layers.outputs), strict=True))
    names = (*cell.vector_states, *cell.squares)
    shapes = [
        f"{name} [{count * ways}][batch]" + "".join(f"[{size}]" for size in sizes[name])
        for name in names
    ]
    start = ", ".join(f"{cell.start(name):g}" for name in names)
    both = ", two directions" if ways == 2 else ""
    return {
        "title": f"{count} layer{'s' * (count > 1)} of {cell.name}, {layers.inputs} inputs, {layers.hidden} units{both}.",
        **{"inputs": layers.inputs, "outputs": layers.outputs * ways, "states": len(cell.states)},
        **{"steps": STEPS, "batch": BATCH, "shown": shown.shape[1]},
        "shapes": ", ".join(shapes) + (": layers by directions" if ways == 2 else ""),
        "start": start,
        "expected": ",\n".join(f"  {{{row}}}" for row in rows),
        "stream": "" if ways == 2 else _text("stream.h"),
        "test_stream": "" if ways == 2 else _text("test_stream.c"),
    }


def _source(layers: Layers) -> str:
    numbers = {"LAYERS": layers.layers, "DIRECTIONS": layers.directions, "HIDDEN": layers.hidden}
    sizes = ",\n".join(
        "  {" + ", ".join(str(one.size) for one in own) + "}" for own in layers.weights
    )
    facts = [
        *(f"#define {name} {value}" for name, value in numbers.items()),
        "/* Floats of each weight, of each layer and direction, in the order of weights.bin */",
        f"static const size_t SIZES[LAYERS * DIRECTIONS][WEIGHTS] = {{\n{sizes}\n}};",
    ]
    shared = [_text(name) for name in SHARED if name not in ("tiles.h", "backward.c")]
    # What only the library has, which Python calls, what computes gradients, and tiles of bfloat16.
    shared = [
        re.sub(
            r"^#if (LIBRARY|TRAINING|TILES)\n.*?^#endif /\* \1 \*/\n", "", one, flags=re.S | re.M
        )
        for one in shared
    ]
    own = cell_source(layers.cell, training=False)
    parts = ['#include "cell.h"\n', "#define HALF 0", *shared[:2], own, *shared[2:], *facts]
    text = "\n".join([*parts, _text("export.c")])
    return re.sub(r"^void (?=(pack|forward)\()", "static void ", text, flags=re.M)
