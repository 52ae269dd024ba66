"""The lines of code of a cell's page, run as they stand there (the framework is the argument): outputs, last states and gradients
against the float64 reference, errors as JSON."""

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

FOLDER = tempfile.TemporaryDirectory()
os.environ["RECURRENT_CELLS_CACHE"] = f"{FOLDER.name}/cache"
os.environ["RECURRENT_CELLS_CFLAGS"] = "-march=native -O1"

import numpy as np  # noqa: E402

from measurement import reference  # noqa: E402
from measurement.checking import relative_error  # noqa: E402
from recurrent_cells.cell_file import load  # noqa: E402
from recurrent_cells.sources import generate  # noqa: E402
from reporting import own_cell_lines  # noqa: E402
from tests.contract.own_cells import EXAMPLES, registered  # noqa: E402

LENGTH, BATCH, FEATURES, HIDDEN = 4, 3, 5, 6
CELLS = {
    **{name: EXAMPLES[name] for name in ("janet", "rwkv")},
    "many": Path("packages/recurrent_cells/tests/every_word.py"),
}
# One sequence, by gates of both; gates of h alone; without a matrix of h. (name, batch)
CASES = [("janet", 1), ("many", BATCH), ("rwkv", BATCH)]
# Half a minute each, as forward, forward with gradients and backward are compiled apart.
COMPILED = [("rwkv", BATCH)]
IN_CUDA_GRAPHS = "pytorch/compiled-graph"  # which is compiled the same on a CPU


class Case:
    """A cell with weights, and what its reference makes of a batch."""

    def __init__(self, name: str, batch: int) -> None:
        self.name, self.cell, random = name, load(CELLS[name]), np.random.default_rng(batch)
        called = registered(FOLDER.name, name, "numpy", one=self.cell)

        def drawn(*shape: int) -> np.ndarray:
            return random.uniform(-0.3, 0.3, shape).astype(np.float32)

        self.x = drawn(LENGTH, batch, FEATURES)
        columns = len(self.cell.x_gates) * HIDDEN
        self.w_input = drawn(FEATURES, columns)
        self.w_recurrent = drawn(HIDDEN, len(self.cell.h_gates) * HIDDEN)
        self.whole_bias = drawn(len(self.cell.declared_sums) * HIDDEN)
        self.vectors = [drawn(HIDDEN) + around for around in self.cell.around]
        self.vectors = [one.astype(np.float32) for one in self.vectors]
        self.bias, more = self.whole_bias[:columns], self.whole_bias[columns:]
        self.own = [*more.reshape(-1, HIDDEN), *self.vectors]
        starts = map(self.cell.start, self.cell.states)
        self.states = [np.full((batch, HIDDEN), start, np.float32) for start in starts]
        weights = [self.w_input, self.w_recurrent, self.whole_bias]
        weights += [np.concatenate(self.vectors)] if self.vectors else []
        exact = [one.astype(np.float64) for one in weights]
        x = self.x.astype(np.float64)
        self.y, self.last, tape = reference.layer(called, x, exact)
        d_x, d_input, d_recurrent, d_bias, *d_vectors = reference.layer_gradient(
            called, x, exact, tape, 2 * self.y
        )
        d_own = [*d_bias[columns:].reshape(-1, HIDDEN)]
        d_own += list(d_vectors[0].reshape(-1, HIDDEN)) if d_vectors else []
        self.gradients = [d_x, d_input, d_recurrent, d_bias[:columns], *d_own]

    def error(self, y: object, states: list, gradients: list | None = None) -> float:
        """gradients: of x, w_input, w_recurrent, bias and own, of the sum of y's squares."""
        pairs = [(y, self.y), *zip(states, self.last, strict=True)]
        pairs += zip(gradients, self.gradients, strict=True) if gradients else []
        return max(relative_error(np.asarray(a), b) for a, b in pairs if a is not None and b.size)


def lines(implementation: str, case: Case, kind: int = 0) -> str:
    """What a page has for a style. kind: of the kernel's, 1 is what runs without PyTorch."""
    shape = {"batch": len(case.x[0]), "length": LENGTH, "features": FEATURES}
    shape |= {"hidden": HIDDEN, "layers": 1}
    return own_cell_lines.of(implementation, case.cell.name, FOLDER.name, shape)[kind]


def module(implementation: str, case: Case) -> object:
    """The lines as a module of their own, beside what was generated, named as they import it."""
    framework = implementation.partition("/")[0]
    text = generate(case.cell, framework, "cell.py")
    Path(FOLDER.name, f"{case.cell.name}_{framework}.py").write_text(text)
    name = f"lines_{implementation.replace('/', '_').replace('-', '_')}_{case.name}"
    Path(FOLDER.name, f"{name}.py").write_text(lines(implementation, case))
    importlib.invalidate_caches()
    return importlib.import_module(name)


