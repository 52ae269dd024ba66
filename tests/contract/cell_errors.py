"""Errors of a cell's kernels, in inference and in training, against the reference in float64."""

from pathlib import Path
from typing import Any

import numpy as np

from kernels.build import build_template, build_training
from kernels.run import TemplateRunner
from kernels.search.space import default_schedule
from kernels.spec import KernelSpec
from kernels.train import TrainingRunner
from kernels.workload import cell_name
from measurement.cells import BUILT_IN
from measurement.checking import relative_error
from measurement.precision import FLOAT32
from recurrent_cells import cells
from recurrent_cells.cells import Cell, reference

CELLS = {name: cells.CELLS[name] for name in map(cell_name, BUILT_IN)}
"""The cells of rows."""


def cell_errors(
    name: str | Cell,
    shape: tuple[int, ...],
    folder: Path,
    target: dict[str, Any],
    data_type: str = FLOAT32,
) -> dict[str, float]:
    """Errors of a cell's kernels: of inference, and of training, which is in float32, every result and gradient of the second
    pass."""
    cell = name if isinstance(name, Cell) else CELLS[name]
    spec = KernelSpec(*shape, threads=target["num-cores"], cell=cell.name, data_type=data_type)
    random = np.random.default_rng(0)
    layers = [
        reference.random_layer(cell, k, spec.hidden_size, random, spec.hidden_size)
        for k in spec.input_sizes()
    ]

    def drawn(*shape: int) -> np.ndarray:
        return random.uniform(0.1, 1, shape).astype(np.float32)

    x = drawn(spec.length, spec.batch, spec.input_size)
    d_y = drawn(spec.length, spec.batch, spec.hidden_size)

    of_layers = spec.depth, spec.batch, spec.hidden_size

    def states() -> dict[str, np.ndarray]:
        return {each: drawn(*of_layers) for each in cell.states}

    initial, d_final = states(), states()
    sizes = dict.fromkeys(cell.states, spec.hidden_size)
    begin = reference.initial_states(cell, spec.depth, spec.batch, sizes)
    exact = [[value.astype(np.float64) for value in layer] for layer in layers]
    schedule = default_schedule(spec, target, cell)
    build_template(spec, schedule, target, folder, cell=cell)
    inference = TemplateRunner(folder, layers, cell)
    inference.set_input(x)
    inference()
    expected, _, _ = reference.forward(cell, x.astype(np.float64), exact, begin)
    errors = {"inference": relative_error(inference.result(), expected)}
    if data_type != FLOAT32:
        return errors
    # In a folder of its own: a library that is loaded stays the one of its path.
    build_training(spec, schedule, target, folder / "training", cell)
    runner = TrainingRunner(folder / "training", cell)
    runner.set_weights(layers)
    for _ in range(2):
        runner.input[...] = x
        runner.forward(initial)
        runner.output_gradient[...] = d_y
        runner.backward(d_final)
    y, final, tape = reference.forward(cell, x.astype(np.float64), exact, initial)
    d_x, d_initial, d_layers = reference.gradients(cell, exact, tape, d_y, d_final)
    found = runner.gradients()
    pairs = {"output": (runner.output, y), "d x": (found.x, d_x)}
    for each in cell.states:
        pairs[f"final {each}"] = runner.final()[each], final[each]
        pairs[f"d initial {each}"] = found.initial[each], d_initial[each]
    for number, (own, wanted) in enumerate(zip(found.layers, d_layers, strict=True)):
        for place, pair in enumerate(zip(own, wanted, strict=True)):
            pairs[f"d weights {number} {place}"] = pair
    return errors | {key: relative_error(*pair) for key, pair in pairs.items()}
