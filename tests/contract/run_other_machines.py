"""The template for machines unlike this one: more cores, small caches, registers of 256 bits. Prints errors as JSON.

{"<cell> <shape> ...": error}. Five threads take turns on what cores there are: panels and units are divided as on five.
"""

import json
import tempfile
from pathlib import Path

from kernels.runtime import set_threads

THREADS = 5
set_threads(THREADS)

from kernels.target import cpu_flags, cpu_target  # noqa: E402
from tests.contract.cell_errors import cell_errors  # noqa: E402

ROWS, UNITS = (33, 3, 17, 24, 1), (4, 3, 17, 100, 1)  # what is divided
# Rows of 64 values share the sets of so small a cache: they are copied beside each other for the weights' gradients.
SMALL, APART = (4 << 10, 8 << 10, 1 << 20), (33, 3, 64, 64, 1)
AVX2 = frozenset({"avx2", "fma", "bmi2"})


def main() -> None:
    target = cpu_target(THREADS)
    cases = [("", target, "peephole", ROWS), ("", target, "lstm", UNITS)]
    cases.append(("small ", cpu_target(THREADS, caches=SMALL), "lstm", APART))
    if cpu_flags() >= AVX2:  # rows: run_kernels.py
        cases.append(("AVX2 ", cpu_target(THREADS, flags=AVX2), "gru", UNITS))
    found: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, target, cell, shape in cases:
            own = Path(folder, f"{kind}{cell}")
            for quantity, value in cell_errors(cell, shape, own, target).items():
                found[f"{kind}{cell} {quantity}"] = value
    print(json.dumps(found))


if __name__ == "__main__":
    main()
