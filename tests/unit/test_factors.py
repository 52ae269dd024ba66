"""Two factors: the row over its framework's products, and those over the peak."""

import pytest

from plan import matrix
from reporting.blocks import Table
from reporting.relations import PEAK
from reporting.sections import Tables, factors
from tests.unit import hand_made

ABOUT = {"document": {"benchmarks": {"lm": {"length": 10, "layers": 2}}}}


ROWS = {
    "operators": ("pytorch/fine-grained", "operators", "operators"),
    "products": ("pytorch/products", "ceiling", None),
    "large": ("pytorch/products-large", "ceiling", None),
    "peak": (PEAK, "ceiling", None),
}


def tables(*measured: tuple[str, str, list[float]]) -> Tables:
    """Rows of one machine, each with its phase and what its processes took."""
    found = []
    for name, phase, seconds in measured:
        implementation, family, flexibility = ROWS[name]
        own = {"benchmark": "lm", "phase": phase, "name": name, "process_medians_s": seconds}
        own |= {"family": family, "flexibility": flexibility}
        found.append(hand_made.row(implementation, sorted(seconds)[1], **own))
    return hand_made.tables(found)


def test_both_factors_multiply_to_the_whole() -> None:
    own = tables(
        ("operators", "forward", [5.9, 6.0, 6.1]),
        ("products", "forward", [1.9, 2.0, 2.1]),
        ("peak", "forward", [1.0, 1.1, 2.2]),
    )
    found = factors.analyse(own, ABOUT, "lm")
    (row,) = found.rows
    assert row.overhead.ratio == pytest.approx(3)
    assert row.library.ratio == pytest.approx(2)  # a limit is that of its fastest process
    assert row.overhead.low < 3 < row.overhead.high
    assert row.library.low < 2 < row.library.high
    assert row.share == pytest.approx(1 / (row.overhead.ratio * row.library.ratio))


def test_each_number_stands_where_the_page_says() -> None:
    """Two phases, no two quotients alike; products of the row's own size."""
    measured = {
        "training": {"operators": 30, "large": 9, "products": 10, "peak": 2},
        "forward": {"operators": 8, "products": 5, "large": 9, "peak": 4},
    }
    rows = [
        (name, phase, [float(seconds)] * 3)
        for phase, own in measured.items()
        for name, seconds in own.items()
    ]
    answer = factors.analyse(tables(*rows), ABOUT, "lm")
    libraries, implementations = (
        {
            row[0]: {head: cell.split(" [")[0] for head, cell in zip(block.heads, row, strict=True)}
            for row in block.rows
        }
        for block in factors.write(answer)
        if isinstance(block, Table)
    )
    own = libraries["PyTorch"] | implementations["operators"]
    assert (own["Training"], own["Inference"]) == ("5.00", "1.25")
    assert (own["Overhead, training"], own["Of the peak, training"]) == ("3.00", "7 %")
    assert (own["Overhead, inference"], own["Of the peak, inference"]) == ("1.60", "50 %")


@pytest.mark.parametrize("row", factors.LIBRARIES)
def test_what_a_row_calls_is_measured_where_the_row_is(row: str) -> None:
    library, (benchmark, *_) = factors.library(row), matrix.implementation(row)["benchmarks"]
    products = matrix.implementation(f"{library}/products")
    generations = {matrix.generation(each) for each in products["environments"]}
    assert benchmark in products["benchmarks"]
    assert generations >= set(map(matrix.generation, matrix.implementation(row)["environments"]))
