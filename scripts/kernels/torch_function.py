"""Layers of a cell as a function of PyTorch's, on its own tensors (DLPack). Imported where PyTorch is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import tvm_ffi

from recurrent_cells.cells.derivative import gradient_name

from .arguments import Sizes, check_shape, check_weights, weight_names
from .memory import own_tensor, shared
from .runtime import Array
from .template.layout import state_sizes
from .train import TrainingRunner


def apply(
    runner: TrainingRunner,
    shapes: Sequence[Sequence[Sizes]],
    x: torch.Tensor,
    weights: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, dict[str, Array]]:
    """y [T, B, H] of x [T, B, K] and all layers' weights of these shapes; and the final states {name: [depth, B, H]}."""
    cell, names = runner.cell, weight_names(runner.cell)
    check_tensor("x", x, runner.input.shape, "length, batch, inputs")
    if len(weights) != len(names) * len(shapes):
        told = f"{', '.join(names)} of each of {len(shapes)} layers"
        raise ValueError(f"{len(weights)} weights, not {len(names) * len(shapes)}: {told}")
    for number, own in enumerate(shapes):
        given = weights[number * len(names) : (number + 1) * len(names)]
        check_weights(cell, number, given, own, check_tensor)
    final: dict[str, Array] = {}
    return _Layers.apply(runner, final, x, *weights), final


def check_tensor(name: str, value: Any, shape: Sizes, axes: str) -> None:
    """A strided tensor of float32 on the CPU in this shape, contiguous or not."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} is a {type(value).__name__}, not a tensor")
    if value.device.type != "cpu":
        raise ValueError(f"{name} is on {value.device}, not on the CPU: .cpu()")
    if value.layout != torch.strided:
        raise ValueError(f"{name} is {value.layout}, not torch.strided: .to_dense()")
    if value.dtype != torch.float32:
        raise TypeError(f"{name} has {value.dtype}, not torch.float32: .float()")
    check_shape(name, value.shape, shape, axes)


class _Layers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        runner: TrainingRunner,
        final: dict[str, Array],
        x: torch.Tensor,
        *weights: torch.Tensor,
    ) -> Any:
        given = x
        spec, cell, functions = runner.spec, runner.cell, runner.metadata["functions"]
        each = 3 + len(cell.vectors) + cell.projected
        kept = []
        for number in range(spec.depth):
            suffix = "_rest" if number else "_first"
            own = weights[number * each : (number + 1) * each]
            packing, passing = functions["pack" + suffix], functions["forward" + suffix]
            tensors = {
                name: shared(value, packing[name][-1])
                for name, value in zip(("w_input", "w_recurrent", "w_bias"), own[:3], strict=True)
                if name in packing
            }
            if cell.vectors:
                tensors["w_vectors"] = torch.stack(own[3 : 3 + len(cell.vectors)]).detach()
            if cell.projected:
                tensors["w_projection"] = shared(own[-1])
            tensors["x"] = shared(x, passing["x"][-1])
            for name, shape in {**packing, **passing}.items():
                if name not in tensors:
                    tensors[name] = torch.empty(shape, dtype=torch.float32, device="cpu")
            for name, size in state_sizes(cell, spec).items():
                to = tensors["states"][0] if name == cell.states[0] else tensors[name]
                to.zero_()
                to[:, :size] = cell.start(name)
            for name, shapes in (("pack", packing), ("forward", passing)):
                _call(runner, name + suffix, shapes, tensors)
            kept.append(tensors)
            x = tensors["states"][1:]
        for name, size in state_sizes(cell, spec).items():
            own = [each["states"][-1] if name == cell.states[0] else each[name] for each in kept]
            final[name] = torch.stack(own)[..., :size].numpy()
        y = own_tensor(x[..., : spec.output_size])
        ctx.runner, ctx.kept = runner, kept
        # Kernels read the memory of these again: PyTorch tells if it was written meanwhile.
        ctx.save_for_backward(given, *weights, y)
        return y

    @staticmethod
    def backward(ctx: Any, d_y: torch.Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "gradients of gradients (create_graph=True) are not to be had of kernels"
            )
        if ctx.kept is None:
            raise RuntimeError("a forward pass can be gone backward once: its values are used up")
        _ = ctx.saved_tensors
        runner, kept = ctx.runner, ctx.kept
        ctx.kept = None
        spec, cell, functions = runner.spec, runner.cell, runner.metadata["functions"]
        hidden = spec.hidden_size
        found: list[torch.Tensor] = []
        for number in reversed(range(spec.depth)):
            suffix, tensors = "_rest" if number else "_first", kept.pop()
            passing, summing = functions["backward" + suffix], functions["gradients" + suffix]
            tensors["dy"] = shared(d_y, passing["dy"][-1])
            for name, shape in {**passing, **summing}.items():
                if name not in tensors:
                    tensors[name] = torch.empty(shape, dtype=torch.float32, device="cpu")
            for name in cell.states:
                tensors[gradient_name(name)].zero_()
            for name, shapes in (("backward", passing), ("gradients", summing)):
                _call(runner, name + suffix, shapes, tensors)
            own = [tensors["d_input"][..., :hidden].flatten(1)]
            if "d_recurrent" in tensors:
                own.append(tensors["d_recurrent"][..., :hidden].flatten(1))
            else:
                own.append(torch.zeros(spec.output_size, 0))
            own.append(tensors["d_bias"][:, :hidden].flatten())
            if cell.vectors:
                own += tensors["d_vectors"][:, :hidden].unbind()
            if cell.projected:
                own.append(tensors["d_projection"][:, : spec.output_size])
            found = own + found
            d_y = tensors["dx"]
        return None, None, d_y[..., : spec.input_size], *found


def _call(
    runner: TrainingRunner, name: str, shapes: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    runner.module[name](*(tvm_ffi.from_dlpack(tensors[key]) for key in shapes))
