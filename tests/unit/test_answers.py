"""Answers of sections on numbers whose answers are worked out by hand."""

import pytest

from plan import matrix
from reporting import timeline
from reporting.sections import (
    Tables,
    conclusions,
    landscape,
    other_cells,
    releases,
    support,
    years,
)
from tests.unit import hand_made

SHAPES = {
    name: {"features": hidden, "hidden": hidden, "layers": 1, "length": length, "batch": batch}
    for name, batch, length, hidden in (
        *(("small", 1, 64, 256), ("centre", 32, 64, 256), ("wide", 32, 64, 512)),
        *(("long", 32, 128, 256), ("both", 1, 128, 256)),
    )
}
SHAPES |= {"one": SHAPES["centre"] | {"threads": 1}, "two": SHAPES["centre"] | {"threads": 2}}
MAP = {"document": {"benchmarks": SHAPES}}


def test_a_line_has_what_differs_in_one_factor_alone() -> None:
    assert landscape.lines(MAP, "centre") == {
        "batch": {"small": 1, "centre": 32},
        "hidden": {"centre": 256, "wide": 512},
        "length": {"centre": 64, "long": 128},
    }


def test_best_row_of_each_shape_and_what_operators_take_over_it() -> None:
    """On a machine whose peak takes 10 ms."""
    levels = {"operators": "operators", "kernel": "fused kernel", "library": "fused kernel"}
    cells = [
        *(("operators", "small", 0.8), ("kernel", "small", 0.2), ("library", "small", 0.1)),
        *(("operators", "centre", 0.06), ("kernel", "centre", 0.04), ("peak", "centre", 0.01)),
        ("kernel", "wide", 0.5),
    ]
    rows = [
        hand_made.row(name, seconds, benchmark=benchmark, phase="forward")
        | {"flexibility": levels.get(name), "gflops": 1 / seconds}
        | {"ratio_to_peak": seconds * 100}
        for name, benchmark, seconds in cells
    ]
    found = landscape.analyse(hand_made.tables(rows), MAP, "centre")
    small, centre = found.shapes[:2]
    assert (small.name, small.next, small.value) == ("library", "kernel", 1)
    for ratio, expected in ((small.margin, 2), (small.operators, 8)):
        assert ratio.ratio == pytest.approx(expected) and ratio.low < expected < ratio.high
    assert small.share == pytest.approx(0.1) and centre.share == pytest.approx(0.25)
    assert centre.operators.ratio == pytest.approx(1.5)


CELLS = {"document": {"benchmarks": {"lstm": {}, "slstm": {"cell": "slstm"}}}}
ROWS = [
    hand_made.row(name, seconds, benchmark=cell, flexibility=level, records=f"{name} {cell}")
    for name, level, *times in (
        ("operators", "operators", 0.4, 0.6),
        ("library", "fused kernel", 0.2, None),
        ("kernel", "fused kernel", 0.1, 0.12),
    )
    for cell, seconds in zip(("lstm", "slstm"), times, strict=True)
]


def test_every_implementation_and_cell_over_the_fastest_base() -> None:
    found = other_cells.analyse(hand_made.tables(ROWS), CELLS, "lstm", "slstm")
    (place,) = found.places
    assert found.cells == ["lstm", "slstm"]
    assert [(each.label, each.level) for each in place.styles] == [
        ("kernel", "fused kernel"),
        ("library", "fused kernel"),
        ("operators", "operators"),
    ]
    ratios = [{cell: r.ratio for cell, r in each.cells.items()} for each in place.styles]
    assert ratios[0] == pytest.approx({"lstm": 1.0, "slstm": 1.2})
    assert ratios[1] == pytest.approx({"lstm": 2.0})
    assert ratios[2] == pytest.approx({"lstm": 4.0, "slstm": 6.0})
    kernel = place.styles[0].cells["slstm"]
    assert kernel.low < 1.2 < kernel.high


def test_no_answer_without_a_base() -> None:
    without = hand_made.tables([row for row in ROWS if row["benchmark"] != "lstm"])
    assert other_cells.analyse(without, CELLS, "lstm", "slstm") is None