def pytorch(implementation: str, case: Case) -> dict[str, float]:
    import torch

    given = [case.x, case.w_input, case.w_recurrent, case.bias, *case.own]
    given = [torch.from_numpy(one.copy()).requires_grad_() for one in given]
    states = [torch.from_numpy(one) for one in case.states]
    layer = module(implementation, case).layer

    def run() -> tuple:
        return layer(*given[:4], given[4:], states)

    y, last = run()
    y.square().sum().backward()
    trained = case.error(y.detach(), [one.detach() for one in last], [one.grad for one in given])
    with torch.no_grad():
        y, last = run()
    return {"training": trained, "forward": case.error(y, last)}


def jax(implementation: str, case: Case) -> dict[str, float]:
    import jax

    layer = module(implementation, case).layer

    def loss(*given: object) -> tuple:
        y, last = layer(*given[:4], list(given[4:]), list(case.states))
        return (y * y).sum(), (y, last)

    given = [case.x, case.w_input, case.w_recurrent, case.bias, *case.own]
    places = tuple(range(len(given)))
    (_, (y, last)), gradients = jax.value_and_grad(loss, places, has_aux=True)(*given)
    forward = layer(*given[:4], given[4:], list(case.states))
    return {"training": case.error(y, last, list(gradients)), "forward": case.error(*forward)}


def tensorflow(implementation: str, case: Case) -> dict[str, float]:
    import tensorflow as tf

    made = module(implementation, case)
    xla = implementation.endswith("xla")
    layer = made.compiled if xla else made.layer
    same = case.cell.x_gates == case.cell.h_gates
    weights = [case.w_input, case.w_recurrent]
    weights = [np.concatenate(weights)] if same else weights
    given = [*map(tf.constant, (case.x, *weights, case.bias, *case.own))]
    after = 1 + len(weights)
    states = list(map(tf.constant, case.states))

    def run() -> tuple:
        w = given[1] if same else tuple(given[1:after])
        return layer(given[0], w, given[after], given[after + 1 :], states)

    if xla:
        y, last = run()
        w = given[1] if same else tuple(given[1:after])
        _, (d_w, d_bias, d_own) = made.trained(
            given[0], w, given[after], given[after + 1 :], states
        )
        d_x, d_weights = None, [*([d_w] if same else d_w), d_bias, *d_own]
    else:
        with tf.GradientTape() as tape:
            tape.watch(given)
            y, last = run()
            loss = tf.reduce_sum(y * y)
        d_x, *d_weights = tape.gradient(loss, given)
    if same:
        d_weights[:1] = tf.split(d_weights[0], [FEATURES, HIDDEN])
    return {"training": case.error(y, last, [d_x, *d_weights]), "forward": case.error(*run())}


def kernels(implementation: str, case: Case) -> dict[str, float]:
    import torch

    found, space = {}, {"x": torch.from_numpy(case.x.copy()).requires_grad_()}
    file = Path(FOLDER.name, f"{case.cell.name}.py")
    file.write_bytes(CELLS[case.name].read_bytes())
    torch.manual_seed(0)
    text = lines(implementation, case)
    made, _, after = text.partition("\ny, ")
    exec(made, space)
    layers = space["layers"]
    values = [case.w_input, case.w_recurrent, case.whole_bias, *case.vectors]
    with torch.no_grad():
        for parameter, value in zip(layers.parameters(), values, strict=True):
            parameter.copy_(torch.from_numpy(value))
    exec(f"y, {after}", space)
    y, states = space["y"], space["states"]
    states = [states] if len(case.cell.states) == 1 else states
    y.square().sum().backward()
    d_bias = layers.bias_l0.grad
    columns = len(case.bias)
    gradients = [space["x"].grad, *(each.grad for each in layers.parameters())]
    gradients[3:4] = [d_bias[:columns], *d_bias[columns:].view(-1, HIDDEN)]
    last = [one[0].detach() for one in states]
    found["training"] = case.error(y.detach(), last, gradients)
    outputs = []
    exec(lines(implementation, case, 1).partition("y_t = ")[0], space)
    for x_t in space["x"].detach():
        exec("y_t = stream.step(x_t)", space, {"x_t": x_t})
        outputs.append(space["stream"].y.numpy().copy())
    last = [one[0] for one in space["stream"].states]
    found["forward"] = case.error(np.array(outputs), last)
    return found


RUN = {"pytorch": pytorch, "jax": jax, "tensorflow": tensorflow, "recurrent_cells": kernels}


def main() -> None:
    framework, found = sys.argv[1], {}
    sys.path.insert(0, FOLDER.name)
    for implementation in own_cell_lines.CODE:
        if implementation.partition("/")[0] != framework or implementation == IN_CUDA_GRAPHS:
            continue
        for name, batch in COMPILED if "compiled" in implementation else CASES:
            for phase, error in RUN[framework](implementation, Case(name, batch)).items():
                found[f"{implementation} {name} {batch} {phase}"] = error
    print(json.dumps(found))


if __name__ == "__main__":
    main()
