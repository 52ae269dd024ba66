"""Hand wrong arguments to a compiled cell and print, as JSON, what each is told; what is computed instead is an error.

PyTorch's site-packages are the first argument.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernels.runtime import set_threads

set_threads(2)

import numpy as np  # noqa: E402

from kernels.compiled import CompiledCell, compile_cell, load_cell  # noqa: E402
from measurement.checking import relative_error  # noqa: E402
from recurrent_cells.cells import CELLS, reference  # noqa: E402

BATCH, LENGTH, INPUTS, HIDDEN, DEPTH = 3, 4, 16, 24, 2
SHAPE = (LENGTH, BATCH, INPUTS)
GRU = CELLS["gru"]
RANDOM = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


LAYERS = [reference.random_layer(GRU, size, HIDDEN, RANDOM) for size in (INPUTS, HIDDEN)]
X, D_Y = drawn(*SHAPE), drawn(LENGTH, BATCH, HIDDEN)


def told(attempt: Callable[[], object]) -> str:
    """The error's type and text."""
    try:
        attempt()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def with_weight(place: int, value: object) -> list:
    """The layers, a weight of the second one replaced."""
    other = list(LAYERS[1])
    other[place] = value
    return [LAYERS[0], other]


def on_arrays(compiled: CompiledCell) -> dict[str, str]:
    forward = compiled.forward
    state = {"h": drawn(DEPTH, BATCH, HIDDEN)}
    found = {
        "final before a pass": told(compiled.final),
        "backward before a pass": told(lambda: compiled.backward(D_Y)),
        "x [B, K]": told(lambda: forward(X[0], LAYERS)),
        "x of another batch": told(lambda: forward(drawn(LENGTH, 1, INPUTS), LAYERS)),
        "x of float64": told(lambda: forward(X.astype(np.float64), LAYERS)),
        "x a list": told(lambda: forward(X.tolist(), LAYERS)),
        "one layer": told(lambda: forward(X, LAYERS[:1])),
        "layers flat": told(lambda: forward(X, LAYERS[0])),
        "no bias": told(lambda: forward(X, [LAYERS[0], LAYERS[1][:2]])),
        "bias of H": told(lambda: forward(X, with_weight(2, drawn(HIDDEN)))),
        "bias [1]": told(lambda: forward(X, with_weight(2, drawn(1)))),
        "w_input turned": told(lambda: forward(X, with_weight(0, LAYERS[1][0].T))),
        "w_recurrent of float16": told(
            lambda: forward(X, with_weight(1, LAYERS[1][1].astype(np.float16)))
        ),
        "no such state": told(lambda: forward(X, LAYERS, {"c": state["h"]})),
        "state of one layer": told(lambda: forward(X, LAYERS, {"h": state["h"][0]})),
        "state no mapping": told(lambda: forward(X, LAYERS, state["h"])),
    }
    forward(X, LAYERS)
    found["d_y [B, H]"] = told(lambda: compiled.backward(D_Y[0]))
    found["d_final"] = told(lambda: compiled.backward(D_Y, {"h": drawn(HIDDEN)}))
    compiled.backward(D_Y)
    found["backward twice"] = told(lambda: compiled.backward(D_Y))
    return found


def on_tensors(compiled: CompiledCell) -> dict[str, str]:
    import torch

    x = torch.from_numpy(X.copy())
    weights = [torch.tensor(one, requires_grad=True) for layer in LAYERS for one in layer]

    def call(*given: object) -> Callable[[], object]:
        return lambda: compiled.torch(*given)

    found = {
        "tensor x no tensor": told(call(X, *weights)),
        "tensor x of float64": told(call(x.double(), *weights)),
        "tensor x narrow": told(call(x[..., :15], *weights)),
        "tensor x wide": told(call(torch.cat([x, x], -1), *weights)),
        "tensor x [B, K]": told(call(x[0], *weights)),
        "tensor x elsewhere": told(call(x.to("meta"), *weights)),
        "tensor x sparse": told(call(x.to_sparse(), *weights)),
        "tensors of one layer": told(call(x, *weights[:3])),
        "tensors without the last": told(call(x, *weights[:-1])),
        "tensor bias of H": told(call(x, *weights[:-1], weights[-1][:HIDDEN])),
        "tensor of float16": told(call(x, *weights[:-1], weights[-1].half())),
    }

    def refilled(value: torch.Tensor) -> Callable[[], object]:
        def attempt() -> None:
            y = compiled.torch(x, *weights)
            with torch.no_grad():
                (y if value is None else value).add_(1.0)
            y.sum().backward()

        return attempt

    found |= {
        "x refilled": told(refilled(x)),
        "weight refilled": told(refilled(weights[1])),
        "y refilled": told(refilled(None)),
    }

    def twice() -> None:
        (first,) = torch.autograd.grad(
            compiled.torch(x, *weights).sum(), weights[1], create_graph=True
        )
        first.sum().backward()

    found["double backward"] = told(twice)
    return found


def on_folders(compiled: CompiledCell) -> dict[str, str]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        found["empty folder"] = told(lambda: load_cell(GRU, folder))
        compiled.save(folder)
        found["another cell"] = told(lambda: load_cell(CELLS["lstm"], folder))
        other = replace(CELLS["mgu"], name="gru")
        found["another graph"] = told(lambda: load_cell(other, folder))
        found["no cell"] = told(lambda: load_cell(GRU.update, folder))
        metadata = Path(folder, "kernel.json")
        kernel = json.loads(metadata.read_text())
        for name, changed in (
            ("another machine", {"target": {"kind": "llvm", "mcpu": "a-cpu-to-come"}}),
            ("another kind", {"kind": "template"}),
        ):
            metadata.write_text(json.dumps({**kernel, **changed}))
            found[name] = told(lambda: load_cell(GRU, folder))
        metadata.write_text(json.dumps(kernel))
        load_cell(GRU, folder)
        with open(metadata.with_name("kernel.so"), "ab") as library:
            library.write(b"another")
        found["another library"] = told(lambda: load_cell(GRU, folder))
        metadata.write_text("{")
        found["damaged"] = told(lambda: load_cell(GRU, folder))
    return found


def final_error(compiled: CompiledCell) -> float:
    """Of the final states after a pass on tensors, in a process whose default is another type."""
    import torch

    torch.set_default_dtype(torch.float64)
    given = [torch.tensor(one) for layer in LAYERS for one in layer]
    y = compiled.torch(torch.from_numpy(X), *given)
    zero = {"h": np.zeros((DEPTH, BATCH, HIDDEN))}
    exact = [[value.astype(np.float64) for value in layer] for layer in LAYERS]
    wanted, final, _ = reference.forward(GRU, X.astype(np.float64), exact, zero)
    return max(relative_error(compiled.final()["h"], final["h"]), relative_error(y.numpy(), wanted))


def main() -> None:
    sys.path.append(sys.argv[1])
    compiled = compile_cell(GRU, BATCH, LENGTH, INPUTS, HIDDEN, DEPTH, threads=2)
    found = {**on_arrays(compiled), **on_tensors(compiled), **on_folders(compiled)}
    print(json.dumps({"told": found, "final": final_error(compiled)}))


if __name__ == "__main__":
    main()