def test_claims_of_ours_are_none_of_the_documents_conclusions() -> None:
    claim = {
        **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": 1},
        "for": {"benchmark": "lstm", "phase": "training", "device": "cpu"},
        "ratios": {
            "r": {"of": {"implementation": "operators"}, "to": {"implementation": "kernel"}}
        },
    }
    rows = [each | {"document": "d"} for each in ROWS]
    about = {"name": "d", "claims": [claim, claim | {"name": "more", "ours": True}]}
    found = conclusions.analyse(hand_made.tables(rows), about)
    assert [each.ours for each in found.claims] == [False, True]
    assert [each.now.verdict for each in found.claims] == ["holds"] * 2
    assert [*found.counts.values()] == [{"holds": 1}]


DAYS = {"machines": [{"days": ["2025-12-31", "2026-01-02"]}]}
LM = {"benchmark": "years-stacked-lm", "phase": "training"}


@pytest.fixture
def tables() -> Tables:
    """The loop becomes four times as fast, of which the products, twice as fast, are half."""
    rows = [
        ("tensorflow/graph-while", "tensorflow", 1.0),
        ("tensorflow/graph-while", "tensorflow-2018", 4.0),
        ("tensorflow/graph-while", "tensorflow-2022", 0.8),
        ("tensorflow/products", "tensorflow", 0.5),
        ("tensorflow/products", "tensorflow-2018", 1.0),
        ("pytorch/cell", "pytorch", 1.0),  # of one year only
    ]
    return hand_made.tables(
        [
            hand_made.row(name, seconds, environment=where, **LM)
            | {"framework_version": where[-4:], "name": matrix.implementation(name)["label"]}
            for name, where, seconds in rows
        ]
    )


def test_lines_by_year(tables: Tables) -> None:
    loop, _ = timeline.lines(tables.measured(**LM), DAYS)
    assert [point["year"] for point in loop["points"]] == [2018, 2022, 2026]
    assert [point["wall_median_s"] for point in loop["points"]] == [4.0, 0.8, 1.0]


def test_release_that_made_a_row_slower_is_named(tables: Tables) -> None:
    found = releases.analyse(tables, DAYS)
    (slower,) = found.slower
    assert slower.versions == "2022 to flow"
    assert slower.ratio == pytest.approx(1.25) and slower.low > 1
    assert (found.steps, found.faster, found.same, found.undecided) == (3, 2, 0, 0)
    two = "tensorflow/graph-while in {} for training on years-stacked-lm".format
    assert found.pattern == ",".join(map(two, ("tensorflow-2022", "tensorflow")))


def test_the_gain_is_the_first_year_over_the_last(tables: Tables) -> None:
    loop, products = years.analyse(tables, DAYS, **LM).lines
    assert [loop.name, products.name] == ["TF Graph whileop-lstm", "TensorFlow's products"]
    assert loop.seconds == {2018: 4.0, 2022: 0.8, 2026: 1.0}
    assert loop.gain.ratio == pytest.approx(4) and loop.gain.low < 4 < loop.gain.high
    assert products.gain.ratio == pytest.approx(2)
    assert years.analyse(tables, DAYS, "years-stacked-lm", "forward") is None


def test_a_time_stands_in_its_format_and_a_reason_once() -> None:
    half, reason = {"data_type": "bfloat16"}, "it has no such kernel"
    about = {
        "document": {"benchmarks": {"a": {}, "a-half": half, "b-half": half | {"cell": "gru"}}}
    }
    rows = [
        hand_made.row(name, 0.002 if status == "ok" else None, benchmark=benchmark)
        | {"status": status, "reason": why, "output_error": 0.004}
        | {"interval": "confidence", "wall_low_s": 0.0019, "wall_high_s": 0.0021}
        for benchmark, name, why, status in (
            ("a", "fast", "", "ok"),
            ("a-half", "fast", reason, "unsupported"),
            ("b-half", "fast", reason, "unsupported"),
            ("a-half", "wrong", "off by 2", "incorrect"),
            ("a", "left", "", "not-run"),
        )
    ]
    found = support.analyse(hand_made.tables(rows), about)
    assert found.reasons == [reason, "off by 2"]
    entry, refused = support.Entry, support.Entry(status="unsupported", reason=1)
    assert found.cells["lstm"] == {
        "fast": {"float32": entry(0.002, (0.0019, 0.0021), 0.004), "bfloat16": refused},
        "wrong": {"bfloat16": entry(status="incorrect", reason=2)},
    }
    assert found.cells["gru"] == {"fast": {"bfloat16": refused}}
