"""`Recurrent` against PyTorch's own layers in float64, and what it does with weights, files, graphs and mistakes; as JSON.

PyTorch's site-packages are the first argument.
"""

import copy
import gc
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(sys.argv[1])
FOLDER = tempfile.TemporaryDirectory()
os.environ["RECURRENT_CELLS_CACHE"] = f"{FOLDER.name}/cache"

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

from kernels import Recurrent, cell, memory, native, saved, sigmoid, tanh  # noqa: E402
from measurement.checking import relative_error  # noqa: E402
from recurrent_cells.cells import CELLS  # noqa: E402

BATCH, LENGTH, INPUTS, HIDDEN, DEPTH = 13, 5, 13, 24, 2


@cell(gates="f g", states="h")
def mine(f, g, h):
    f = sigmoid(f)
    return f * h + (1 - f) * tanh(g)


def error(pairs: object) -> float:
    return max(relative_error(a.detach().numpy(), b.detach().numpy()) for a, b in pairs)


def layers(**more: object) -> tuple[nn.LSTM, Recurrent]:
    """nn.LSTM in float64 and the same of ours."""
    torch.manual_seed(0)
    lstm = nn.LSTM(INPUTS, HIDDEN, DEPTH, **more)
    return copy.deepcopy(lstm).double(), Recurrent.from_lstm(lstm)


def against_lstm(**more: object) -> dict[str, float]:
    """y, final states, and gradients of everything, with and without initial states; then without gradients."""
    lstm, own = layers(**more)
    random = np.random.default_rng(0)
    size = (BATCH, LENGTH, INPUTS) if more.get("batch_first") else (LENGTH, BATCH, INPUTS)
    outputs = more.get("proj_size") or HIDDEN
    found = {}
    for name in ("zero", "given"):
        shapes = [size, (DEPTH, BATCH, outputs), (DEPTH, BATCH, HIDDEN)]
        drawn = [torch.tensor(random.uniform(-1, 1, shape).astype(np.float32)) for shape in shapes]
        both = []
        for layer, dtype in ((own, torch.float32), (lstm, torch.float64)):
            x, h, c = (one.to(dtype, copy=True).requires_grad_() for one in drawn)
            y, (h_n, c_n) = layer(x, (h, c)) if name == "given" else layer(x)
            layer.zero_grad()
            ((y**2).sum() + (h_n * h).sum() + (c_n * c).sum()).backward()
            both.append([y, h_n, c_n, x.grad, h.grad, c.grad])
            with torch.no_grad():
                y, (h_n, c_n) = layer(x, (h, c)) if name == "given" else layer(x)
            both[-1] += [y, h_n, c_n]
        found[name] = error(zip(*both, strict=True))
        turned = []
        for number in range(DEPTH):
            grad = dict(lstm.named_parameters())
            for mine_, theirs in (
                ("weight_input", "weight_ih"),
                ("weight_recurrent", "weight_hh"),
                ("bias", "bias_ih"),
                ("weight_projection", "weight_hr"),
            ):
                if (other := grad.get(f"{theirs}_l{number}")) is not None:
                    value = other.grad.t() if other.dim() == 2 else other.grad
                    turned.append((getattr(own, f"{mine_}_l{number}").grad, value))
        found[f"{name} weights"] = error(turned)
        lstm, own = layers(**more)
    return found


def written_weights() -> dict[str, float]:
    """Weights that changed are packed again, however they were written."""
    _, own = layers()
    x = torch.rand(LENGTH, BATCH, INPUTS)
    found = {}

    def compare(name: str) -> None:
        with torch.no_grad():
            found[name] = error([(own(x)[0], own.to_lstm()(x)[0])])

    compare("before")
    with torch.no_grad():
        own.weight_input_l0.mul_(2.0)
    compare("in place")
    own.load_state_dict({name: value * 0.5 for name, value in own.state_dict().items()})
    compare("load_state_dict")
    own(x)[0].sum().backward()
    for one in own.parameters():
        one.data.add_(one.grad, alpha=-0.1)  # which no counter sees
    compare("data after backward")
    own.weight_recurrent_l1.data = torch.rand_like(own.weight_recurrent_l1) / 9
    compare("data anew")
    own.train()
    own.bias_l1.data.add_(0.3)
    own.eval()
    compare("data before eval")
    other = Recurrent("lstm", INPUTS, HIDDEN, DEPTH)
    with torch.no_grad():
        other(x)
    compare("another module")
    own.zero_grad()
    first = own(x)[0].sum()
    other(x)[0].sum().backward()
    first.backward(retain_graph=True)
    once = [one.grad.clone() for one in own.parameters()]
    own.zero_grad()
    first.backward()  # a second time
    found["retain_graph"] = error(zip((p.grad for p in own.parameters()), once, strict=True))
    return found


