"""The template for machines unlike this one: more cores, registers of 256 bits, NEON. Prints, as JSON, the errors of what runs here.

{"<cell> <shape> ...": error, ..., "neon": multiply-adds in the LSTM's assembly}. Five threads take turns on what cores
there are: panels and units are divided as on five.
"""

import json
import tempfile
from pathlib import Path

from kernels.runtime import set_threads

THREADS = 5
set_threads(THREADS)

import tvm  # noqa: E402

from kernels.build import template_functions, training_functions  # noqa: E402
from kernels.search.space import default_schedule  # noqa: E402
from kernels.spec import KernelSpec  # noqa: E402
from kernels.target import cpu_flags, cpu_target  # noqa: E402
from tests.contract.cell_errors import CELLS, cell_errors  # noqa: E402

SHAPES = [(33, 3, 17, 24, 1), (4, 3, 17, 100, 1)]  # rows divided; units divided
# Rows of 64 values share the sets of so small a cache: they are copied beside each other for the weights' gradients.
SMALL, APART = (4 << 10, 8 << 10, 1 << 20), [(33, 3, 64, 64, 1), (33, 3, 50, 64, 1)]
AVX2 = frozenset({"avx2", "fma", "bmi2"})


def neon(name: str) -> int:
    """Multiply-adds in the assembly of a cell's inference and training."""
    target = cpu_target(2, flags=frozenset(), machine="aarch64")
    count = 0
    for batch in (13, 3):
        spec = KernelSpec(batch, 4, 17, 24, threads=2, cell=name)
        schedule = default_schedule(spec, target)
        made = template_functions(spec, schedule, target).made
        made |= training_functions(CELLS[name], spec, schedule, target).made
        code = tvm.compile(tvm.ir.IRModule(made), target=tvm.target.Target(target))
        count += code.mod.inspect_source("asm").count("fmla")
    return count


def main() -> None:
    targets = [("", cpu_target(THREADS), ("lstm", "peephole"), SHAPES)]
    targets.append(("small ", cpu_target(THREADS, caches=SMALL), ("lstm", "gru"), APART))
    if cpu_flags() >= AVX2:
        targets.append(("AVX2 ", cpu_target(THREADS, flags=AVX2), ("lstm", "gru"), SHAPES))
    found: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, target, cells, shapes in targets:
            for cell in cells:
                for shape in shapes:
                    own = Path(folder, f"{kind}{cell}-{shape}")
                    for quantity, value in cell_errors(cell, shape, own, target).items():
                        found[f"{kind}{cell} {shape} {quantity}"] = value
    print(json.dumps({"errors": found, "neon": neon("lstm")}))


if __name__ == "__main__":
    main()
