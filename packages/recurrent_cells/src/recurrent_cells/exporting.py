"""`Recurrent.export_c`: the weights and what the files are tested by."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import torch

from .codegen import export as files


def export(layer: Any, folder: str | os.PathLike[str], prefix: str) -> None:
    """Write the layers as C files."""
    if not isinstance(prefix, str) or not re.fullmatch("([a-z][a-z0-9_]{0,99})?", prefix):
        told = "a lowercase letter and then up to 99 lowercase letters, digits and _"
        raise ValueError(f"export_c: prefix must be {told}, not {prefix!r}")
    with torch.autocast("cpu", enabled=False):
        weights, (kind, meta) = layer._weights()
    if kind != torch.float32 or meta:
        told = "on meta" if meta else f"{kind}, not torch.float32: .float()"
        raise ValueError(f"export_c: the parameters are {told}")
    weights = [[one.detach() for one in own] for own in weights]
    if not all(one.isfinite().all() for own in weights for one in own):
        raise ValueError("export_c: the parameters have values that are not finite")
    x = torch.from_numpy(files.test_input(layer.input_size))
    training = layer.training
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        layer.eval()  # without dropout
        y = layer(x.transpose(0, 1) if layer.batch_first else x)[0]
        layer.train(training)
    expected = y.transpose(0, 1) if layer.batch_first else y
    layers = files.Layers(
        layer.cell,
        layer.input_size,
        layer.hidden_size,
        layer.output_size,
        layer.num_layers,
        1 + layer.bidirectional,
        [[one.numpy() for one in own] for own in weights],
    )
    files.write(Path(folder), prefix, layers, expected.numpy())
