"""Kernels of a cell's layers on PyTorch's tensors: one for each batch and length, built or found when it is first wanted."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import torch

from recurrent_cells.cells import Cell
from recurrent_cells.cells.derivative import gradient_name
from recurrent_cells.graph import graph_digest

from .cache import INFERENCE, TRAINING, library, metadata
from .memory import Packed, Tensors, begin, block, empty, own_tensor, shared, zeros
from .native import load
from .spec import KernelSpec
from .template.layout import pack_stack, state_sizes, whole_lines

ALONE = 1 << 19
"""Multiplications and additions below which a second thread takes longer to be told than it saves."""


class Layers:
    """Layers of one cell and size. `Layers.of` gives the same one for the same."""

    _known: dict[str, Layers] = {}  # noqa: RUF012

    def __init__(self, cell: Cell, inputs: int, hidden: int, depth: int, projection: int) -> None:
        self.cell, self.depth, self.inputs = cell, depth, inputs
        self.hidden, self.projection = hidden, projection
        self.outputs = projection or hidden
        self.each = 3 + len(cell.vectors) + cell.projected
        self._kernels: dict[tuple[int, int, bool, int], Inference | Training] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, cell: Cell, inputs: int, hidden: int, depth: int, projection: int = 0) -> str:
        """The name by which `Layers.named` has them; PyTorch's operators take it as an argument."""
        sizes = inputs, hidden, depth, projection
        name = f"{cell.name}-{'x'.join(map(str, sizes))}-{graph_digest(cell)}"
        cls._known.setdefault(name, cls(cell, *sizes))
        return name

    @classmethod
    def named(cls, name: str) -> Layers:
        """Those of a name that `Layers.of` gave."""
        return cls._known[name]

    def spec(self, batch: int, length: int) -> KernelSpec:
        """The kernel of a batch and length, for the threads that PyTorch has now."""
        threads = torch.get_num_threads()
        columns = len(self.cell.x_gates) * self.inputs + len(self.cell.h_gates) * self.outputs
        work = 2 * batch * length * columns * self.hidden * self.depth
        sizes = batch, length, self.inputs, self.hidden, self.depth
        few = work < ALONE
        return KernelSpec(*sizes, 1 if few else threads, self.cell.name, self.projection)

    def kernel(self, batch: int, length: int, training: bool) -> Any:
        """The kernel of a batch and length; built, which takes seconds, where no process has done so."""
        key = batch, length, training, torch.get_num_threads()
        found = self._kernels.get(key)
        if found is None:
            with self._lock:
                found = self._kernels.get(key)
                if found is None:
                    made = Training if training else Inference
                    found = self._kernels[key] = made(self, self.spec(batch, length))
        return found

    def state_shapes(self, batch: int) -> list[tuple[int, int, int]]:
        """[depth, B, values] of every state."""
        sizes = [self.outputs, *[self.hidden] * (len(self.cell.states) - 1)]
        return [(self.depth, batch, size) for size in sizes]

    def own(self, weights: Tensors, layer: int) -> Tensors:
        """One layer's weights."""
        return weights[layer * self.each : (layer + 1) * self.each]

    def forget(self, weights: Tensors) -> None:
        """Pack these anew at the next call, also if PyTorch did not see that they changed."""
        for kernel in list(self._kernels.values()):
            kernel.packed.drop(weights)


class Inference:
    """One function for all layers and steps."""

    def __init__(self, layers: Layers, spec: KernelSpec) -> None:
        folder = library(layers.cell, spec, INFERENCE)
        self.layers, self.spec, self.folder = layers, spec, folder
        self.metadata = metadata(folder)
        self._main = load(folder / "kernel.so", openmp=True)["main"]
        self._output = spec.length, spec.batch, spec.output_size
        self._states = layers.state_shapes(spec.batch)
        starts = map(layers.cell.start, layers.cell.states)
        self._starts = [
            zeros(*shape) + start for shape, start in zip(self._states, starts, strict=True)
        ]
        self.packed = Packed()

    def pack(self, weights: Tensors) -> list[torch.Tensor]:
        """The weights as the kernel reads them."""
        layers, found = self.layers, self.metadata
        arrays = [
            [one.detach().numpy() for one in layers.own(weights, number)]
            for number in range(layers.depth)
        ]
        packed = pack_stack(layers.cell, arrays, found["lanes"], found["schedule"]["gates"])
        return [shared(torch.from_numpy(value)) for value in packed if value.size]

    def __call__(self, x: torch.Tensor, initial: Tensors, weights: Tensors) -> list[torch.Tensor]:
        """y [T, B, P] and the final states."""
        packed = self.packed.get(weights)
        if packed is None:
            packed = self.pack(weights)
            self.packed.put(weights, packed)
        begin = [shared(one) for one in initial] if initial else self._starts
        made = [empty(*self._output), *(empty(*shape) for shape in self._states)]
        self._main(shared(x), *packed, *begin, *made)
        return made


