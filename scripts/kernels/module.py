"""`Recurrent`: layers of any cell as a module of PyTorch, with the manners of nn.LSTM and nn.GRU."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from recurrent_cells.cells import CELLS, Cell

from .arguments import weight_names
from .operators import computed
from .tensors import Layers
from .torch_function import check_tensor

Given = Tensor | Sequence[Tensor] | None


class Recurrent(nn.Module):
    """Layers of a recurrent cell: `y, states = layer(x)` or `layer(x, states)`, on a CPU in float32.

    x [T, B, K], with batch_first [B, T, K], or of one sequence [T, K]; y likewise, with H values, or proj_size. States
    are [num_layers, B, H]: of a cell with one state (GRU) that tensor, else a tuple in the order of `cell.states`, h first;
    unless given, what the cell begins with, mostly zero. Parameters of layer n: weight_input_ln [K, x_gates * H], weight_recurrent_ln [H, h_gates * H],
    bias_ln [sums * H], each vector of the cell [H], and weight_projection_ln [H, P]; columns lie gate by gate in the order
    of `cell.gates` (see recurrent_cells.cells.language.Cell). They begin as nn.LSTM's do, uniform within 1 / sqrt(H),
    a vector of the cell around what the cell says.

    A kernel is built, in seconds, when a batch and length are first met, and kept on disk (see cache); `prepare` builds one
    beforehand. cell: one made by `cell(...)`, or the name of one that is there ("lstm", "gru", ...).
    """

    def __init__(
        self,
        cell: Cell | str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        batch_first: bool = False,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        self._cell = _Reference(_found(cell))
        cell = self.cell
        if cell.projected != bool(proj_size):
            told = "wants a proj_size" if cell.projected else "projects nothing: proj_size=0"
            raise ValueError(f"Recurrent: cell {cell.name} {told}")
        for name, value in (
            ("input_size", input_size),
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
        ):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"Recurrent: {name} must be a positive integer, not {value!r}")
        self.input_size, self.hidden_size = input_size, hidden_size
        self.num_layers, self.batch_first, self.proj_size = num_layers, batch_first, proj_size
        for name, shape in self._shapes():
            self.register_parameter(name, nn.Parameter(torch.empty(shape, dtype=torch.float32)))
        self.reset_parameters()
        self._begin()

    @property
    def cell(self) -> Cell:
        """What the layers are of."""
        return self._cell.cell

    def _begin(self) -> None:
        sizes = self.input_size, self.hidden_size, self.num_layers, self.proj_size
        self._name = Layers.of(self.cell, *sizes)
        self._names = [name for name, _ in self._shapes()]

    def _weights(self) -> list[Tensor]:
        """In order; one that is computed (by torch.nn.utils.parametrize) is no parameter of its own."""
        own = self._parameters
        return [own[name] if name in own else getattr(self, name) for name in self._names]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._begin()

    def _shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Every parameter's name and shape, layer by layer."""
        hidden, output = self.hidden_size, self.proj_size or self.hidden_size
        for number in range(self.num_layers):
            for name in weight_names(self.cell):
                yield (
                    f"{_PARAMETERS.get(name, name)}_l{number}",
                    {
                        "w_input": (
                            output if number else self.input_size,
                            len(self.cell.x_gates) * hidden,
                        ),
                        "w_recurrent": (output, len(self.cell.h_gates) * hidden),
                        "bias": (len(self.cell.sums) * hidden,),
                        "w_projection": (hidden, output),
                    }.get(name, (hidden,)),
                )

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            for number in range(self.num_layers):
                for name, value in zip(self.cell.vectors, self.cell.around, strict=False):
                    getattr(self, f"{name}_l{number}").add_(value)

    def train(self, mode: bool = True) -> Recurrent:
        """As every module's; weights that somebody wrote through .data are packed anew."""
        if hasattr(self, "_name"):
            Layers.named(self._name).forget(self._weights())
        return super().train(mode)

    def extra_repr(self) -> str:
        """What `print` shows."""
        more = f", proj_size={self.proj_size}" if self.proj_size else ""
        more += f", num_layers={self.num_layers}" if self.num_layers > 1 else ""
        return f"{self.cell.name}, {self.input_size}, {self.hidden_size}{more}" + (
            ", batch_first=True" if self.batch_first else ""
        )

    def forward(self, x: Tensor, states: Given = None) -> tuple[Tensor, Any]:
        """y and the final states, of x and initial states; see the class."""
        if not isinstance(x, Tensor):
            raise TypeError(f"Recurrent: x is a {type(x).__name__}, not a tensor")
        if torch.is_autocast_enabled("cpu"):
            raise RuntimeError(
                'Recurrent computes in float32: leave it out with torch.autocast("cpu", enabled=False)'
            )
        single = x.dim() == 2
        if single:
            x = x.unsqueeze(1)
        elif self.batch_first and x.dim() == 3:
            x = x.transpose(0, 1)
        weights = self._weights()
        self._check(x, weights)
        initial = [] if states is None else self._initial(states, x.shape[1], single)
        training = torch.is_grad_enabled() and any(
            one.requires_grad for one in (x, *initial, *weights)
        )
        y, *final = computed(self._name, x, initial, weights, training)
        if single:
            y, final = y.squeeze(1), [one.squeeze(1) for one in final]
        elif self.batch_first:
            y = y.transpose(0, 1)
        return y, final[0] if len(final) == 1 else tuple(final)

    def _check(self, x: Tensor, weights: Sequence[Tensor]) -> None:
        shape = x.shape
        if len(shape) != 3 or shape[2] != self.input_size or 0 in shape:
            wanted = "batch, length" if self.batch_first else "length, batch"
            told = f"({wanted}, {self.input_size}), none of them empty"
            given = (shape[1], shape[0], *shape[2:]) if self.batch_first else tuple(shape)
            raise ValueError(f"Recurrent: x has the shape {tuple(given)}, not {told}")
        for one in (x, *weights):
            if (
                one.dtype != torch.float32
                or one.device.type != "cpu"
                or one.layout != torch.strided
            ):
                what = "x" if one is x else "a parameter"
                check_tensor(f"Recurrent: {what}", one, one.shape, "")

    def _initial(self, states: Tensor | Sequence[Tensor], batch: int, single: bool) -> list[Tensor]:
        names = self.cell.states
        given = [states] if isinstance(states, Tensor) else list(states)
        if len(given) != len(names):
            told = f"{len(names)} ({', '.join(names)})"
            raise ValueError(f"Recurrent: {len(given)} initial states, not {told}")
        if single:
            given = [one.unsqueeze(1) if one.dim() == 2 else one for one in given]
        shapes = Layers.named(self._name).state_shapes(batch)
        for name, one, shape in zip(names, given, shapes, strict=True):
            check_tensor(f"Recurrent: initial {name}", one, shape, "layers, batch, values")
        return given

    def prepare(self, batch: int, length: int, training: bool | None = None) -> Recurrent:
        """Build the kernels of a batch and length, unless they are there: for training, for inference, or (None) both."""
        for one in (True, False) if training is None else (training,):
            Layers.named(self._name).kernel(batch, length, one)
        return self

    def save(self, folder: str | Path, batch: int, length: int) -> None:
        """Leave what `load` runs on NumPy's arrays, without PyTorch and without TVM's compiler."""
        from .saved import save

        kernel = Layers.named(self._name).kernel(batch, length, False)
        packed = kernel.pack(self._weights())
        save(kernel.folder, Path(folder), self.cell, [one.numpy() for one in packed])

    @classmethod
    def from_lstm(cls, lstm: nn.LSTM) -> Recurrent:
        """The same layers with the weights of an nn.LSTM. Its two biases, which move twice as fast under SGD, are one."""
        if not isinstance(lstm, nn.LSTM):
            raise TypeError(f"from_lstm: a {type(lstm).__name__} is no nn.LSTM")
        for name in ("bidirectional", "dropout"):
            if getattr(lstm, name):
                raise ValueError(f"from_lstm: {name}={getattr(lstm, name)} is not to be had here")
        cell = "projected" if lstm.proj_size else "lstm"
        sizes = lstm.input_size, lstm.hidden_size, lstm.num_layers, lstm.batch_first
        with torch.random.fork_rng(devices=()):  # the program's random numbers stay what they were
            made = cls(cell, *sizes, proj_size=lstm.proj_size)
        with torch.no_grad():
            for number in range(lstm.num_layers):
                given = {one: getattr(lstm, f"{one}_l{number}", None) for one in _LSTM}
                biases = [given[one] for one in ("bias_ih", "bias_hh") if given[one] is not None]
                for to, value in (
                    ("weight_input", given["weight_ih"].t()),
                    ("weight_recurrent", given["weight_hh"].t()),
                    ("bias", sum(biases) if biases else torch.zeros(4 * lstm.hidden_size)),
                    ("weight_projection", given["weight_hr"]),
                ):
                    if value is not None:
                        own = value.t() if to == "weight_projection" else value
                        getattr(made, f"{to}_l{number}").copy_(own)
        return made.train(lstm.training)

    def to_lstm(self) -> nn.LSTM:
        """An nn.LSTM with these weights; its second bias is zero."""
        if self.cell is not CELLS["projected" if self.proj_size else "lstm"]:
            raise ValueError(f"to_lstm: {self.cell.name} is not the cell of nn.LSTM")
        sizes = self.input_size, self.hidden_size, self.num_layers
        with torch.random.fork_rng(devices=()):
            made = nn.LSTM(*sizes, batch_first=self.batch_first, proj_size=self.proj_size)
        with torch.no_grad():
            for number in range(self.num_layers):
                for to, name in _LSTM.items():
                    target = getattr(made, f"{to}_l{number}", None)
                    if to == "bias_hh":
                        target.zero_()
                    elif target is not None:
                        value = getattr(self, f"{name}_l{number}")
                        target.copy_(value.t() if value.dim() == 2 else value)
        return made.train(self.training)


