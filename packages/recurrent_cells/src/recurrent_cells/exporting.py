"""`Recurrent.export_c`: the weights and what the files are tested by."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from .codegen import export as files


def export(layer: Any, folder: str | os.PathLike[str]) -> None:
    """Write the layers as C files."""
    weights = [[one.detach() for one in layer._weights(end)] for end in layer._ends()]
    for own in weights:
        for one in own:
            if one.dtype != torch.float32 or one.is_meta:
                told = "on meta" if one.is_meta else str(one.dtype)
                raise ValueError(f"export_c: a parameter is {told}, not torch.float32: .float()")
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
    files.write(Path(folder), layers, expected.numpy())
