"""`Recurrent`: layers of any cell as a module of PyTorch, used as nn.LSTM and nn.GRU are."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from . import conversion, inputs, tensors
from .cells import CELLS, Cell, found_cell
from .cells.text import to_text
from .codegen.source import has_bfloat16
from .exporting import export
from .operators import layer
from .streaming import Stream

MOST_ROWS = 1 << 15
"""Products of int8 that are summed in 32 bits."""

States: TypeAlias = "Tensor | Sequence[Tensor]"


class Recurrent(nn.Module):
    """Layers of a recurrent cell on a CPU, used like nn.LSTM: `y, states = layer(x)` or `layer(x, states)`.

    They compute in float32 or, after `.bfloat16()` and under `torch.autocast("cpu", torch.bfloat16)`, in bfloat16: x, y, the
    weights and the output that the next step reads are rounded; sums, other states, the update and gradients of weights are
    float32. Results are bfloat16 then, as those of nn.LSTM.

    The first use of a cell on a machine compiles its kernel, which serves all sizes and is kept on disk.

    The weights of layer n are `weight_input_ln` [K, x_gates * H], `weight_recurrent_ln` [P, columns * H / heads] (see
    `Cell`), `bias_ln` [sums * H], `<vector>_ln` [H] and `weight_projection_ln` [H, P], with columns in the order of `Cell.gates`. Names of the
    reverse direction end in `_reverse`. Initial values are uniform within 1 / sqrt(H), as in nn.LSTM, and around the cell's
    value for vectors.

    Parameters
    ----------
    cell:
        A cell made by `cell`, or the name of a predefined one ("lstm", "gru", ...).
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional:
        As in nn.LSTM.
    proj_size:
        Size of the output, for projected cells only.
    device:
        "cpu" or "meta".
    dtype:
        torch.float32 or torch.bfloat16.
    """

    def __init__(
        self,
        cell: Cell | str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.cell = found_cell(cell, "Recurrent")
        self._text = to_text(self.cell)
        inputs.check_cell(self.cell)
        inputs.check_sizes(self.cell, input_size, hidden_size, num_layers, proj_size)
        place = inputs.checked_place(device, dtype)
        inputs.check_switches(bias=bias, batch_first=batch_first, bidirectional=bidirectional)
        inputs.check_dropout(dropout, num_layers)
        self.input_size, self.hidden_size, self.proj_size = input_size, hidden_size, proj_size
        self.num_layers, self.bias, self.batch_first = num_layers, bool(bias), bool(batch_first)
        self.dropout, self.bidirectional = float(dropout), bool(bidirectional)
        for name, shape in self._listed():
            self.register_parameter(name, nn.Parameter(torch.empty(shape, **place)))
        self.reset_parameters()

    @property
    def output_size(self) -> int:
        """Values of y for a row and step in one direction, P."""
        return self.proj_size or self.hidden_size

    def _ends(self) -> list[str]:
        """What the names of each layer's and direction's weights end in."""
        directions = ("", "_reverse")[: 1 + self.bidirectional]
        return [f"_l{n}{direction}" for n in range(self.num_layers) for direction in directions]

    def _names(self) -> list[str]:
        bias = ["bias"] if self.bias else []
        last = ["weight_projection"] if self.cell.projected else []
        return ["weight_input", "weight_recurrent", *bias, *self.cell.vectors, *last]

    def _shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Every parameter's name and shape, layer by layer."""
        cell, hidden, output = self.cell, self.hidden_size, self.output_size
        for number, end in enumerate(self._ends()):
            first = number <= self.bidirectional
            width = self.input_size if first else output * (1 + self.bidirectional)
            shapes = {
                "weight_input": (width, len(cell.x_gates) * hidden),
                "weight_recurrent": (output, cell.columns * hidden // cell.heads),
                "bias": (len(cell.sums) * hidden,),
                "weight_projection": (hidden, output),
            }
            for name in self._names():
                yield name + end, shapes.get(name, (hidden,))

    def _listed(self) -> list[tuple[str, tuple[int, ...]]]:
        """The same in a list, which is kept for the next call unless somebody sets another size."""
        sizes = [getattr(self, name) for name in ("input_size", "hidden_size", *inputs.USUAL)]
        known = self.__dict__.get("_known")
        if known is None or known[0] != sizes:
            known = self._known = sizes, list(self._shapes())
        return known[1]

    def _weights(self) -> tuple[list[list[Tensor]], inputs.Kind]:
        """Weights of each layer and direction in the kernel's order, checked, and what they compute in."""
        given = [(name, shape, getattr(self, name)) for name, shape in self._listed()]
        kind = inputs.kind_of(given, bfloat16=has_bfloat16(self.cell))
        values, count = [one for _, _, one in given], len(given) // len(self._ends())
        found = [values[first : first + count] for first in range(0, len(values), count)]
        if not self.bias:
            size = len(self.cell.sums) * self.hidden_size
            for own in found:
                own.insert(2, own[0].new_zeros(size))
        return found, kind

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            for end in self._ends():
                for name, value in zip(self.cell.vectors, self.cell.around, strict=False):
                    getattr(self, name + end).add_(value)

    def flatten_parameters(self) -> None:
        """Do nothing; nn.LSTM has this method, too."""

    def extra_repr(self) -> str:
        """What `print` shows."""
        usual = inputs.USUAL.items()
        more = [f"{name}={getattr(self, name)}" for name, v in usual if getattr(self, name) != v]
        return ", ".join([self.cell.name, str(self.input_size), str(self.hidden_size), *more])

    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: States | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
        resets: Tensor | None = None,
    ) -> tuple[Any, Any]:
        """Compute the layers over a batch of sequences.

        Parameters
        ----------
        input:
            x [T, B, K], [B, T, K] with batch_first, [T, K] for one sequence, or a PackedSequence.
        hx:
            Initial states, each [num_layers * directions, B, H] (the output P instead of H), without B for one sequence: a
            tensor if the cell has one state, else a tuple in the order of `Cell.states`. Default: the cell's own, mostly zero.
        lengths:
            Steps of each sequence [B], in any order. Padding is not read, y is zero there, and the final states are those of
            each sequence's last step.
        resets:
            Mask [T, B], in the layout of x, [T] for one sequence: the steps before which a sequence starts again from the cell's
            initial states. No gradient flows across.

        Returns
        -------
        tuple
            The output, like x with P values per direction, and the final states, like the initial ones.
        """
        weights, kind = self._weights()
        batch = inputs.Batch.of(self, input, lengths, resets, kind)
        initial = inputs.initial_states(self, batch, hx, kind)
        on = torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", enabled=False) if on else nullcontext():
            y, final = self._layers(batch, initial, weights)
        return batch.restored(y), batch.restored_states(final)

    def _layers(
        self, batch: inputs.Batch, initial: list[list[Tensor]], given: list[list[Tensor]]
    ) -> tuple[Tensor, list[Tensor]]:
        """initial, given: of each layer and direction, its states and weights."""
        x, finals = batch.x, []
        how = batch.lengths, batch.resets
        count = 1 + self.bidirectional
        for number in range(self.num_layers):
            places = range(number * count, (number + 1) * count)
            weights = [one for place in places for one in given[place]]
            begin = [one for place in places for one in initial[place]]
            x, *final = layer(self._text, x, begin, weights, *how, count)
            finals += [final[: len(final) // count], final[len(final) // count :]][:count]
            if self.dropout and number + 1 < self.num_layers:
                x = functional.dropout(x, self.dropout, self.training)
        return x, [torch.stack(each) for each in zip(*finals, strict=True)]

    def export_c(self, folder: str | os.PathLike[str], prefix: str = "") -> None:
        """Write `cell.c`, `cell.h`, `weights.bin` and `test.c`: these layers for inference in C, without Python.

        They need a compiler with vector extensions (GCC, clang) and nothing else; `cell.h` says how they are compiled and called.
        With a prefix, `encoder_cell.c` has `encoder_cell_forward`, so that several layers can be linked into one program.
        """
        export(self, folder, prefix)

    def int8(self) -> Recurrent:
        """Make a copy for inference that multiplies int8: a quarter of the memory when saved, half when it computes.

        Each column of a matrix is rounded to 127 steps of its largest value, once, and so is each row of x and of the output at
        each step. Sums are exact; biases, states and updates are float32, as are the arguments and results. The copy has no
        parameters and no gradients.
        """
        return Int8(self)

    def stream(self, batch: int = 1, threads: int = 1) -> Stream:
        """Compute step by step, without gradients."""
        return Stream(self, batch, threads)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        _, _, missing, _, wrong = rest
        for name, _ in self._listed():
            given = state_dict.get(prefix + name)
            if isinstance(given, Tensor) and not given.is_floating_point():
                wrong.append(f"{prefix}{name} is {given.dtype}: load it into an int8 layer")
        conversion.rename_checkpoint(self, state_dict, prefix, missing, wrong)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @classmethod
    def from_lstm(cls, lstm: nn.LSTM) -> Recurrent:
        """Make layers with the weights of an nn.LSTM. Its two biases become one, which moves half as fast under SGD."""
        return conversion.from_torch(
            cls, lstm, nn.LSTM, "projected" if getattr(lstm, "proj_size", 0) else "lstm"
        )

    @classmethod
    def from_gru(cls, gru: nn.GRU) -> Recurrent:
        """Make layers with the weights of an nn.GRU."""
        return conversion.from_torch(cls, gru, nn.GRU, "gru")

    def to_lstm(self) -> nn.LSTM:
        """Make an nn.LSTM with these weights; its second bias is zero."""
        return conversion.to_torch(self, nn.LSTM, CELLS["projected" if self.proj_size else "lstm"])

    def to_gru(self) -> nn.GRU:
        """Make an nn.GRU with these weights. Where it adds two biases, the second is zero."""
        return conversion.to_torch(self, nn.GRU, CELLS["gru"])


def _same(written: list[tuple[Tensor, int]], before: list[tuple[Tensor, int]]) -> bool:
    """Whether these are the same tensors, unchanged."""
    return len(written) == len(before) and all(
        one is old and version == of_old
        for (one, version), (old, of_old) in zip(written, before, strict=True)
    )


class Int8(Recurrent):
    """Layers that multiply int8. Made by `Recurrent.int8`.

    Its buffers have the names of the parameters; matrices are int8, columns are multiplied by `<name>_scale`.
    """

    def __init__(self, layer: Recurrent) -> None:
        nn.Module.__init__(self)
        if layer._weights()[1].meta:
            raise ValueError("int8: the parameters are on meta, where nothing is computed")
        for name in ("cell", "_text", "input_size", "hidden_size", *inputs.USUAL):
            setattr(self, name, getattr(layer, name))
        tensors.kernel_of(self._text, torch.int8)
        self.dropout = 0.0
        for name, (rows, *_) in layer._listed():
            if rows > MOST_ROWS and name.startswith("weight_"):
                raise ValueError(f"int8: sums of {rows} products might overflow: up to {MOST_ROWS}")
            value = getattr(layer, name).detach().to(torch.float32, copy=True)
            if not value.isfinite().all():
                raise ValueError(f"int8: {name} has values that are not finite")
            if value.dim() == 2:
                scale = value.abs().amax(0) / 127
                self.register_buffer(name + "_scale", scale)
                value = (value / scale.clamp(min=1e-30)).round().to(torch.int8)
            self.register_buffer(name, value)
        # The buffers and their versions, and what was packed of them.
        self._packed: tuple[list[tuple[Tensor, int]], list[list[Tensor]]] | None = None
        self.train(layer.training)

    def _wide(self, name: str) -> Tensor:
        value, scale = getattr(self, name), getattr(self, name + "_scale", None)
        return value if scale is None else value * scale.float()

    def _weights(self) -> tuple[list[list[Tensor]], inputs.Kind]:
        given = [one for one in self._buffers.values() if one is not None]
        # Tensors of inference_mode have no versions.
        written = [(one, 0 if one.is_inference() else one._version) for one in given]
        known = self._packed
        if known is None or not _same(written, known[0]):
            found, kernel = [], tensors.kernel_of(self._text, torch.int8)
            for end in self._ends():
                own = [self._wide(name + end) for name in self._names()]
                if any(one.device.type != "cpu" for one in own):
                    told = f"an int8 layer is on {own[0].device}, but kernels are for CPUs"
                    raise ValueError(f"Recurrent: {told}")
                if not self.bias:
                    own.insert(2, torch.zeros(len(self.cell.sums) * self.hidden_size))
                # The kernel rounds again: to the same steps, but for a matrix that is used transposed.
                # Of the others only the bias is asked for its size: the kernel has all in the first one.
                packed = tensors.packed(kernel, own).view(torch.int8)
                found.append([packed, tensors.NONE, own[2]])
            known = self._packed = written, found
        return known[1], inputs.Kind(torch.float32, False)

    @torch.compiler.disable
    def forward(self, *given: Any, **options: Any) -> tuple[Any, Any]:
        """As `Recurrent`."""
        if torch.compiler.is_compiling():  # torch.compile runs it outside of graphs
            raise RuntimeError("Recurrent: torch.export does not take int8 layers")
        return super().forward(*given, **options)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """Change devices, not types: scales in bfloat16 would be rounded."""
        self._packed = None

        def moved(one: Tensor) -> Tensor:
            found = fn(one)
            return found if found.dtype == one.dtype else one.to(found.device)

        return super()._apply(moved, recurse)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_packed": None}

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        self._packed = None
        for name, value in self.named_buffers():
            given = state_dict.get(prefix + name, value)
            if given.dtype != value.dtype:
                rest[-1].append(f"{prefix}{name} is {given.dtype}, not {value.dtype}")
        nn.Module._load_from_state_dict(self, state_dict, prefix, *rest)

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "Recurrent: an int8 layer only computes outputs: use layers in float32 for this"
        )

    export_c = to_lstm = to_gru = from_lstm = from_gru = reset_parameters = int8 = _refused
