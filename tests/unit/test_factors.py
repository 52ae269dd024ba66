"""Two factors: the row over its framework's products, those over the peak; and ceilings that are none."""

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
    assert row.flexibility.ratio == pytest.approx(2)
    assert row.library.ratio == pytest.approx(2)  # a limit is that of its fastest process
    assert row.flexibility.low < 2 < row.flexibility.high
    assert row.share == pytest.approx(1 / (row.flexibility.ratio * row.library.ratio))
    assert found.broken == []


def test_a_ceiling_that_rows_are_faster_than_is_named() -> None:
    own = tables(kernel=[0.89, 0.9, 0.91], products=[1.9, 2.0, 2.1], peak=[0.5, 0.6, 0.7])
    (broken,) = factors.analyse(own, ABOUT, "lm").broken
    assert (broken.ceiling, broken.faster, broken.seconds) == ("products", "kernel", 2.0)
    assert broken.ratio.ratio == pytest.approx(0.45)


def test_what_the_interval_explains_breaks_no_ceiling() -> None:
    own = tables(operators=[1.5, 1.9, 2.4], products=[1.6, 2.0, 2.5], peak=[1.0, 1.0, 1.0])
    assert factors.analyse(own, ABOUT, "lm").broken == []


@pytest.mark.parametrize("row", factors.LIBRARIES)
def test_what_a_row_calls_is_measured_where_the_row_is(row: str) -> None:
    library, (benchmark, *_) = factors.library(row), matrix.implementation(row)["benchmarks"]
    products = matrix.implementation(f"{library}/products")
    generations = {matrix.generation(each) for each in products["environments"]}
    assert benchmark in products["benchmarks"]
    assert generations >= set(map(matrix.generation, matrix.implementation(row)["environments"]))
