"""Build the kernels at awkward shapes in TVM's environment and print their errors, as JSON.

{"template ...": error, "steps": error, ..., "tuning": {...}}; the shapes are batch, length, input size,
hidden size, depth.
"""

import json
import tempfile
from itertools import islice
from pathlib import Path

from kernels.run import LanguageModelRunner, TemplateRunner
from kernels.runtime import set_threads

THREADS = 2
set_threads(THREADS)

import numpy as np  # noqa: E402

from implementations.tvm import template_tuned  # noqa: E402
from kernels.build import build_template  # noqa: E402
from kernels.search.database import ScheduleDatabase  # noqa: E402
from kernels.search.space import random_schedules  # noqa: E402
from kernels.search.tuning import tune  # noqa: E402
from kernels.spec import KernelSpec, Schedule  # noqa: E402
from kernels.target import cpu_flags, cpu_target  # noqa: E402
from kernels.variants.automatic import build_steps, build_unrolled, tune_default_rules  # noqa: E402
from kernels.variants.run_steps import StepsRunner, UnrolledRunner  # noqa: E402
from kernels.workload import spec_of  # noqa: E402
from measurement import checking, precision, reference  # noqa: E402
from measurement.workload import Workload, layer_weights  # noqa: E402
from tests import tiny  # noqa: E402
from tests.contract.cell_errors import cell_errors  # noqa: E402

SCHEDULES = {
    (1, 1, 1, 1, 1): Schedule(rows=6, unroll=2),
    (3, 4, 16, 17, 2): Schedule(rows=4, unroll=4, prefetch=1, panel_rows=5),
    (7, 3, 40, 48, 3): Schedule(rows=4, unroll=4, units=1),
    (13, 6, 17, 17, 2): Schedule(rows=1, prefetch=2, panel_rows=1),
    (64, 3, 24, 32, 1): Schedule(rows=12, gates=2, unroll=2, prefetch=1, panel_rows=4),
}
TUNED = (4, 3, 16, 16, 1)
# What is divided among cores: rows, units; batch 1 and length 1.
ROWS, UNITS, ONE = (13, 4, 17, 24, 2), (5, 3, 16, 33, 3), (1, 1, 3, 16, 1)
CELL_SHAPES = {
    "lstm": [ROWS, ONE],  # units: run_other_machines.py
    "gru": [ROWS, UNITS],  # a product kept apart
    "coupled": [ROWS],
    "peephole": [ROWS, UNITS],  # vectors
    "slstm": [ROWS, UNITS],  # several states
    "layer_norm": [ROWS, ONE],  # rows are divided always
}
STEPS = (4, 3, 16, 32, 2)  # two functions: the second layer's input is wider
# V, B, T, E, H, layers; of the larger vocabulary the logits of some tokens at a time
MODEL, TRAINED = (83, 3, 2, 17, 24, 2), (1100, 8, 12, 16, 32, 2)
HALF = [  # odd sizes, one input after the other; whole vectors
    *(("lstm", (13, 6, 17, 17, 2)), ("lstm", (13, 2, 33, 8, 3))),
    ("layer_norm", (7, 3, 40, 48, 3)),
]


def workload(shape: tuple[int, ...]) -> Workload:
    names = ("batch", "length", "features", "hidden", "layers")
    return Workload(dict(zip(names, shape, strict=True)), None, seed=0, threads=THREADS)


def error(shape: tuple[int, ...], folder: Path, runner_type: type) -> float:
    """Worst error of two calls: the second must not depend on what the first left."""
    work = workload(shape)
    weights = work.weights()
    inputs, _ = next(work.batches())
    runner = runner_type(folder, layer_weights(weights))
    found = []
    for x in (inputs, inputs.copy() * np.float32(0.5)):
        runner.set_input(x)
        runner()
        expected = reference.output(weights, x)
        found.append(checking.relative_error(runner.result(), expected))
    return max(found)


def model(shape: tuple[int, ...], **more: object) -> Workload:
    names = ("vocabulary", "batch", "length", "embedding", "hidden", "layers")
    benchmark = dict(zip(names, shape, strict=True)) | {"optimizer": tiny.BENCHMARK["optimizer"]}
    return Workload(benchmark, None, seed=0, threads=THREADS, **more)


