"""Two factors: the row over its framework's products, and those over the peak."""

import pytest

from plan import matrix
from reporting.blocks import Table
from reporting.layout import DASH
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


def test_each_number_stands_where_the_page_says() -> None:
    """Two frameworks and two phases, no two quotients alike."""
    rows = [
        *(("operators", "training", 30), ("large", "training", 9), ("products", "training", 10)),
        *(("peak", "training", 2), ("operators", "forward", 8), ("products", "forward", 5)),
        *(("large", "forward", 9), ("peak", "forward", 4), ("jax", "forward", 14)),
        ("of jax", "forward", 2),
    ]
    implementations = {"operators": "pytorch/fine-grained", "jax": "jax/scan", "peak": PEAK}
    implementations |= {"products": "pytorch/products", "large": "pytorch/products-large"}
    implementations |= {"of jax": "jax/products"}
    found = []
    for name, phase, seconds in rows:
        level = "operators" if name in ("operators", "jax") else None
        own = {"benchmark": "lm", "phase": phase, "name": name, "flexibility": level}
        own |= {"family": level or "ceiling", "process_medians_s": [float(seconds)] * 3}
        found.append(hand_made.row(implementations[name], float(seconds), **own))
    libraries, own = (
        {
            row[0]: {head: cell.split(" [")[0] for head, cell in zip(block.heads, row, strict=True)}
            for row in block.rows
        }
        for block in factors.write(factors.analyse(hand_made.tables(found), ABOUT, "lm"))
        if isinstance(block, Table)
    )
    assert libraries["PyTorch"]["Training"] == "5.00"
    assert libraries["PyTorch"]["Inference"] == "1.25"
    assert libraries["JAX"]["Training"] == DASH and libraries["JAX"]["Inference"] == "0.50"
    for name, phase, overhead, share in (
        ("operators", "training", "3.00", "7 %"),
        ("operators", "inference", "1.60", "50 %"),
        ("jax", "training", DASH, DASH),
        ("jax", "inference", "7.00", "29 %"),
    ):
        assert own[name][f"Overhead, {phase}"] == overhead
        assert own[name][f"Of the peak, {phase}"] == share


@pytest.mark.parametrize("row", factors.LIBRARIES)
def test_what_a_row_calls_is_measured_where_the_row_is(row: str) -> None:
    library, (benchmark, *_) = factors.library(row), matrix.implementation(row)["benchmarks"]
    products = matrix.implementation(f"{library}/products")
    generations = {matrix.generation(each) for each in products["environments"]}
    assert benchmark in products["benchmarks"]
    assert generations >= set(map(matrix.generation, matrix.implementation(row)["environments"]))
