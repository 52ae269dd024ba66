"""TVM's step for a GPU, as far as that goes without one; prints {"error": of all steps, run on a CPU, "cuda": the CUDA
source of a step scheduled by MetaSchedule's own rules with the decisions that came first, "arch": what it is for}.

The host's part is that of a GPU, but that a captured graph is replayed by calling the steps again.
"""

import json
import sys
import tempfile
from pathlib import Path

import tvm
from tvm.s_tir import meta_schedule as ms

from kernels.target import cpu_target
from kernels.variants.automatic import build_steps, step_functions
from kernels.variants.default_rules_gpu import target_here
from kernels.variants.intrinsics import import_only_x86_intrinsics
from kernels.variants.run_graph import GraphRunner
from kernels.workload import spec_of
from measurement import checking, reference
from measurement.workload import Workload, layer_weights

SHAPE = {"features": 16, "hidden": 32, "layers": 2, "length": 4, "batch": 8}


def error(folder: Path) -> float:
    work = Workload(SHAPE, None, seed=0, threads=1)
    build_steps(spec_of(work), cpu_target(1), folder)
    weights = work.weights()
    runner = GraphRunner(folder, layer_weights(weights), "cpu", lambda device, launch: launch)
    inputs, _ = next(work.batches())
    for _ in range(2):
        runner.set_input(inputs)
        runner()
        runner.synchronise()
    return checking.relative_error(runner.result(), reference.output(weights, inputs))


def cuda(shape: dict) -> tuple[str, str]:
    """(source, architecture) of a step."""
    import_only_x86_intrinsics()
    spec = spec_of(Workload(shape, None, seed=0, threads=1))
    target = tvm.target.Target(target_here())
    (module,) = [
        m for name, m in step_functions(spec).items() if name.endswith(str(spec.input_size))
    ]
    context = ms.TuneContext(
        mod=ms.tune_context._normalize_mod(module["main"]),
        target=target,
        space_generator="post-order-apply",
        search_strategy="evolutionary",
        task_name="step",
        num_threads=1,
        rand_state=1,
    )
    for schedule in context.generate_design_space():
        if all(each.apply(schedule) for each in context.space_generator.postprocs):
            built = tvm.compile(schedule.mod, target=target)
            return "\n".join(each.inspect_source() for each in built.mod.imports), target_here()[
                "arch"
            ]
    raise RuntimeError("no design that a GPU could run")


def main() -> None:
    shape = dict(SHAPE, layers=1) | (json.loads(sys.argv[1]) if sys.argv[1:] else {})
    with tempfile.TemporaryDirectory() as folder:
        found = {"error": error(Path(folder))}
    found["cuda"], found["arch"] = cuda(shape)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
