"""Run the example of scripts/kernels/README.md and print, as JSON, what a compiled cell gives.

With PyTorch beside TVM (its site-packages as the first argument), gradients through its autograd too: of a GRU and of
peepholes against PyTorch's own in float64.
"""

import json
import re
import sys
import tempfile
from itertools import chain
from pathlib import Path

from kernels.runtime import set_threads

set_threads(2)

import numpy as np  # noqa: E402

from kernels.compiled import compile_cell, load_cell  # noqa: E402
from measurement.checking import relative_error  # noqa: E402
from recurrent_cells.cells import CELLS, reference  # noqa: E402

README = Path("scripts/kernels/README.md")
SIZES = (5, 4, 16, 24, 2)  # batch, length, input, hidden, depth
PROJECTED = 10


def programs() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def example() -> dict:
    """What the README's program defines when it has run, under the name that the package has in this repository."""
    (program,) = (one for one in programs() if "compile_cell" in one)
    program = program.replace("recurrent_cells", "kernels")
    names: dict = {}
    exec(compile(program, str(README), "exec"), names)
    return names


def example_errors() -> dict:
    """Errors of the example's output and gradients, and of the same cell saved and loaded."""
    names = example()
    one, x, layer, d_y = (names[key] for key in ("mine", "x", "layer", "d_y"))
    exact = [[value.astype(np.float64) for value in layer]]
    zero = {name: np.zeros((1, *d_y.shape[1:])) for name in one.states}
    y, _, tape = reference.forward(one, x.astype(np.float64), exact, zero)
    d_x, _, (d_layer,) = reference.gradients(one, exact, tape, d_y.astype(np.float64), zero)
    found = names["gradients"]
    with tempfile.TemporaryDirectory() as folder:
        names["compiled"].save(folder)
        again = load_cell(one, folder).forward(x, [layer])
    pairs = [(names["y"], y), (again, y), (found.x, d_x)]
    pairs += list(zip(found.layers[0], d_layer, strict=True))
    return {"example": max(relative_error(*pair) for pair in pairs)}


def torch_errors() -> dict:
    """Errors of gradients through PyTorch's autograd, of every weight and of x."""
    import torch

    found = {}
    batch, length, inputs, hidden, depth = SIZES
    for name in ("gru", "peephole", "projected"):
        one, random = CELLS[name], np.random.default_rng(0)
        output = PROJECTED if one.projected else hidden
        projection = PROJECTED if one.projected else 0
        compiled = compile_cell(one, *SIZES, threads=2, projection_size=projection)
        layers = [
            reference.random_layer(one, size, hidden, random, output)
            for size in [inputs] + [output] * (depth - 1)
        ]
        x = random.uniform(-1, 1, (length, batch, inputs)).astype(np.float32)
        d_y = random.uniform(-1, 1, (length, batch, output)).astype(np.float32)
        given = [torch.tensor(value, requires_grad=True) for value in (x, *chain(*layers))]
        y = compiled.torch(*given)
        other = compiled.torch(*given)  # a second pass must not disturb the first one
        y.backward(torch.from_numpy(d_y))
        sizes = {**dict.fromkeys(one.states, hidden), one.states[0]: output}
        zero = {each: np.zeros((depth, batch, size)) for each, size in sizes.items()}
        exact = [[value.astype(np.float64) for value in layer] for layer in layers]
        wanted, _, tape = reference.forward(one, x.astype(np.float64), exact, zero)
        d_x, _, d_layers = reference.gradients(one, exact, tape, d_y.astype(np.float64), zero)
        errors = [relative_error(each.detach().numpy(), wanted) for each in (y, other)]
        for value, gradient in zip(given, (d_x, *chain(*d_layers)), strict=True):
            errors.append(relative_error(value.grad.numpy(), gradient))
        found[f"torch {name}"] = max(errors)
    # PyTorch's own GRU orders its gates r, z, n too, and is linear before reset.
    layer = torch.nn.GRU(inputs, hidden, depth).double()
    x = torch.rand(length, batch, inputs, dtype=torch.float64)
    flat = []
    for number in range(depth):
        w_input, w_recurrent, b_input, b_recurrent = layer.all_weights[number]
        r, z, n = (b_input + b_recurrent).split(hidden)[:2] + b_input.split(hidden)[2:]
        bias = torch.cat([r, z, n, b_recurrent.split(hidden)[2]])
        flat += [each.detach().float() for each in (w_input.T, w_recurrent.T, bias)]
    compiled = compile_cell(CELLS["gru"], *SIZES, threads=2)
    found["torch nn.GRU"] = relative_error(
        compiled.torch(x.float(), *flat).numpy(), layer(x)[0].detach().numpy()
    )
    # Its LSTM with a projection orders its gates i, f, g, o too.
    layer = torch.nn.LSTM(inputs, hidden, depth, proj_size=PROJECTED).double()
    flat = []
    for w_input, w_recurrent, b_input, b_recurrent, w_projection in layer.all_weights:
        own = w_input.T, w_recurrent.T, b_input + b_recurrent, w_projection.T
        flat += [each.detach().float() for each in own]
    compiled = compile_cell(CELLS["projected"], *SIZES, threads=2, projection_size=PROJECTED)
    found["torch nn.LSTM"] = relative_error(
        compiled.torch(x.float(), *flat).numpy(), layer(x)[0].detach().numpy()
    )
    return found


def main() -> None:
    found = example_errors()
    if sys.argv[1:]:
        sys.path.append(sys.argv[1])
        found |= torch_errors()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
