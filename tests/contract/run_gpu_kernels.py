"""TVM's kernels for GPUs, as far as that goes without one, as JSON.

{"errors": {way: of all steps, run on a CPU}, "trials": in the database of MetaSchedule's rules for CUDA after a search whose
candidates are scheduled and built as on a GPU, and not run, "kernels": {way: in its CUDA source}}.
"""

import functools
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernels.runtime import set_threads

set_threads(1)

import numpy as np  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.testing.dummy_object import DummyRunner  # noqa: E402

from kernels.spec import KernelSpec  # noqa: E402
from kernels.target import cpu_target  # noqa: E402
from kernels.variants import automatic, default_rules_gpu, dlight  # noqa: E402
from kernels.variants.run_gpu import GraphRunner, SplitStepsRunner  # noqa: E402
from kernels.variants.te_lstm import split_step_functions  # noqa: E402
from kernels.workload import spec_of  # noqa: E402
from measurement import checking, reference  # noqa: E402
from measurement.workload import Workload, layer_weights  # noqa: E402

SHAPE = {"features": 16, "hidden": 32, "layers": 2, "length": 4, "batch": 8}
TRIALS = 10


def error(work: Workload, folder: Path, runner_type: Callable) -> float:
    """Worst error over two inputs in turn."""
    weights = work.weights()
    runner = runner_type(folder, layer_weights(weights), "cpu")
    inputs, _ = next(work.batches())
    worst = 0.0
    for x in (inputs, inputs * np.float32(0.5), inputs):
        runner.set_input(runner.pinned(x))
        runner()
        runner.synchronise()
        worst = max(worst, checking.relative_error(runner.result(), reference.output(weights, x)))
    return worst


def errors(work: Workload, folder: Path) -> dict[str, float]:
    """Of the host's part of both ways. Instead of a graph that is replayed, the steps are called again."""
    spec, target = spec_of(work), cpu_target(1)
    automatic.build_steps(spec, target, folder, functions=split_step_functions)

    def again(*given: object) -> GraphRunner:
        return GraphRunner(*given, capture=lambda device, launch: launch)

    return {
        "default-rules-gpu": error(work, folder, again),
        "dlight": error(work, folder, SplitStepsRunner),
    }


def searched(spec: KernelSpec, target: dict, folder: Path) -> int:
    """Trials in the database of a search in few candidates, which believes whatever it is told of their times."""
    few = ms.search_strategy.EvolutionarySearch(
        population_size=64, init_min_unmeasured=4, genetic_num_iters=1
    )
    ms.tune_tir = functools.partial(ms.tune_tir, strategy=few)
    ms.runner.LocalRunner = lambda **_: DummyRunner()
    default_rules_gpu.require_gpu = lambda: None
    return default_rules_gpu.tune(spec, target, TRIALS, folder).trials


def main() -> None:
    work = Workload(SHAPE, None, seed=0, threads=1)
    spec, found = spec_of(work), {"kernels": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["errors"] = errors(work, folder / "cpu")
        target, database = default_rules_gpu.target(), folder / "database"
        found["trials"] = searched(spec, target, database)
        for way, module in (("default-rules-gpu", default_rules_gpu), ("dlight", dlight)):
            module.build(spec, target, folder / way, database, None)
            code = (folder / way / "kernel.cu").read_text()
            found["kernels"][way] = sorted(re.findall(r"void __launch_bounds__\S* (\w+)\(", code))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
