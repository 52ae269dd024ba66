"""Sizes need no NumPy, and products are those of the equations."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from measurement import shapes
from measurement.shapes import (
    FORWARD,
    HOISTED,
    JOINED,
    LARGE,
    OF_INPUT,
    OF_WEIGHT,
    SEPARATE,
    Shapes,
)
from tests import tiny

FORMS = (HOISTED, JOINED, SEPARATE, LARGE)
STACKED = yaml.safe_load(Path("config/documents/stacked-lm.yaml").read_text())["benchmarks"]


def test_what_plans_needs_no_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\nfrom measurement import machine, record, shapes"
    )
    subprocess.run([sys.executable, "-c", code], cwd="scripts", check=True)


def test_parameters() -> None:
    sizes = Shapes(tiny.BENCHMARK)
    assert sizes.parameters() == sum(int(np.prod(shape)) for shape in sizes.shapes().values())


@pytest.mark.parametrize("form", FORMS)
def test_forward_products_are_the_same_arithmetic_in_every_form(form: str) -> None:
    """6,400 rows through layers of 384, 512 and 512 by 1,024 and a projection of 256 by 10,001."""
    found = shapes.products(Shapes(STACKED["stacked-lm"]), "forward", form)
    assert {each.role for each in found} == {FORWARD}
    assert shapes.flops(found) == 2 * 6400 * (1408 * 1024 + 256 * 10001)


def test_calls() -> None:
    """A recurrence of one layer, 4 steps of 3 rows; the first state has no gradient."""
    sizes = Shapes(tiny.BENCHMARK | {"layers": 1})
    found = shapes.products(sizes, "training", HOISTED)
    assert [tuple(each) for each in found] == [
        (FORWARD, 1, 12, 5, 16),
        (OF_WEIGHT, 1, 12, 5, 16),
        (OF_INPUT, 1, 12, 5, 16),
        (FORWARD, 4, 3, 4, 16),
        (OF_WEIGHT, 4, 3, 4, 16),
        (OF_INPUT, 3, 3, 4, 16),
        (FORWARD, 1, 12, 4, 11),
        (OF_WEIGHT, 1, 12, 4, 11),
        (OF_INPUT, 1, 12, 4, 11),
    ]
    joined = shapes.products(sizes, "forward", JOINED)
    assert [tuple(each) for each in joined] == [(FORWARD, 4, 3, 9, 16), (FORWARD, 1, 12, 4, 11)]


def test_classifiers_project_their_last_step_and_have_no_gradient_of_their_input() -> None:
    sizes = Shapes(tiny.CLASSIFIERS["one-way"])
    found = shapes.products(sizes, "training", SEPARATE)
    assert [tuple(each) for each in found] == [
        (FORWARD, 9, 3, 5, 16),
        (OF_WEIGHT, 9, 3, 5, 16),
        (FORWARD, 9, 3, 4, 16),
        (OF_WEIGHT, 9, 3, 4, 16),
        (OF_INPUT, 8, 3, 4, 16),
        (FORWARD, 1, 3, 4, 6),
        (OF_WEIGHT, 1, 3, 4, 6),
        (OF_INPUT, 1, 3, 4, 6),
    ]


def test_large_calls_have_at_most_so_many_steps() -> None:
    found = shapes.products(Shapes(STACKED["stacked-lm"]), "forward", LARGE)
    assert [(each.times, each.rows) for each in found] == [(1, 32 * 128), (1, 18 * 128)] * 4