class Training:
    """The functions of training, layer by layer.

    What forward keeps for backward lies in one tensor, whose first value says whether backward has used it up.
    """

    def __init__(self, layers: Layers, spec: KernelSpec) -> None:
        folder = library(layers.cell, spec, TRAINING)
        self.layers, self.spec, self.folder = layers, spec, folder
        found = metadata(folder)["functions"]
        module = load(folder / "kernel.so", openmp=True)
        self._functions = [
            {name: (module[name + end], found[name + end]) for name in _FUNCTIONS}
            for end in ("_first", "_rest")[: min(spec.depth, 2)]
        ]
        self.packed = Packed()
        self._output = whole_lines(spec.output_size)
        # The output and what it was made of are one array, if nothing pads it.
        self.one_array = self._output == spec.output_size
        self._kept: list[dict[str, tuple[int, list[int]]]] = []
        self.kept_size = whole_lines(1)
        for number in range(spec.depth):
            own = {}
            for name, shape in self._shapes(number, "backward", "gradients").items():
                top = number + 1 == spec.depth and self.one_array
                if name in self._shapes(number, "forward") and name not in ("x", "vectors"):
                    if name == "states" and top:
                        continue
                    own[name] = (self.kept_size, shape)
                    self.kept_size += whole_lines(prod(shape))
            self._kept.append(own)

    def _shapes(self, number: int, *functions: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for name in functions:
            found |= self._functions[min(number, 1)][name][1]
        return found

    def _call(self, number: int, name: str, tensors: dict[str, torch.Tensor]) -> None:
        function, shapes = self._functions[min(number, 1)][name]
        for key, shape in shapes.items():
            if key not in tensors:
                tensors[key] = block(*shape)
        function(*(tensors[key] for key in shapes))

    def _views(self, number: int, kept: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            name: kept[start : start + prod(shape)].view(shape)
            for name, (start, shape) in self._kept[number].items()
        }

    def pack(self, weights: Tensors) -> list[dict[str, torch.Tensor]]:
        """Every layer's weights in the orders of forward and of backward."""
        packed = self.packed.get(weights)
        if packed is not None:
            return packed
        packed, cell = [], self.layers.cell
        for number in range(self.spec.depth):
            own = self.layers.own(weights, number)
            names = ("w_input", "w_recurrent", "w_bias")
            given = {name: shared(one) for name, one in zip(names, own[:3], strict=True)}
            if cell.vectors:
                given["w_vectors"] = torch.stack([*own[3 : 3 + len(cell.vectors)]]).detach()
            if cell.projected:
                given["w_projection"] = shared(own[-1])
            tensors = dict(given)
            self._call(number, "pack", tensors)
            packed.append({name: one for name, one in tensors.items() if name not in given})
        self.packed.put(weights, packed)
        return packed

    def forward(self, x: torch.Tensor, initial: Tensors, weights: Tensors) -> list[torch.Tensor]:
        """y [T, B, P], the final states, and what backward wants."""
        spec, cell = self.spec, self.layers.cell
        packed, kept = self.pack(weights), block(self.kept_size)
        kept[0] = 0.0
        final: list[list[torch.Tensor]] = [[] for _ in cell.states]
        sizes = state_sizes(cell, spec)
        for number in range(spec.depth):
            tensors = {**packed[number], **self._views(number, kept)}
            width = self._shapes(number, "forward")["x"][-1]
            tensors["x"] = shared(x, width)
            if "states" not in tensors:
                tensors["states"] = empty(spec.length + 1, spec.batch, self._output)
            for place, name in enumerate(cell.states):
                to = tensors["states"][0] if place == 0 else empty(spec.batch, self._hidden(number))
                given = initial[place][number] if initial else None
                begin(to, given, sizes[name], cell.start(name))
                if place:
                    tensors[name] = to
            self._call(number, "forward", tensors)
            x = tensors["states"][1:]
            for place, name in enumerate(cell.states):
                final[place].append(x[-1] if place == 0 else tensors[name])
        states = [
            torch.stack(own)[..., :size] for own, size in zip(final, sizes.values(), strict=True)
        ]
        y = own_tensor(x) if self.one_array else x[..., : spec.output_size].contiguous()
        return [y, *(one.contiguous() for one in states), kept]

    def _hidden(self, number: int) -> int:
        return self._shapes(number, "forward")[self.layers.cell.states[1]][-1]

    def backward(
        self,
        d_y: torch.Tensor | None,
        d_final: Sequence[torch.Tensor | None],
        x: torch.Tensor,
        initial: Tensors,
        weights: Tensors,
        y: torch.Tensor,
        kept: torch.Tensor,
    ) -> list[torch.Tensor]:
        """Gradients of x, of the initial states and of the weights."""
        if kept[0] != 0.0:  # gone backward once already: what that used up is made again
            y, *_, kept = self.forward(x, initial, weights)
        kept.data[0] = 1.0
        spec, cell, packed = self.spec, self.layers.cell, self.pack(weights)
        views = [self._views(number, kept) for number in range(spec.depth)]
        if self.one_array:
            views[-1]["states"] = self._states_of(y, initial)
        found: list[torch.Tensor] = []
        d_initial: list[list[torch.Tensor]] = [[] for _ in cell.states]
        d_x = d_y
        for number in reversed(range(spec.depth)):
            tensors = {**packed[number], **views[number]}
            shapes = self._shapes(number, "backward", "gradients")
            tensors["x"] = shared(views[number - 1]["states"][1:] if number else x, shapes["x"][-1])
            wide = shapes["dy"]
            tensors["dy"] = zeros(*wide) if d_x is None else shared(d_x, wide[-1])
            for place, name in enumerate(cell.states):
                given = d_final[place]
                key = gradient_name(name)
                tensors[key] = empty(*shapes[key])
                begin(tensors[key], given[number] if given is not None else None)
            self._call(number, "backward", tensors)
            self._call(number, "gradients", tensors)
            found = self._weight_gradients(tensors) + found
            d_x = tensors["dx"]
            for place, name in enumerate(cell.states):
                d_initial[place].insert(0, tensors[gradient_name(name)])
        sizes = state_sizes(cell, spec).values()
        states = [
            torch.stack(own)[..., :size].contiguous()
            for own, size in zip(d_initial, sizes, strict=True)
        ]
        # An optimiser may write through .data, which no counter sees.
        self.layers.forget(weights)
        return [d_x[..., : spec.input_size].contiguous(), *states, *found]

    def _weight_gradients(self, tensors: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        cell, hidden = self.layers.cell, self.spec.hidden_size
        own = [tensors["d_input"][..., :hidden].flatten(1)]
        if "d_recurrent" in tensors:
            own.append(tensors["d_recurrent"][..., :hidden].flatten(1))
        else:
            own.append(zeros(self.spec.output_size, 0))
        own.append(tensors["d_bias"][:, :hidden].flatten())
        if cell.vectors:
            own += [one.clone() for one in tensors["d_vectors"][:, :hidden]]
        if cell.projected:
            own.append(tensors["d_projection"][:, : self.spec.output_size].contiguous())
        return own

    def _states_of(self, y: torch.Tensor, initial: Tensors) -> torch.Tensor:
        """The array of T + 1 steps whose last T are y: the one that forward made, unless somebody copied y."""
        steps, batch, size = y.shape
        storage = y.untyped_storage()
        whole = (steps + 1) * batch * size * y.element_size()
        if storage.nbytes() == whole and y.storage_offset() == batch * size and y.is_contiguous():
            return empty(0).set_(storage, 0, (steps + 1, batch, size))
        cell = self.layers.cell
        first = initial[0][-1:] if initial else zeros(1, batch, size) + cell.start(cell.states[0])
        return torch.cat([first, y]).detach()


_FUNCTIONS = ("pack", "forward", "backward", "gradients")
