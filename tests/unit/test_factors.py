"""Two factors: the row over its framework's products, and those over the peak."""

import pandas as pd
import pytest

from plan import matrix
from reporting.sections import Tables, factors

ABOUT = {"document": {"benchmarks": {"lm": {"length": 10, "layers": 2}}}}


def tables(**times: list[float]) -> Tables:
    """Rows of one machine, with what their processes took."""
    rows = {
        "operators": ("pytorch/fine-grained", "operators", "operators"),
        "kernel": ("pytorch/fused", "fused kernel", "fused kernel"),
        "products": ("pytorch/products", "ceiling", None),
        "peak": ("tvm/fma-peak", "ceiling", None),
    }
    found = []
    for name, seconds in times.items():
        implementation, family, flexibility = rows[name]
        found.append(
            {"machine": "m", "benchmark": "lm", "implementation": implementation, "name": name}
            | {"environment": "here", "generation": "now", "phase": "forward", "device": "cpu"}
            | {"family": family, "flexibility": flexibility, "status": "ok"}
            | {"wall_median_s": sorted(seconds)[1], "process_medians_s": seconds, "gflops": 100.0}
            | {"page_faults": 5.0, "utilisation": 0.9}
        )
    return Tables(pd.DataFrame(found), pd.DataFrame(), pd.DataFrame())


def test_both_factors_multiply_to_the_whole() -> None:
    own = tables(operators=[3.9, 4.0, 4.1], products=[1.9, 2.0, 2.1], peak=[1.0, 1.1, 2.2])
    found = factors.analyse(own, ABOUT, "lm")
    (row,) = found.rows
    assert row.overhead.ratio == pytest.approx(2)
    assert row.library.ratio == pytest.approx(2)  # a limit is that of its fastest process
    assert row.overhead.low < 2 < row.overhead.high
    assert row.share == pytest.approx(1 / (row.overhead.ratio * row.library.ratio))


@pytest.mark.parametrize("row", factors.LIBRARIES)
def test_what_a_row_calls_is_measured_where_the_row_is(row: str) -> None:
    library, (benchmark, *_) = factors.library(row), matrix.implementation(row)["benchmarks"]
    products = matrix.implementation(f"{library}/products")
    generations = {matrix.generation(each) for each in products["environments"]}
    assert benchmark in products["benchmarks"]
    assert generations >= set(map(matrix.generation, matrix.implementation(row)["environments"]))
