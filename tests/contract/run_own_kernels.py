"""Errors of kernels of the examples' cells and of the language's functions, and what the gate says of a kernel and a reference that share
a wrong rule of the derivative; as JSON."""

import json
import tempfile
from pathlib import Path

from kernels.runtime import set_threads

THREADS = 2
set_threads(THREADS)

import numpy as np  # noqa: E402

from implementations.tvm import template_tuned  # noqa: E402
from kernels.build import build_template  # noqa: E402
from kernels.run import TemplateRunner  # noqa: E402
from kernels.search.space import default_schedule  # noqa: E402
from kernels.spec import KernelSpec  # noqa: E402
from kernels.target import cpu_target  # noqa: E402
from kernels.workload import spec_of  # noqa: E402
from measurement import checking  # noqa: E402
from recurrent_cells.cell_file import load  # noqa: E402
from recurrent_cells.cells import cell, cos, exp, log, sigmoid, sin, softplus, sqrt, tanh  # noqa: E402
from recurrent_cells.cells.derivative import PARTIALS, backward  # noqa: E402
from tests import tiny  # noqa: E402
from tests.contract.cell_errors import cell_errors  # noqa: E402
from tests.contract.own_cells import EXAMPLES, registered  # noqa: E402

ROWS = (13, 4, 9, 21, 2)  # batch, length, inputs, hidden, depth: rows divided, units that pad
UNITS = (3, 4, 9, 40, 2)  # units divided
# Without a matrix of h, with complex states, vectors and gates kept apart, norms; without those of heads and second products,
# which the template has not.
SAMPLE = ("rwkv", "real_gated_lru", "bistable", "multiplicative_integration", "normed_gru")
DIVIDED = ("rwkv", "multiplicative_integration")
LANES = 16

# The range of each, what is exact, and the largest error relative to the value (of those that are at most 1, to 1).
FUNCTIONS = {
    "exp": (-80, 80, np.exp, 6e-6),
    "log": (1e-30, 50, np.log, 4e-7),
    "sqrt": (0, 1e6, np.sqrt, 2e-7),
    "sin": (-8192, 8192, np.sin, 4e-7),
    "cos": (-8192, 8192, np.cos, 4e-7),
    "softplus": (-60, 60, lambda x: np.logaddexp(x, 0), 5e-6),
    "sigmoid": (-30, 30, lambda x: 1 / (1 + np.exp(-x)), 4e-7),
    "tanh": (-20, 20, np.tanh, 4e-7),
}


@cell(gates="a b c d e f g i", x_only="a b c d e f g i", states="h o p q r s t u")
def functions(a, b, c, d, e, f, g, i):
    return exp(a), log(b), sqrt(c), sin(d), cos(e), softplus(f), sigmoid(g), tanh(i)


def function_errors(folder: Path, target: dict) -> dict[str, tuple[float, float]]:
    """{function: (largest error, its bound)}, of values all over its range."""
    batch, count = 4096, len(FUNCTIONS)
    spec = KernelSpec(batch, 1, count * LANES, LANES, 1, THREADS, functions.name)
    random = np.random.default_rng(0)
    columns = []
    for low, high, _, _ in FUNCTIONS.values():
        drawn = random.uniform(low, high, (batch, LANES))
        near = random.uniform(max(low, -1.5), min(high, 1.5), (batch, LANES))
        columns.append(np.where(random.uniform(size=drawn.shape) < 0.5, drawn, near))
    x = np.concatenate(columns, -1).astype(np.float32)
    layer = [
        np.eye(count * LANES, dtype=np.float32),
        np.zeros((LANES, 0), np.float32),
        np.zeros(count * LANES, np.float32),
    ]
    build_template(spec, default_schedule(spec, target, functions), target, folder, cell=functions)
    runner = TemplateRunner(folder, [layer], functions)
    runner.set_input(x[None])
    runner()
    found = {}
    for place, (name, (_, _, exact, bound)) in enumerate(FUNCTIONS.items()):
        got = np.from_dlpack(runner.outputs[1 + place])[0].astype(np.float64)
        wanted = exact(x[:, place * LANES : (place + 1) * LANES].astype(np.float64))
        size = (
            1.0 if name in ("sin", "cos", "sigmoid", "tanh") else np.maximum(np.abs(wanted), 1e-30)
        )
        # The logarithm of about 1 is about 0: float32 has it relative to that, too.
        found[name] = float(np.abs((got - wanted) / size).max()), bound
    return found


def gate(called: str, folder: Path, target: dict) -> dict:
    """What the check says of a classifier by the template, in training."""
    work = tiny.classifier("one-way", threads=THREADS, cell=called, hidden=16)
    work.kernel, spec = str(folder), spec_of(work)
    from recurrent_cells.cells import CELLS

    schedule = default_schedule(spec, target, CELLS[called])
    build_template(spec, schedule, target, folder, None, work.outputs, cell=CELLS[called])
    return checking.check_implementation(
        lambda work, weights: template_tuned.build(work, weights, "cpu", "training"),
        *(work, work.weights(), "training"),
        tolerance=1e-4,
        steps=3,
    )[1]


def main() -> None:
    found: dict = {}
    target = cpu_target(THREADS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cells = {name: EXAMPLES[name] for name in SAMPLE}
        cells |= {"every word": Path("packages/recurrent_cells/tests/every_word.py")}
        found["functions"] = function_errors(folder / "functions", target)
        for key, path in cells.items():
            for kind, shape in (("rows", ROWS), ("units", UNITS))[: 1 + (key in DIVIDED)]:
                errors = cell_errors(load(path), shape, folder / key / kind, target)
                found[f"{key} {kind}"] = {"status": "ok", "reason": "", "errors": errors}
        found["gate"] = gate(registered(name, "sru", "tvm"), folder / "gate", target)
        PARTIALS["tanh"] = lambda one, a: (1.0 - one,)
        backward.cache_clear()
        found["planted rule"] = gate(registered(name, "janet", "tvm"), folder / "planted", target)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
