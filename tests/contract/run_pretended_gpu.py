"""TVM's rows on a GPU that is none (pretended_cuda.c): tuned, built by nvcc, loaded, captured and replayed; what kernels would
compute is missing. Prints {way: {"arch", "facts": of the row, "events": what was asked of the device in two batches}} as JSON.
"""

import functools
import json
import os
import tempfile
from pathlib import Path

from kernels.runtime import set_threads

set_threads(1)

from tvm.s_tir import meta_schedule as ms  # noqa: E402

from implementations.tvm import default_rules_gpu, dlight  # noqa: E402
from kernels.variants import target_of, variant_named  # noqa: E402
from kernels.workload import spec_of  # noqa: E402
from measurement import timing  # noqa: E402
from tests import tiny  # noqa: E402

TRIALS = 5


def events() -> list[str]:
    """What was asked of the device since the last time."""
    log = Path(os.environ["PRETENDED_CUDA"])
    found = log.read_text().splitlines() if log.exists() else []
    log.write_text("")
    return found


def asked(way: str, module: object, folder: Path) -> dict:
    work = tiny.bare_layers(features=16, hidden=32, batch=8)
    spec, target, variant = spec_of(work), target_of(way, 1), variant_named(way)
    if hasattr(variant, "tune"):
        variant.tune(spec, target, TRIALS, folder / "database")
    variant.build(spec, target, folder, folder / "database", None)
    events()
    work = work.changed(kernel=str(folder))
    runner = module.build(work, work.weights(), "gpu", "forward")
    found, batches = [events()], work.batches()
    for _ in range(2):
        given = timing.fed(runner, next(batches), None)
        runner.step(*given)
        runner.synchronise()
        found.append(events())
    shape = list(runner.results(None)["output"].shape)
    return {"arch": target["arch"], "facts": runner.describe(), "events": found, "shape": shape}


def main() -> None:
    few = ms.search_strategy.EvolutionarySearch(
        population_size=64, init_min_unmeasured=4, genetic_num_iters=1
    )
    ms.tune_tir = functools.partial(ms.tune_tir, strategy=few)
    ways = {"default-rules-gpu": default_rules_gpu, "dlight": dlight}
    with tempfile.TemporaryDirectory() as folder:
        found = {way: asked(way, module, Path(folder, way)) for way, module in ways.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
