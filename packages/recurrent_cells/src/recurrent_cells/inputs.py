"""What `Recurrent` is given, checked and brought into one form; what is wrong with it in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from .cells import CELLS, Cell

USUAL = {
    **{"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0},
    **{"bidirectional": False, "proj_size": 0},
}
"""Arguments of `Recurrent` with what they are unless given."""

KINDS = {torch.float32: "torch.float32", torch.bfloat16: "torch.bfloat16"}
"""What layers can compute in."""


def found_cell(cell: Any) -> Cell:
    """A cell, or the predefined one of a name."""
    if isinstance(cell, Cell):
        return cell
    if isinstance(cell, str):
        if cell in CELLS:
            return CELLS[cell]
        raise ValueError(f"Recurrent: no cell {cell!r}; predefined are {', '.join(CELLS)}")
    told = "a function without @cell(...)" if callable(cell) else repr(cell)
    raise TypeError(f"Recurrent: cell is {told}, not one made by @cell(...) or a name")


def check_sizes(cell: Cell, inputs: int, hidden: int, layers: int, projection: int) -> None:
    """Raise unless the sizes are positive and fit the cell."""
    sizes = {"input_size": inputs, "hidden_size": hidden, "num_layers": layers}
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"Recurrent: {name} must be a positive integer, not {value!r}")
    if not isinstance(projection, int) or projection < 0:
        raise ValueError(f"Recurrent: proj_size must be an integer from 0 on, not {projection!r}")
    if hidden % cell.heads:
        told = f"a multiple of the {cell.heads} heads of cell {cell.name}"
        raise ValueError(f"Recurrent: hidden_size must be {told}, not {hidden}")
    if cell.projected != bool(projection):
        told = "needs a proj_size" if cell.projected else 'has no projection ("projected" has)'
        raise ValueError(f"Recurrent: cell {cell.name} {told}")


def check_dropout(dropout: float, layers: int) -> None:
    """Raise unless it is a probability; warn where it has no effect, as nn.LSTM does."""
    if isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError(f"Recurrent: dropout must be from 0 to 1, not {dropout!r}")


def checked_place(device: Any, dtype: Any) -> dict[str, Any]:
    """Keyword arguments of torch.empty for the parameters."""
    place = torch.device(device if device is not None else torch.get_default_device())
    if place.type not in ("cpu", "meta"):
        raise ValueError(
            f"Recurrent: device={place}, but kernels are for CPUs (nn.LSTM runs there)"
        )
    if dtype not in (None, *KINDS):
        raise ValueError(
            f"Recurrent: dtype={dtype}, but kernels compute in {' or '.join(KINDS.values())}"
        )
    return {"device": place, "dtype": dtype or torch.float32}


def kind_of(weights: Sequence[Tensor]) -> torch.dtype:
    """What layers of these weights compute in: under autocast what that says, else the first weight's type."""
    for one in weights:
        if one.dtype not in KINDS:
            told = f"Recurrent: a parameter is {one.dtype}, not {' or '.join(KINDS.values())}"
            raise TypeError(f"{told}: .float()")
        _check_place("a parameter", one)
    narrow = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    return torch.bfloat16 if narrow else weights[0].dtype


def _check_place(what: str, one: Tensor) -> None:
    if one.device.type not in ("cpu", "meta") or one.layout != torch.strided:
        told = one.device if one.layout == torch.strided else one.layout
        raise TypeError(f"Recurrent: {what} is on {told}, not a dense tensor on a CPU")


def _checked(what: str, one: Any, kind: torch.dtype) -> Tensor:
    """x or a state; under autocast it is converted."""
    if not isinstance(one, Tensor):
        raise TypeError(f"Recurrent: {what} is a {type(one).__name__}, not a tensor")
    if torch.is_autocast_enabled("cpu") and one.dtype in (*KINDS, torch.float16):
        one = one.to(kind)
    if one.dtype != kind:
        raise TypeError(f"Recurrent: {what} is {one.dtype}, not {kind}: .to({kind})")
    _check_place(what, one)
    return one


