"""Layers of a cell as a function of PyTorch's, on its own tensors (DLPack). Imported where PyTorch is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import tvm_ffi

from .cells.derivative import gradient_name
from .runtime import ALIGNMENT
from .train import TrainingRunner


def apply(runner: TrainingRunner, x: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """y [T, B, H] of x [T, B, K] and all layers' weights."""
    return _Layers.apply(runner, x, *weights)


def _shared(value: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A tensor that a kernel can take in this shape, whose last axis may be padded by zeros: itself, or a copy."""
    value = value.detach()
    if value.shape[-1] != shape[-1]:
        value = torch.nn.functional.pad(value, (0, shape[-1] - value.shape[-1]))
    value = value.contiguous()
    return value if value.data_ptr() % ALIGNMENT == 0 else value.clone()


class _Layers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, runner: TrainingRunner, x: torch.Tensor, *weights: torch.Tensor) -> Any:
        spec, cell, functions = runner.spec, runner.cell, runner.metadata["functions"]
        each = 3 + len(cell.vectors) + cell.projected
        kept = []
        for number in range(spec.depth):
            suffix = "_rest" if number else "_first"
            own = weights[number * each : (number + 1) * each]
            packing, passing = functions["pack" + suffix], functions["forward" + suffix]
            tensors = {
                name: _shared(value, packing[name])
                for name, value in zip(("w_input", "w_recurrent", "w_bias"), own, strict=False)
            }
            if cell.vectors:
                tensors["w_vectors"] = torch.stack(own[3 : 3 + len(cell.vectors)]).detach()
            if cell.projected:
                tensors["w_projection"] = _shared(own[-1], packing["w_projection"])
            tensors["x"] = _shared(x, passing["x"])
            for name, shape in {**packing, **passing}.items():
                if name not in tensors:
                    tensors[name] = torch.empty(shape)
            tensors["states"][0].zero_()
            for name in cell.states[1:]:
                tensors[name].zero_()
            for name, shapes in (("pack", packing), ("forward", passing)):
                _call(runner, name + suffix, shapes, tensors)
            kept.append(tensors)
            x = tensors["states"][1:]
        ctx.runner, ctx.kept = runner, kept
        return x[..., : spec.output_size]

    @staticmethod
    def backward(ctx: Any, d_y: torch.Tensor) -> Any:
        if ctx.kept is None:
            raise RuntimeError("a forward pass can be gone backward once: its values are used up")
        runner, kept = ctx.runner, ctx.kept
        ctx.kept = None
        spec, cell, functions = runner.spec, runner.cell, runner.metadata["functions"]
        hidden = spec.hidden_size
        found: list[torch.Tensor] = []
        for number in reversed(range(spec.depth)):
            suffix, tensors = "_rest" if number else "_first", kept.pop()
            passing, summing = functions["backward" + suffix], functions["gradients" + suffix]
            tensors["dy"] = _shared(d_y, passing["dy"])
            for name, shape in {**passing, **summing}.items():
                if name not in tensors:
                    tensors[name] = torch.empty(shape)
            for name in cell.states:
                tensors[gradient_name(name)].zero_()
            for name, shapes in (("backward", passing), ("gradients", summing)):
                _call(runner, name + suffix, shapes, tensors)
            own = [tensors[name][..., :hidden].flatten(1) for name in ("d_input", "d_recurrent")]
            own.append(tensors["d_bias"][:, :hidden].flatten())
            if cell.vectors:
                own += tensors["d_vectors"][:, :hidden].unbind()
            if cell.projected:
                own.append(tensors["d_projection"][:, : spec.output_size])
            found = own + found
            d_y = tensors["dx"]
        return None, d_y[..., : spec.input_size], *found


def _call(
    runner: TrainingRunner, name: str, shapes: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    runner.module[name](*(tvm_ffi.from_dlpack(tensors[key]) for key in shapes))
