"""What `Recurrent` is given, checked and brought into one form; what is wrong with it in one line."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from .cells import Cell
from .codegen.library import CompilerError
from .codegen.source import unsupported

USUAL = {
    **{"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0},
    **{"bidirectional": False, "proj_size": 0},
}
"""Arguments of `Recurrent` with what they are unless given."""

KINDS = {torch.float32: "torch.float32", torch.bfloat16: "torch.bfloat16"}
"""What layers can compute in."""


def check_cell(cell: Cell) -> None:
    """Raise unless C can be generated of it."""
    if told := unsupported(cell):
        raise CompilerError(f"Recurrent: cell {cell.name}: {told}")


def check_sizes(cell: Cell, inputs: int, hidden: int, layers: int, projection: int) -> None:
    """Raise unless the sizes are positive and fit the cell."""
    sizes = {"input_size": inputs, "hidden_size": hidden, "num_layers": layers}
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"Recurrent: {name} must be a positive integer, not {value!r}")
    if not isinstance(projection, int) or isinstance(projection, bool) or projection < 0:
        raise ValueError(f"Recurrent: proj_size must be an integer from 0 on, not {projection!r}")
    if hidden % cell.heads:
        told = f"a multiple of the {cell.heads} heads of cell {cell.name}"
        raise ValueError(f"Recurrent: hidden_size must be {told}, not {hidden}")
    if cell.projected != bool(projection):
        told = "needs a proj_size" if cell.projected else 'has no projection ("projected" has)'
        raise ValueError(f"Recurrent: cell {cell.name} {told}")


def check_dropout(dropout: float, layers: int) -> None:
    """Raise unless it is a probability; warn where it has no effect, as nn.LSTM does."""
    if isinstance(dropout, bool) or not isinstance(dropout, Real) or not 0 <= dropout <= 1:
        raise ValueError(f"Recurrent: dropout must be from 0 to 1, not {dropout!r}")
    if dropout and layers == 1:
        told = "acts between layers: it has no effect with num_layers=1"
        warnings.warn(f"Recurrent: dropout={dropout} {told}", stacklevel=3)


def check_switches(**switches: bool) -> None:
    """Raise unless each is true or false."""
    for name, value in switches.items():
        if value not in (True, False):
            raise ValueError(f"Recurrent: {name} must be True or False, not {value!r}")


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


class Kind(NamedTuple):
    """What layers compute in and where."""

    dtype: torch.dtype
    meta: bool


def kind_of(weights: Sequence[tuple[str, tuple[int, ...], Any]], bfloat16: bool) -> Kind:
    """What layers compute in: the type of their weights or, under autocast, what that says.

    Parameters
    ----------
    weights:
        Name, wanted shape and tensor of each.
    bfloat16:
        Whether the cell has bfloat16 kernels; without them autocast computes in float32.

    Raises
    ------
    TypeError, ValueError
        If a weight has another shape than its layer's, or not all have one type and device. Kernels trust addresses and sizes.
    """
    first_name, _, first = weights[0]
    autocast = torch.is_autocast_enabled("cpu")
    for name, shape, one in weights:
        if not isinstance(one, Tensor):
            raise TypeError(f"Recurrent: {name} is {type(one).__name__}, not a tensor")
        if one.dtype not in KINDS:
            told = f"Recurrent: {name} is {one.dtype}, not {' or '.join(KINDS.values())}"
            raise TypeError(f"{told}: .float()")
        if one.shape != shape:
            told = f"{tuple(one.shape)}, but the layer's sizes want {shape}"
            raise ValueError(f"Recurrent: {name} has the shape {told}")
        if one.dtype != first.dtype and not autocast:
            told = f"Recurrent: {name} is {one.dtype}, {first_name} is {first.dtype}"
            raise TypeError(f"{told}: all parameters need one type")
        _check_place(name, one, first.is_meta)
    dtype = first.dtype
    if autocast and torch.get_autocast_dtype("cpu") == torch.bfloat16:
        dtype = torch.bfloat16 if bfloat16 else torch.float32
    return Kind(dtype, first.is_meta)


def _check_place(what: str, one: Tensor, meta: bool) -> None:
    if one.device.type not in ("cpu", "meta") or one.layout != torch.strided:
        dense = one.layout == torch.strided
        told = (
            f"on {one.device}, but kernels are for CPUs: .cpu()"
            if dense
            else f"{one.layout}: .to_dense()"
        )
        raise TypeError(f"Recurrent: {what} is {told}")
    if one.is_meta != meta:
        own = "meta" if meta else "a CPU"
        raise TypeError(f"Recurrent: {what} is on {one.device}, the parameters are on {own}")


def _checked(what: str, one: Any, kind: Kind) -> Tensor:
    """x or a state; under autocast it is converted."""
    if not isinstance(one, Tensor):
        raise TypeError(f"Recurrent: {what} must be a tensor, not {type(one).__name__}")
    if one.is_nested:
        raise TypeError(
            f"Recurrent: {what} is a nested tensor: use a PackedSequence or lengths=..."
        )
    _check_place(what, one, kind.meta)
    if torch.is_autocast_enabled("cpu") and one.dtype in (*KINDS, torch.float16):
        one = one.to(kind.dtype)
    if one.dtype != kind.dtype:
        told = f"{one.dtype}, not {kind.dtype}: .to({kind.dtype})"
        raise TypeError(f"Recurrent: {what} is {told}")
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
    def of(cls, layer: Any, x: Any, lengths: Any, resets: Any, kind: Kind) -> Batch:
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
        _check_shape(layer, x, turned, single)
        if lengths is not None:
            if single:
                raise ValueError("Recurrent: one sequence takes no lengths: use x[:length]")
            lengths = _checked_lengths(lengths, x)
        if resets is not None:
            resets = _checked_resets(resets, x, single, turned)
        return cls(x, lengths, resets, turned, single)

    @classmethod
    def _unpacked(
        cls, layer: Any, x: PackedSequence, lengths: Any, resets: Any, kind: Kind
    ) -> Batch:
        for name, value in (("lengths", lengths), ("resets", resets)):
            if value is not None:
                told = "cannot be combined with a PackedSequence: use pad_packed_sequence"
                raise ValueError(f"Recurrent: {name} {told}")
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


def initial_states(layer: Any, batch: Batch, states: Any, kind: Kind) -> list[list[Tensor]]:
    """[of each layer and direction: its states], each [B, values]."""
    cell, rows = layer.cell, batch.x.shape[1]
    places = layer.num_layers * (1 + layer.bidirectional)
    sizes = cell.state_shapes(layer.hidden_size, layer.output_size)
    if states is None:
        begun = [
            batch.x.new_full((rows, *size), cell.start(name))
            for name, size in zip(cell.states, sizes, strict=True)
        ]
        return [begun] * places
    told = f"{len(sizes)} ({', '.join(cell.states)})"
    if not isinstance(states, Tensor | Sequence) or isinstance(states, str):
        raise TypeError(f"Recurrent: states must be {told} tensors, not {type(states).__name__}")
    given = [states] if isinstance(states, Tensor) else list(states)
    if all(isinstance(one, int) for one in given):
        raise TypeError("Recurrent: states must be tensors, not integers: use lengths=...")
    if len(given) != len(sizes):
        own = (
            "one tensor"
            if isinstance(states, Tensor)
            else f"{len(given)} in a {type(states).__name__}"
        )
        wanted = f"a tuple of {told}" if len(sizes) > 1 else f"one tensor ({cell.states[0]})"
        raise ValueError(f"Recurrent: initial states are {wanted}, not {own}")
    found = []
    for name, one, size in zip(cell.states, given, sizes, strict=True):
        one = _checked(f"initial {name}", one, kind)
        wanted = (places, *size) if batch.single else (places, rows, *size)
        if one.shape != wanted:
            axes = "layers * directions" if layer.bidirectional else "layers"
            axes += ", values" if batch.single else ", batch, values"
            told = f"{tuple(one.shape)}, not {wanted}: {axes}"
            raise ValueError(f"Recurrent: initial {name} has the shape {told}")
        if batch.single:
            one = one.unsqueeze(1)
        if batch.packed is not None and batch.packed.sorted_indices is not None:
            one = one.index_select(1, batch.packed.sorted_indices)
        found.append(one.unbind())
    return [list(each) for each in zip(*found, strict=True)]


def _check_shape(layer: Any, x: Tensor, turned: bool, single: bool = False) -> None:
    shape = x.shape
    if len(shape) == 3 and shape[2] == layer.input_size and shape[0] > 0:
        return
    axes = "length" if single else "batch, length" if turned else "length, batch"
    given = (shape[0], *shape[2:]) if single else tuple(shape)
    if turned and len(shape) == 3:
        given = (shape[1], shape[0], *shape[2:])
    raise ValueError(
        f"Recurrent: x has the shape {tuple(given)}, not ({axes}, {layer.input_size}) with at least one step"
    )


def _checked_lengths(lengths: Any, x: Tensor) -> Tensor:
    rows = x.shape[1]
    if not isinstance(lengths, Tensor):
        if isinstance(lengths, Set | Mapping):
            raise TypeError(f"Recurrent: lengths must be in order, not a {type(lengths).__name__}")
        try:
            given = list(lengths)
            lengths = torch.tensor(given or [0], device=x.device)[: len(given)]
        except (TypeError, ValueError, RuntimeError):
            told = f"a tensor or a list of {rows} integers, not {lengths!r}"
            raise TypeError(f"Recurrent: lengths must be {told}") from None
    _check_place("the tensor of lengths", lengths, x.is_meta)
    if lengths.dtype not in (torch.int64, torch.int32) or lengths.shape != (rows,):
        told = f"{lengths.dtype} of shape {tuple(lengths.shape)}"
        raise ValueError(f"Recurrent: lengths are {told}, not integers of shape ({rows},)")
    return lengths.to(torch.int64)


def _checked_resets(resets: Any, x: Tensor, single: bool, turned: bool) -> Tensor:
    if not isinstance(resets, Tensor) or resets.dtype not in (torch.bool, torch.uint8):
        told = resets.dtype if isinstance(resets, Tensor) else type(resets).__name__
        raise TypeError(f"Recurrent: resets must be a tensor of torch.bool, not {told}")
    _check_place("the mask of resets", resets, x.is_meta)
    steps, batch = x.shape[:2]
    wanted = (steps,) if single else (batch, steps) if turned else (steps, batch)
    if resets.shape != wanted:
        axes = "length" if single else "batch, length" if turned else "length, batch"
        told = f"{tuple(resets.shape)}, not {wanted}: {axes}"
        raise ValueError(f"Recurrent: resets have the shape {told}")
    resets = resets.unsqueeze(1) if single else resets.t() if turned else resets
    return resets.bool()