def model_error(shape: tuple[int, ...], folder: Path, target: dict) -> float:
    """Error of the logits of a language model."""
    work = model(shape)
    schedule = Schedule(rows=6, unroll=2)
    build_template(spec_of(work), schedule, target, folder, work.vocabulary)
    weights = work.weights()
    around = (weights[name] for name in ("embedding", "projection.weight", "projection.bias"))
    runner = LanguageModelRunner(folder, layer_weights(weights), *around)
    tokens = np.random.RandomState(0).randint(0, work.vocabulary, (work.length, work.batch))
    runner(tokens)
    return checking.relative_error(runner.result(), reference.output(weights, tokens))


def trained_model_errors(shape: tuple[int, ...], folder: Path) -> dict[str, float]:
    """Errors of the gate's check in training: of two steps of a built language model."""
    work = model(shape, kernel=str(folder))
    weights = work.weights()
    runner = template_tuned.build(work, weights, "cpu", "training")
    size = (2, work.length, work.batch)
    random = np.random.RandomState(0)
    batches = [random.randint(0, work.vocabulary, size) for _ in range(2)]
    return checking.check_training(runner, work, batches, weights, None)


def half_error(name: str, shape: tuple[int, ...], folder: Path, target: dict) -> list[float]:
    """[error, its bound] of a cell's layers whose products are of bfloat16."""
    found = cell_errors(name, shape, folder, target, precision.BFLOAT16)["inference"]
    _, length, *_, depth = shape
    return [found, precision.tolerance(precision.BFLOAT16, "forward", depth, length)]


def tuning(folder: Path, target: dict) -> dict:
    """Trials of a first search, of one that tops it up, of a repetition, after damage, and where all that was tried had
    failed, as the workers were killed."""
    spec: KernelSpec = spec_of(workload(TUNED))
    found = {}
    for name, trials in (("first", 2), ("more", 3), ("again", 3)):
        report = tune(spec, target, trials, folder)
        found[name] = [report.new_trials, report.trials]
    for file in folder.glob("*.json"):
        file.write_text('{"broken')
    report = tune(spec, target, 2, folder)
    found["damaged"] = [report.new_trials, report.trials]
    failed = folder / "failed"
    database = ScheduleDatabase(spec, target, failed)
    (schedule,) = islice(random_schedules(spec, target, 0), 1)
    database.commit(schedule, [])
    report = tune(spec, target, 2, failed)
    return found | {"all failed": [report.new_trials, report.trials]}


def main() -> None:
    target = cpu_target(THREADS)
    found: dict = {}
    with tempfile.TemporaryDirectory() as name:
        for shape, schedule in SCHEDULES.items():
            folder = Path(name, f"template {shape}")
            build_template(spec_of(workload(shape)), schedule, target, folder)
            found[folder.name] = error(shape, folder, TemplateRunner)
        found["model"] = model_error(MODEL, Path(name, "model"), target)
        narrow = cpu_target(THREADS, flags=cpu_flags() & {"avx2", "fma", "bmi2"})
        for called, own in (("trained", target), ("trained, 256-bit vectors,", narrow)):
            found[f"model {called}"] = model_error(TRAINED, Path(name, called), own)
            for quantity, value in trained_model_errors(TRAINED, Path(name, called)).items():
                found[f"{called} {quantity}"] = value
        for cell, shapes in CELL_SHAPES.items():
            for shape in shapes:
                folder = Path(name, f"{cell}-{shape}")
                for quantity, value in cell_errors(cell, shape, folder, target).items():
                    found[f"{cell} {shape} {quantity}"] = value
        steps = spec_of(workload(STEPS))
        build_steps(steps, target, Path(name, "steps"))
        found["steps"] = error(STEPS, Path(name, "steps"), StepsRunner)
        tune_default_rules(steps, target, 2, Path(name, "automatic"))
        build_steps(steps, target, Path(name, "tuned-steps"), Path(name, "automatic"))
        found["tuned steps"] = error(STEPS, Path(name, "tuned-steps"), StepsRunner)
        build_unrolled(steps, target, Path(name, "unrolled"))
        found["unrolled"] = error(STEPS, Path(name, "unrolled"), UnrolledRunner)
        if "avx512_bf16" in cpu_flags():
            found["half"] = {
                f"{cell} {shape}": half_error(cell, shape, Path(name, f"half {shape}"), target)
                for cell, shape in HALF
            }
        found["tuning"] = tuning(Path(name, "database"), target)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
