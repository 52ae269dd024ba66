"""Two factors: the row over its framework's products, and those over the peak."""

import pytest

from plan import matrix
from reporting.relations import PEAK
from reporting.sections import factors
from tests.unit import hand_made

ABOUT = {"document": {"benchmarks": {"lm": {"length": 10, "layers": 2}}}}


def test_both_factors_multiply_to_the_whole() -> None:
    """Over products of the row's own size; a limit is that of its fastest process."""
    rows = [
        ("pytorch/fine-grained", "operators", "operators", [5.9, 6.0, 6.1]),
        ("pytorch/products", "ceiling", None, [1.9, 2.0, 2.1]),
        ("pytorch/products-large", "ceiling", None, [1.4, 1.5, 1.6]),
        (PEAK, "ceiling", None, [1.0, 1.1, 2.2]),
    ]
    own = {"benchmark": "lm", "phase": "forward"}
    found = [
        hand_made.row(name, times[1], family=family, flexibility=level, **own)
        | {"process_medians_s": times}
        for name, family, level, times in rows
    ]
    (row,) = factors.analyse(hand_made.tables(found), ABOUT, "lm").rows
    assert row.overhead.ratio == pytest.approx(3)
    assert row.library.ratio == pytest.approx(2)
    assert row.overhead.low < 3 < row.overhead.high
    assert row.library.low < 2 < row.library.high
    assert row.share == pytest.approx(1 / (row.overhead.ratio * row.library.ratio))


@pytest.mark.parametrize("row", factors.LIBRARIES)
def test_what_a_row_calls_is_measured_where_the_row_is(row: str) -> None:
    library, (benchmark, *_) = factors.library(row), matrix.implementation(row)["benchmarks"]
    products = matrix.implementation(f"{library}/products")
    generations = {matrix.generation(each) for each in products["environments"]}
    assert benchmark in products["benchmarks"]
    assert generations >= set(map(matrix.generation, matrix.implementation(row)["environments"]))
