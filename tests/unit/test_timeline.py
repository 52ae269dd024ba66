"""Rows over the years, on numbers whose answers are worked out by hand."""

import pandas as pd
import pytest

from plan import matrix
from reporting import timeline
from reporting.sections import Tables, gains, gradients, releases, years

ABOUT = {
    "machines": [{"days": ["2025-12-31", "2026-01-02"]}],
    "machine_names": {"here": "Abacus 9000"},
    "profiles": {},
}
LM = {"benchmark": "years-stacked-lm", "phase": "training"}


def row(implementation: str, environment: str, seconds: float, **more: object) -> dict:
    """A cell whose three processes differ by 1 %."""
    entry = matrix.implementation(implementation)
    times = [0.99 * seconds, seconds, 1.01 * seconds]
    return {
        **{"machine": "here", "device": "cpu", "implementation": implementation},
        **LM,
        **{"environment": environment, "framework_version": environment[-4:], "status": "ok"},
        **{"flexibility": entry.get("flexibility"), "name": entry["label"], "reason": ""},
        **{"wall_median_s": seconds, "wall_low_s": times[0], "wall_high_s": times[2]},
        **{"process_medians_s": times, "gradient_error": 2e-7},
        "records": f"{environment}/{implementation}-1.json and others",
        **more,
    }


def tables(*rows: dict) -> Tables:
    return Tables(pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame())


# The loop becomes four times as fast, of which the products, twice as fast, are half.
FOUND = tables(
    row("tensorflow/graph-while", "tensorflow", 1.0),
    row("tensorflow/graph-while", "tensorflow-2018", 4.0),
    row("tensorflow/graph-while", "tensorflow-2022", 0.8),
    row("tensorflow/products", "tensorflow", 0.5),
    row("tensorflow/products", "tensorflow-2018", 1.0),
    row("pytorch/cell", "pytorch", 1.0),  # of one year only
)


def test_lines_by_year() -> None:
    loop, products = timeline.lines(FOUND.measured(**LM), ABOUT)
    assert [point["year"] for point in loop["points"]] == [2018, 2022, 2026]
    assert [point["wall_median_s"] for point in loop["points"]] == [4.0, 0.8, 1.0]
    assert (loop["framework"], loop["level"]) == ("tensorflow", "operators in a loop")
    assert products["level"] == timeline.CEILING


def test_a_framework_is_that_of_the_implementation() -> None:
    """Two libraries share the environments `onnx`."""
    forward = {"benchmark": "years-stacked-lm", "phase": "forward"}
    libraries = [
        row(f"{library}/lstm", environment, 1.0, **forward)
        for library in ("onnxruntime", "openvino")
        for environment in ("onnx", "onnx-2023")
    ]
    found = timeline.lines(tables(*libraries).measured(**forward), ABOUT)
    assert [line["framework"] for line in found] == ["onnxruntime", "openvino"]


def test_what_is_left_beyond_the_products() -> None:
    (found,) = gains.analyse(FOUND, ABOUT, **LM).rows
    assert (found.since, found.then, found.now) == (2018, "2018", "flow")
    for gain, expected in ((found.gain, 4), (found.products, 2), (found.rest, 2)):
        assert gain.ratio == pytest.approx(expected) and gain.low < expected < gain.high
    assert found.rest.high / found.rest.low > found.gain.high / found.gain.low


def test_without_products_of_both_years() -> None:
    few = FOUND.cells[FOUND.cells["environment"] != "tensorflow-2018"]
    (found,) = gains.analyse(Tables(few, few, few), ABOUT, **LM).rows
    assert found.since == 2022 and found.gain.ratio == pytest.approx(0.8)
    assert found.products is None and found.rest is None
    assert gains.analyse(tables(*FOUND.cells.tail(1).to_dict("records")), ABOUT, **LM) is None


def test_release_that_made_a_row_slower_is_named() -> None:
    found = releases.analyse(FOUND, ABOUT)
    (slower,) = found.slower
    assert slower.versions == "2022 to flow" and slower.spent == ""
    assert slower.ratio == pytest.approx(1.25) and slower.low > 1
    assert (found.steps, found.faster, found.same, found.undecided) == (3, 2, 0, 0)
    two = [
        f"tensorflow/graph-while in {environment} for training on years-stacked-lm"
        for environment in ("tensorflow-2022", "tensorflow")
    ]
    assert found.pattern == ",".join(two)


def test_where_the_time_of_a_slower_row_went() -> None:
    shares = [{"share": 0.5, "library": "l", "function": "f"}]
    profiled = {"tensorflow-2022/tensorflow/graph-while-1.json": shares}
    (slower,) = releases.analyse(FOUND, ABOUT | {"profiles": profiled}).slower
    assert "2022 50 % `f` (l)" in slower.spent and slower.spent.endswith("flow not profiled")


def test_years_are_drawn_and_are_columns() -> None:
    found = years.analyse(FOUND, ABOUT, **LM, table=True)
    figure, text = years.draw(found, FOUND, ABOUT, True, **LM)
    assert "2018 to 2026" in text
    assert "tensorflow-2022 (2022): 0.800 s" in " ".join(figure.__dict__["hovers"])
    (table,) = years.write(found)
    assert table.heads[1:] == ["2018", "2022", "2026"] and table.rows[0][1:] == [
        "4.00 s",
        "800 ms",
        "1.00 s",
    ]
    assert years.analyse(FOUND, ABOUT, "years-stacked-lm", "forward") is None


def test_version_whose_gradients_are_wrong_is_named() -> None:
    right = gradients.analyse(FOUND, ABOUT)
    assert right.wrong == [] and len(right.checked) == 4
    refused = row(
        "pytorch/fine-grained-jit",
        "pytorch-2019",
        1.0,
        status="incorrect",
        reason="gradient:lstm.0",
    )
    more = tables(*FOUND.cells.to_dict("records"), refused | {"gradient_error": 0.3})
    found = gradients.analyse(more, ABOUT)
    assert [(environment, error) for _, environment, _, error in found.wrong] == [
        ("pytorch-2019", 0.3)
    ]
    assert "pytorch-2019" not in {each.environment for each in found.checked}
