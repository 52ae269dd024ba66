"""Rows over the years, on numbers whose answers are worked out by hand."""

import pytest

from plan import matrix
from reporting.sections import releases
from tests.unit import hand_made

ABOUT = {"machines": [{"days": ["2025-12-31", "2026-01-02"]}], "machine_names": {"here": "A"}}
LM = {"benchmark": "years-stacked-lm", "phase": "training"}


def row(implementation: str, environment: str, seconds: float, **more: object) -> dict:
    entry = matrix.implementation(implementation)
    own = {
        "environment": environment,
        "framework_version": environment[-4:],
        "name": entry["label"],
    }
    own |= LM | {"machine": "here", "flexibility": entry.get("flexibility")}
    return hand_made.row(implementation, seconds, **own, **more)


# The loop becomes four times as fast, of which the products, twice as fast, are half.
FOUND = hand_made.tables(
    [
        row("tensorflow/graph-while", "tensorflow", 1.0),
        row("tensorflow/graph-while", "tensorflow-2018", 4.0),
        row("tensorflow/graph-while", "tensorflow-2022", 0.8),
        row("tensorflow/products", "tensorflow", 0.5),
        row("tensorflow/products", "tensorflow-2018", 1.0),
        row("pytorch/cell", "pytorch", 1.0),  # of one year only
    ]
)


def test_release_that_made_a_row_slower_is_named() -> None:
    found = releases.analyse(FOUND, ABOUT)
    (slower,) = found.slower
    assert slower.versions == "2022 to flow"
    assert slower.ratio.ratio == pytest.approx(1.25) and slower.ratio.low > 1
    assert (found.steps, found.faster, found.same, found.undecided) == (3, 2, 0, 0)
    two = "tensorflow/graph-while in {} for training on years-stacked-lm".format
    assert found.pattern == ",".join(map(two, ("tensorflow-2022", "tensorflow")))
