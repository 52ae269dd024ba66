"""Sizes of weights, and products, which are those of the equations."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from measurement import shapes
from measurement.shapes import FORWARD, HOISTED, JOINED, LARGE, SEPARATE, Shapes
from tests import tiny

FORMS = (HOISTED, JOINED, SEPARATE, LARGE)
KINDS = (FORWARD, shapes.OF_WEIGHT, shapes.OF_INPUT)
STACKED = yaml.safe_load(Path("config/documents/stacked-lm.yaml").read_text())["benchmarks"]


def test_parameters() -> None:
    sizes = Shapes(tiny.BENCHMARK)
    assert sizes.parameters() == sum(int(np.prod(shape)) for shape in sizes.shapes().values())


@pytest.mark.parametrize("form", FORMS)
def test_forward_products_are_the_same_arithmetic_in_every_form(form: str) -> None:
    """6,400 rows through layers of 384, 512 and 512 by 1,024 and a projection of 256 by 10,001."""
    found = shapes.products(Shapes(STACKED["stacked-lm"]), "forward", form)
    assert {each.role for each in found} == {FORWARD}
    assert shapes.flops(found) == 2 * 6400 * (1408 * 1024 + 256 * 10001)
    assert shapes.flops(found) == shapes.forward_flops(STACKED["stacked-lm"])


def test_calls() -> None:
    """A recurrence of one layer, 4 steps of 3 rows; the first state has no gradient."""
    sizes = Shapes(tiny.BENCHMARK | {"layers": 1})
    found = shapes.products(sizes, "training", HOISTED)
    assert [tuple(each) for each in found] == [
        *((kind, 1, 12, 5, 16) for kind in KINDS),
        *((kind, times, 3, 4, 16) for kind, times in zip(KINDS, (4, 4, 3), strict=True)),
        *((kind, 1, 12, 4, 11) for kind in KINDS),
    ]
    joined = shapes.products(sizes, "forward", JOINED)
    assert [tuple(each) for each in joined] == [(FORWARD, 4, 3, 9, 16), (FORWARD, 1, 12, 4, 11)]


def test_classifiers_project_their_last_step_and_have_no_gradient_of_their_input() -> None:
    sizes = Shapes(tiny.CLASSIFIERS["one-way"])
    found = shapes.products(sizes, "training", SEPARATE)
    assert [tuple(each) for each in found] == [
        *((kind, 9, 3, 5, 16) for kind in KINDS[:2]),
        *((kind, times, 3, 4, 16) for kind, times in zip(KINDS, (9, 9, 8), strict=True)),
        *((kind, 1, 3, 4, 6) for kind in KINDS),
    ]


def test_large_calls_have_at_most_so_many_steps() -> None:
    found = shapes.products(Shapes(STACKED["stacked-lm"]), "forward", LARGE)
    assert [(each.times, each.rows) for each in found] == [(1, 32 * 128), (1, 18 * 128)] * 4
