"""`Recurrent` of the examples' cells against their generated steps under PyTorch's autograd in float64; errors as JSON.

PyTorch's site-packages are the first argument. Cells: without a matrix of h, with states that do not begin at zero, and of everything.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory()
os.environ["RECURRENT_CELLS_CACHE"] = f"{FOLDER.name}/cache"

import torch  # noqa: E402

from kernels import Recurrent, saved  # noqa: E402
from kernels.arguments import weight_names  # noqa: E402
from kernels.compiled import compile_cell  # noqa: E402
from measurement.checking import relative_error  # noqa: E402
from recurrent_cells.cell_file import load  # noqa: E402
from tests.contract.own_cells import EXAMPLES, package  # noqa: E402

BATCH, LENGTH, INPUTS, HIDDEN, DEPTH = 7, 5, 6, 21, 2
CELLS = {
    **{name: EXAMPLES[name] for name in ("sru", "rwkv")},
    "every_word": Path("packages/recurrent_cells/tests/every_word.py"),
}
NAMES = {"w_input": "weight_input", "w_recurrent": "weight_recurrent"}


def exact(one, step, x, weights, states=None):
    """y and the final states, by the generated step. weights: each layer's, in float64."""
    final = []
    for number, (w_input, w_recurrent, bias, *vectors) in enumerate(weights):
        columns = w_input.shape[1]
        own = [*bias[columns:].view(-1, HIDDEN).unbind(), *vectors]
        if states is None:
            state = [x.new_full((BATCH, HIDDEN), one.start(name)) for name in one.states]
        else:
            state = [each[number] for each in states]
        outputs = []
        for x_t in x:
            state = step(x_t @ w_input + bias[:columns], state, w_recurrent, own)
            outputs.append(state[0])
        x = torch.stack(outputs)
        final.append(state)
    return x, [torch.stack(each) for each in zip(*final, strict=True)]


def errors(name: str, path: Path) -> dict[str, float]:
    one = load(path)
    step = package(FOLDER.name, name, one, "pytorch").step
    torch.manual_seed(0)
    layer, found = Recurrent(one, INPUTS, HIDDEN, DEPTH), {}
    around = [getattr(layer, f"{vector}_l1").mean().item() for vector in one.vectors]
    found["around"] = float(any(abs(a - b) > 0.22 for a, b in zip(around, one.around, strict=True)))
    for given in (False, True):
        drawn = [torch.rand(DEPTH, BATCH, HIDDEN) + 0.1 for _ in one.states] if given else []
        x = torch.rand(LENGTH, BATCH, INPUTS) * 2 - 1
        layer.zero_grad()
        own = [each.clone().requires_grad_() for each in (x, *drawn)]
        y, final = layer(own[0], own[1:] or None)
        final = [final] if len(one.states) == 1 else list(final)
        (y.square().sum() + sum(each.sum() for each in final)).backward()
        weights = [
            [
                getattr(layer, f"{NAMES.get(each, each)}_l{number}")
                .detach()
                .double()
                .requires_grad_()
                for each in weight_names(one)
            ]
            for number in range(DEPTH)
        ]
        other = [each.double().requires_grad_() for each in (x, *drawn)]
        wanted, last = exact(one, step, other[0], weights, other[1:] or None)
        (wanted.square().sum() + sum(each.sum() for each in last)).backward()
        pairs = [(y, wanted), *zip(final, last, strict=True)]
        pairs += [(a.grad, b.grad) for a, b in zip(own, other, strict=True) if b.grad is not None]
        for number, layered in enumerate(weights):
            for each, value in zip(weight_names(one), layered, strict=True):
                grad = getattr(layer, f"{NAMES.get(each, each)}_l{number}").grad
                if value.numel():
                    pairs.append((grad, value.grad))
        with torch.no_grad():
            pairs.append((layer(x, drawn or None)[0], wanted))
        found["given" if given else "begun"] = max(
            relative_error(a.detach().numpy(), b.detach().numpy()) for a, b in pairs
        )
    layer.save(f"{FOLDER.name}/saved-{name}", BATCH, LENGTH)
    with torch.no_grad():
        wanted = layer(x)[0].numpy()
    found["saved"] = relative_error(saved.load(f"{FOLDER.name}/saved-{name}")(x.numpy())[0], wanted)
    compiled = compile_cell(one, BATCH, LENGTH, INPUTS, HIDDEN, DEPTH, threads=2)
    flat = [
        getattr(layer, f"{NAMES.get(each, each)}_l{number}").detach()
        for number in range(DEPTH)
        for each in weight_names(one)
    ]
    each = len(weight_names(one))
    arrays = [[w.numpy() for w in flat[n * each : (n + 1) * each]] for n in range(DEPTH)]
    found["compiled"] = relative_error(compiled.forward(x.numpy(), arrays), wanted)
    found["compiled torch"] = relative_error(compiled.torch(x, *flat).numpy(), wanted)
    return {f"{name} {kind}": value for kind, value in found.items()}


def main() -> None:
    found: dict[str, float] = {}
    for name, path in CELLS.items():
        found |= errors(name, path)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