def copies() -> dict[str, float]:
    """state_dict, deepcopy, pickle, from_lstm and back, a cell of one's own, one sequence alone."""
    _, own = layers()
    x = torch.rand(LENGTH, BATCH, INPUTS)
    fresh = Recurrent("lstm", INPUTS, HIDDEN, DEPTH)
    fresh.load_state_dict(own.state_dict())
    again = [fresh, copy.deepcopy(own), pickle.loads(pickle.dumps(own)), own.to_lstm()]
    with torch.no_grad():
        wanted = own(x)[0]
        found = {"copies": error([(one(x)[0], wanted) for one in again])}
        alone = own(x[:, 0])
        found["one sequence"] = error([(alone[0], wanted[:, 0]), (alone[1][0], own(x)[1][0][:, 0])])
        cut = x.repeat(1, 1, 2)[..., :INPUTS]
        found["strides"] = error([(own(cut)[0], own(cut.clone())[0])])
    special = Recurrent(mine, INPUTS, HIDDEN)
    pickled = pickle.loads(pickle.dumps(special))
    y, state = special(x)
    found["own cell"] = error([(pickled(x)[0], y), (state, y[-1:])])
    found["own cell's copy"] = error([(copy.deepcopy(special)(x)[0], y)])
    return found


def compiled() -> dict[str, float]:
    """A model around it as one graph, forward and backward."""
    _, own = layers()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.layers = nn.Linear(INPUTS, INPUTS), own
            self.after = nn.Linear(HIDDEN, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y, (h, _) = self.layers(torch.relu(self.before(x)))
            return self.after(y * 2).sum() + h.sum()

    model = Model()
    x = torch.rand(LENGTH, BATCH, INPUTS)
    graph = torch.compile(model, fullgraph=True)
    pairs = []
    for one in (model, graph):
        model.zero_grad()
        loss = one(x)
        loss.backward()
        pairs.append([loss, *(p.grad.clone() for p in model.parameters())])
        with torch.no_grad():
            pairs[-1].append(one(x))
    return {"compiled": error(zip(*pairs, strict=True))}


def told(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def refused() -> dict[str, str]:
    _, own = layers()
    x = torch.rand(LENGTH, BATCH, INPUTS)
    zero = torch.zeros(DEPTH, BATCH, HIDDEN)

    def autocast() -> None:
        with torch.autocast("cpu"):
            own(x)

    def twice() -> None:
        given = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(own(given)[0].sum(), given, create_graph=True)
        first.sum().backward()

    def written() -> None:
        given = x.clone()
        y, _ = own(given)
        given.zero_()
        y.sum().backward()

    packed = nn.utils.rnn.pack_padded_sequence(x, [LENGTH] * BATCH)
    return {
        "half x": told(lambda: own(x.half())),
        "half weights": told(lambda: copy.deepcopy(own).half()(x)),
        "double weights": told(lambda: copy.deepcopy(own).double()(x)),
        "elsewhere": told(lambda: own(x.to("meta"))),
        "autocast": told(autocast),
        "double backward": told(twice),
        "x written": told(written),
        "packed sequence": told(lambda: own(packed)),
        "x narrow": told(lambda: own(x[..., 1:])),
        "x empty": told(lambda: own(x[:0])),
        "one state": told(lambda: own(x, zero)),
        "state of one layer": told(lambda: own(x, (zero, zero[:1]))),
        "no such cell": told(lambda: Recurrent("elman", 3, 4)),
        "no cell": told(lambda: Recurrent(lambda f: f, 3, 4)),
        "no size": told(lambda: Recurrent("gru", 3, 0)),
        "no projection": told(lambda: Recurrent("projected", 3, 4)),
        "bidirectional": told(lambda: Recurrent.from_lstm(nn.LSTM(3, 4, bidirectional=True))),
        "to_lstm of a gru": told(lambda: Recurrent("gru", 3, 4).to_lstm()),
    }


ON_ARRAYS = """
import sys
sys.modules["torch"] = None
import numpy as np
from kernels import load
layers = load(sys.argv[1])
given = np.load(sys.argv[2])
y, final = layers(given["x"], {"c": given["c"]})
np.savez(sys.argv[3], y=y, **final)
assert "tvm" not in sys.modules
assert "libtvm_compiler" not in open("/proc/self/maps").read()
"""


def on_arrays() -> dict[str, float]:
    """Saved, and run by a process without PyTorch and without TVM's compiler."""
    _, own = layers()
    folder = Path(FOLDER.name)
    own.save(folder / "saved", BATCH, LENGTH)
    x, c = torch.rand(LENGTH, BATCH, INPUTS), torch.rand(DEPTH, BATCH, HIDDEN)
    np.savez(folder / "given.npz", x=x.numpy(), c=c.numpy())
    files = [folder / name for name in ("saved", "given.npz", "found.npz")]
    subprocess.run([sys.executable, "-c", ON_ARRAYS, *files], check=True)
    with torch.no_grad():
        y, (h, c) = own(x, (torch.zeros_like(c), c))
    found = np.load(files[-1])
    before = saved.load(folder / "saved")
    own.save(folder / "saved", 1, LENGTH)
    after = saved.load(folder / "saved")
    pairs = [(before(x.numpy())[0], own(x)[0]), (after(x.numpy()[:, :1])[0], own(x[:, :1])[0])]
    return {
        "saved twice": max(relative_error(a, b.detach().numpy()) for a, b in pairs),
        "arrays": max(
            relative_error(found[name], value.numpy())
            for name, value in (("y", y), ("h", h), ("c", c))
        ),
    }


def blocks() -> dict[str, float]:
    """Memory that is used again: two passes alive at once, then one in what they left; nothing is left in use."""
    lstm, own = layers()
    most, memory.LARGE = memory.LARGE, 64
    pairs = []
    for count in (2, 1):
        given = [torch.rand(LENGTH, BATCH, INPUTS) for _ in range(count)]
        both = []
        for layer, dtype in ((own, torch.float32), (lstm, torch.float64)):
            xs = [x.to(dtype, copy=True).requires_grad_() for x in given]
            ys = [layer(x)[0] for x in xs]
            for y in ys:
                (y**2).sum().backward()
            both.append([one.detach().clone() for one in (*ys, *(x.grad for x in xs))])
            del xs, ys, y
        pairs += zip(*both, strict=True)
    own.zero_grad()
    memory.LARGE = most
    gc.collect()
    left = memory._BLOCKS._used
    return {"used again": error(pairs), "blocks left in use": float(left)}


def example() -> dict[str, float]:
    """The README's, under the name that the package has in this repository."""
    text = Path("scripts/kernels/README.md").read_text()
    program = next(
        one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Recurrent" in one
    )
    names: dict = {"__name__": "__main__"}
    exec(program.replace("recurrent_cells", "kernels"), names)
    return {"example": error([(names["state"], names["y"][-1:])])}


def main() -> None:
    torch.set_num_threads(2)
    assert CELLS["lstm"].gates == ("i", "f", "g", "o")
    errors = {}
    for name, more in (
        ("lstm", {}),
        ("batch first", {"batch_first": True}),
        ("projected", {"proj_size": 10}),
    ):
        errors |= {f"{name} {key}": value for key, value in against_lstm(**more).items()}
    errors |= blocks() | example() | written_weights() | copies() | compiled() | on_arrays()
    pool = native.openmp_pool() is not None
    print(json.dumps({"errors": errors, "told": refused(), "pool": pool}))


if __name__ == "__main__":
    main()