@dataclass
class Batch:
    """x [T, B, K] with lengths [B] and resets [T, B], and how results go back to the form that was given."""

    x: Tensor
    lengths: Tensor | None
    resets: Tensor | None
    batch_first: bool = False
    single: bool = False
    packed: PackedSequence | None = None
    places: Tensor | None = None  # of a PackedSequence's values in the flat [T * B]

    @classmethod
    def of(cls, layer: Any, x: Any, lengths: Any, resets: Any, kind: torch.dtype) -> Batch:
        """Of the arguments of `layer.forward`, for layers that compute in a type."""
        if torch._C._are_functorch_transforms_active():
            raise RuntimeError(
                "Recurrent: torch.func (vmap, grad, jvp, ...) cannot look into its kernel; use autograd, a batch instead of vmap"
            )
        if isinstance(x, PackedSequence):
            return cls._unpacked(layer, x, lengths, resets, kind)
        x = _checked("x", x, kind)
        single = x.dim() == 2
        turned = layer.batch_first and not single
        if single:
            x = x.unsqueeze(1)
        elif turned and x.dim() == 3:
            x = x.transpose(0, 1)
        _check_shape(layer, x, turned)
        if lengths is not None:
            if single:
                raise ValueError("Recurrent: one sequence has no lengths; x[:length]")
            lengths = _checked_lengths(lengths, x)
        if resets is not None:
            resets = _checked_resets(resets, x, single, turned)
        return cls(x, lengths, resets, turned, single)

    @classmethod
    def _unpacked(
        cls, layer: Any, x: PackedSequence, lengths: Any, resets: Any, kind: torch.dtype
    ) -> Batch:
        for name, value in (("lengths", lengths), ("resets", resets)):
            if value is not None:
                raise ValueError(f"Recurrent: {name} with a PackedSequence; pad_packed_sequence")
        data, sizes = _checked("x", x.data, kind), x.batch_sizes
        steps, batch = len(sizes), int(sizes[0])
        before = torch.cumsum(sizes, 0) - sizes
        times = torch.repeat_interleave(torch.arange(steps), sizes)
        rows = torch.arange(len(data)) - before[times]
        places = times * batch + rows
        flat = data.new_zeros(steps * batch, data.shape[1]).index_copy(0, places, data)
        own = (sizes.unsqueeze(1) > torch.arange(batch)).sum(0)
        padded = flat.view(steps, batch, -1)
        _check_shape(layer, padded, False)
        return cls(padded, own, None, packed=x, places=places)

    def restored(self, y: Tensor) -> Any:
        """The output in the form of x."""
        if self.packed is not None:
            data = y.flatten(0, 1).index_select(0, self.places)
            return PackedSequence(data, *self.packed[1:])
        if self.single:
            return y.squeeze(1)
        return y.transpose(0, 1) if self.batch_first else y

    def restored_states(self, final: list[Tensor]) -> Any:
        """The final states in the form of the initial ones."""
        if self.packed is not None and self.packed.unsorted_indices is not None:
            final = [one.index_select(1, self.packed.unsorted_indices) for one in final]
        if self.single:
            final = [one.squeeze(1) for one in final]
        return final[0] if len(final) == 1 else tuple(final)


def initial_states(layer: Any, batch: Batch, states: Any) -> list[list[Tensor]]:
    """[of each layer and direction: its states], each [B, values]."""
    cell, rows = layer.cell, batch.x.shape[1]
    places = layer.num_layers * (1 + layer.bidirectional)
    sizes = [layer.output_size, *[layer.hidden_size] * (len(cell.states) - 1)]
    if states is None:
        begun = [
            batch.x.new_full((rows, size), cell.start(name))
            for name, size in zip(cell.states, sizes, strict=True)
        ]
        return [begun] * places
    given = [states] if isinstance(states, Tensor) else list(states)
    if len(given) != len(sizes):
        told = f"{len(sizes)} ({', '.join(cell.states)})"
        raise ValueError(f"Recurrent: {len(given)} initial states, not {told}")
    found = []
    for name, one, size in zip(cell.states, given, sizes, strict=True):
        one = _checked(f"initial {name}", one, batch.x.dtype)
        if batch.single and one.dim() == 2:
            one = one.unsqueeze(1)
        if one.shape != (places, rows, size):
            wanted = (places, rows, size)
            raise ValueError(
                f"Recurrent: initial {name} has the shape {tuple(one.shape)}, not {wanted}: layers, batch, values"
            )
        if batch.packed is not None and batch.packed.sorted_indices is not None:
            one = one.index_select(1, batch.packed.sorted_indices)
        found.append(one.unbind())
    return [list(each) for each in zip(*found, strict=True)]


def _check_shape(layer: Any, x: Tensor, turned: bool) -> None:
    shape = x.shape
    if len(shape) == 3 and shape[2] == layer.input_size and shape[0] > 0:
        return
    axes = "batch, length" if turned else "length, batch"
    given = (shape[1], shape[0], *shape[2:]) if turned and len(shape) == 3 else tuple(shape)
    raise ValueError(
        f"Recurrent: x has the shape {tuple(given)}, not ({axes}, {layer.input_size}) with at least one step"
    )


def _checked_lengths(lengths: Any, x: Tensor) -> Tensor:
    rows = x.shape[1]
    if not isinstance(lengths, Tensor):
        lengths = torch.tensor(list(lengths), dtype=torch.int64)
    if lengths.dtype not in (torch.int64, torch.int32) or lengths.shape != (rows,):
        told = f"{lengths.dtype} of shape {tuple(lengths.shape)}"
        raise ValueError(f"Recurrent: lengths are {told}, not integers of shape ({rows},)")
    lengths = lengths.to(torch.int64)
    return lengths


def _checked_resets(resets: Any, x: Tensor, single: bool, turned: bool) -> Tensor:
    if not isinstance(resets, Tensor) or resets.dtype not in (torch.bool, torch.uint8):
        told = resets.dtype if isinstance(resets, Tensor) else type(resets).__name__
        raise TypeError(f"Recurrent: resets are {told}, not a tensor of torch.bool")
    if single and resets.dim() == 1:
        resets = resets.unsqueeze(1)
    elif turned and resets.dim() == 2:
        resets = resets.t()
    if resets.shape != x.shape[:2]:
        told = f"{tuple(resets.shape)}, not {tuple(x.shape[:2])}: length, batch"
        raise ValueError(f"Recurrent: resets have the shape {told}")
    return resets.bool()
