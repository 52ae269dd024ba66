"""What is said of two versions of a package, from records made by hand."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from commands import bump_version
from plan.matrix import Measurement
from reporting import bumps
from reporting.bumps import Version

from . import hand_made

CELLS = hand_made.cells("stacked-lm")[:20]
SLOW, WRONG, LOST = CELLS[4], CELLS[7], CELLS[11]
Change = Callable[[Measurement, int, dict], None]


def version(name: str, seed: int, change: Change = lambda *_: None) -> Version:
    """A version whose five processes differ by 1 %."""
    random = np.random.default_rng(seed)
    records: dict[Measurement, list[dict]] = {}
    for cell in CELLS:
        for process in range(1, 6):
            record = hand_made.record(cell, process, True, "stacked-lm")
            factor = np.exp(0.01 * random.standard_normal())
            record["samples"] = [factor * each for each in record["samples"]]
            change(cell, process, record)
            records.setdefault(cell, []).append(record)
    return Version(name, records, {})


def compare(after: Version, before: Version | None = None) -> dict:
    return bumps.comparison("abacus", before or version("1", 1), after, 0.03)


def slower(cell: Measurement, process: int, record: dict) -> None:
    if cell == SLOW:
        record["samples"] = [1.1 * each for each in record["samples"]]


def less_exact(factor: float) -> Change:
    def change(cell: Measurement, process: int, record: dict) -> None:
        if cell == WRONG and process == 2:
            name = next(iter(record["check"]["errors"]))
            record["check"] = {"errors": {name: factor * record["check"]["errors"][name]}}

    return change


def lost(cell: Measurement, process: int, record: dict) -> None:
    if cell == LOST and process == 3:
        hand_made.bad("failed", "RuntimeError: no | kernel")(record)


def test_a_version_to_compare_with_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["bump", "numpy==9", "--from", "x", "--configfile", "x"]
    monkeypatch.setattr("sys.argv", arguments)
    for name, done in {"begin": None, "configured": {}, "compare": {}}.items():
        monkeypatch.setattr(bump_version, name, lambda *_, done=done: done)
    with pytest.raises(SystemExit) as stopped:
        bump_version.main()
    assert stopped.value.code == 2


@pytest.mark.parametrize(("factor", "news"), [(9, False), (50, True)])
def test_error_that_grew_is_news_below_the_tolerance(factor: float, news: bool) -> None:
    found = compare(version("2", 2, less_exact(factor)))
    assert found["regressions"] == ([WRONG.name] if news else [])
    for row in found["errors"]:
        assert row["after"] == pytest.approx(factor * row["before"]) and row["after"] < 1e-4


def test_rounding_is_no_news() -> None:
    def exact(cell: Measurement, process: int, record: dict) -> None:
        record["check"] = {"errors": dict.fromkeys(record["check"]["errors"], 1e-12)}

    assert compare(version("2", 2), version("1", 1, exact))["errors"] == []


def test_lost_number_is_a_regression() -> None:
    found = compare(version("2", 2, lost))
    assert found["regressions"] == [LOST.name]
    assert LOST.name not in {row["cell"] for row in found["cells"]}
    assert "| ok | failed | regression | RuntimeError: no \\| kernel |" in bumps.rendered(found)
    back = compare(version("1", 1), version("2", 2, lost))
    assert back["regressions"] == [] and len(back["statuses"]) == 1


def test_set_up_that_takes_longer_is_said_and_is_no_regression() -> None:
    def heavy(cell: Measurement, process: int, record: dict) -> None:
        if cell == SLOW:
            record["setup"] = record["setup"] | {"first_step_s": 6.0}
            record["memory"] = record["memory"] | {"process_peak_bytes": 2**31}

    found = compare(version("2", 2, heavy))
    assert found["regressions"] == []
    assert [(row["cell"], row["what"], row["ratio"]) for row in found["setup"]] == [
        (SLOW.name, "first step (s)", pytest.approx(2)),
        (SLOW.name, "peak memory (bytes)", pytest.approx(2)),
    ]


def test_cell_without_a_number_before() -> None:
    before = version("1", 1)
    few = replace(before, records={c: r for c, r in before.records.items() if c != SLOW})
    found = compare(version("2", 2, slower), few)
    assert found["regressions"] == [] and found["without_before"] == [SLOW.name]
    none = compare(version("2", 2), replace(before, records={}))
    assert "nothing to compare" in none["title"] and bumps.rendered(none)
