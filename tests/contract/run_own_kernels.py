"""TVM's template with other cells, as JSON: errors of kernels of the examples' cells and of the language's functions; what the gate says
of built-in cells and of a row of one's own, and of a kernel and a reference that share a wrong rule of the derivative."""

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
from kernels.workload import cell_name, spec_of  # noqa: E402
from measurement import checking  # noqa: E402
from measurement.cells import BUILT_IN  # noqa: E402
from recurrent_cells.cell_file import load  # noqa: E402
from recurrent_cells.cells import CELLS, cell, cos, exp, log, sigmoid, sin, softplus, sqrt, tanh  # noqa: E402
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
MODELS = ("gru", "peephole")  # a product kept apart, and vectors; other cells' rows are classifiers
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


def gate(called: str, corpus: Path, target: dict) -> dict[str, dict]:
    """{phase: what the check says} of a row by the template; called: its cell."""
    sizes = {"threads": THREADS, "cell": called, "hidden": 16}
    if called in MODELS:
        work = tiny.workload(corpus, embedding=16, **sizes)
    else:
        work = tiny.classifier("one-way", **sizes)
    work.kernel, spec = str(corpus / "gate" / called), spec_of(work)
    one = CELLS[cell_name(called)]
    around = (work.vocabulary, None if work.vocabulary else work.outputs)
    schedule = default_schedule(spec, target, one)
    build_template(spec, schedule, target, Path(work.kernel), *around, cell=one)
    return {
        phase: checking.check_implementation(
            lambda work, weights, phase=phase: template_tuned.build(work, weights, "cpu", phase),
            *(work, work.weights(), phase),
            tolerance=1e-4,
            steps=3,
        )[1]
        for phase in ("forward", "training")
    }


def main() -> None:
    found: dict = {}
    target = cpu_target(THREADS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tiny.write_corpus(folder)
        files = {name: EXAMPLES[name] for name in SAMPLE}
        files |= {"every word": Path("packages/recurrent_cells/tests/every_word.py")}
        found["functions"] = function_errors(folder / "functions", target)
        found["kernels"] = {
            f"{key} {kind}": cell_errors(load(path), shape, folder / key / kind, target)
            for key, path in files.items()
            for kind, shape in (("rows", ROWS), ("units", UNITS))[: 1 + (key in DIVIDED)]
        }
        rows = [each for each in BUILT_IN if each != "lstm"]  # run_kernels.py
        rows.append(registered(name, "sru", "tvm"))
        found["rows"] = {called: gate(called, folder, target) for called in rows}
        PARTIALS["tanh"] = lambda one, a: (1.0 - one,)
        backward.cache_clear()
        found["planted"] = gate(registered(name, "janet", "tvm"), folder, target)["training"]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
