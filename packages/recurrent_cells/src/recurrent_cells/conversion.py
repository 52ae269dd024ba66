"""Weights of nn.LSTM and nn.GRU as those of `Recurrent`, and the other way round; checkpoints of either."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import torch
from torch import Tensor, nn

from .cells import CELLS, Cell

COMMON = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout")
PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


def from_weights(cell: Cell, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One layer's weights of nn.LSTM or nn.GRU, {part of PARTS: value}, by the names of `Recurrent`."""
    made = {"weight_input": given["weight_ih"].t(), "weight_recurrent": given["weight_hh"].t()}
    if "bias_ih" in given:
        hidden = given["weight_hh"].shape[0] // len(cell.gates)
        of_x, of_h = given["bias_ih"].split(hidden), given["bias_hh"].split(hidden)
        pairs = list(zip(cell.gates, of_x, of_h, strict=True))
        first = [a if gate in cell.apart else a + b for gate, a, b in pairs]
        made["bias"] = torch.cat([*first, *(b for gate, _, b in pairs if gate in cell.apart)])
    if "weight_hr" in given:
        made["weight_projection"] = given["weight_hr"].t()
    return made


def to_weights(cell: Cell, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The reverse of `from_weights`."""
    made = {"weight_ih": given["weight_input"].t(), "weight_hh": given["weight_recurrent"].t()}
    if "bias" in given:
        size = len(cell.gates) * (len(given["bias"]) // len(cell.sums))
        first, alone = given["bias"].split([size, len(given["bias"]) - size])
        rest = iter(alone.split(size // len(cell.gates)))
        none = torch.zeros_like(first[: size // len(cell.gates)])
        second = [next(rest) if gate in cell.apart else none for gate in cell.gates]
        made |= {"bias_ih": first, "bias_hh": torch.cat(second)}
    if "weight_projection" in given:
        made["weight_hr"] = given["weight_projection"].t()
    return made


def rename_checkpoint(
    layer: Any,
    state_dict: MutableMapping[str, Any],
    prefix: str,
    missing: list[str],
    wrong: list[str],
) -> None:
    """Replace what an nn.LSTM or nn.GRU saved by what `layer` is to load.

    missing, wrong: where names that are not in `state_dict` and messages on shapes are added, by the names of the checkpoint. The
    layer keeps its own values instead.
    """
    if layer.cell not in (CELLS["lstm"], CELLS["projected"], CELLS["gru"]):
        return
    ends = layer._ends()
    if not any(f"{prefix}{part}{end}" in state_dict for part in PARTS for end in ends):
        return
    for end in ends:
        own = {name: getattr(layer, name + end).detach() for name in layer._names()}
        parts = to_weights(layer.cell, own)
        for part, value in list(parts.items()):
            key = f"{prefix}{part}{end}"
            if key not in state_dict:
                missing.append(key)
                continue
            given = state_dict.pop(key)
            if not isinstance(given, Tensor):
                wrong.append(f"{key} is {type(given).__name__}, not a tensor")
            elif given.shape == value.shape:
                parts[part] = given
            else:
                told = f"{tuple(given.shape)}, not {tuple(value.shape)} of {layer.cell.name}"
                wrong.append(f"{key} has the shape {told}")
        for name, value in from_weights(layer.cell, parts).items():
            state_dict[f"{prefix}{name}{end}"] = value


def from_torch(made_of: Any, given: nn.RNNBase, kind: type[nn.RNNBase], name: str) -> Any:
    """A `Recurrent` with the weights of an nn.LSTM or nn.GRU."""
    if not isinstance(given, kind):
        own = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        told = f"expected a layer, nn.{kind.__name__}(...), not {own}"
        raise TypeError(f"from_{kind.__name__.lower()}: {told}")
    facts = {each: getattr(given, each) for each in (*COMMON, "bidirectional", "proj_size")}
    first = given.weight_ih_l0
    place = {"device": "meta" if first.is_meta else "cpu", "dtype": first.dtype}
    with torch.random.fork_rng(devices=()):  # the program's random numbers stay what they were
        made = made_of(CELLS[name], **facts, **place)
    with torch.no_grad():
        made.load_state_dict(given.state_dict())
    return made.train(given.training)


def to_torch(layer: Any, kind: type[nn.RNNBase], cell: Cell) -> Any:
    """An nn.LSTM or nn.GRU with the weights of a `Recurrent`."""
    if layer.cell is not cell:
        told = f"{layer.cell.name} is not the cell of nn.{kind.__name__}"
        raise ValueError(f"to_{kind.__name__.lower()}: {told}")
    facts = {each: getattr(layer, each) for each in (*COMMON, "bidirectional")}
    if layer.proj_size:
        facts["proj_size"] = layer.proj_size
    with torch.random.fork_rng(devices=()):
        made = kind(**facts, dtype=layer.weight_input_l0.dtype)
    with torch.no_grad():
        for end in layer._ends():
            own = {name: getattr(layer, name + end) for name in layer._names()}
            for name, value in to_weights(cell, own).items():
                getattr(made, name + end).copy_(value)
    return made.train(layer.training)