_PARAMETERS = {
    "w_input": "weight_input",
    "w_recurrent": "weight_recurrent",
    "w_projection": "weight_projection",
}

_LSTM = {
    "weight_ih": "weight_input",
    "weight_hh": "weight_recurrent",
    "bias_ih": "bias",
    "bias_hh": "bias",
    "weight_hr": "weight_projection",
}


class _Reference:
    """A cell, pickled as the place in a module where it stands, as functions are."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def __deepcopy__(self, memo: Any) -> _Reference:
        return self

    def __reduce__(self) -> Any:
        cell = self.cell
        if CELLS.get(cell.name) is cell:
            return _known, (cell.name,)
        module, name = cell.update.__module__, cell.update.__qualname__
        if getattr(sys.modules.get(module), name, None) is not cell:
            raise TypeError(
                f"cell {cell.name} stands nowhere in {module} where pickle finds it again"
            )
        return _imported, (module, name)


def _known(name: str) -> _Reference:
    return _Reference(CELLS[name])


def _imported(module: str, name: str) -> _Reference:
    return _Reference(getattr(import_module(module), name))


def _found(cell: Any) -> Cell:
    if isinstance(cell, Cell):
        return cell
    if isinstance(cell, str):
        if cell in CELLS:
            return CELLS[cell]
        raise ValueError(f"Recurrent: no cell {cell!r}; there are {', '.join(CELLS)}")
    told = "a function without @cell(...)" if callable(cell) else repr(cell)
    raise TypeError(f"Recurrent: cell is {told}, not one made by cell(...), and no name of one")
