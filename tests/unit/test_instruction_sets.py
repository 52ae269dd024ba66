"""What is said of rows held to an instruction set: ratios worked out by hand."""

import pandas as pd
import pytest

from reporting.sections import Tables, departures, instruction_sets

SHAPES = {"own": {}, "held": {"baseline": "own", "isa": "avx2"}}
ABOUT = {"document": {"benchmarks": SHAPES}, "machines": [{"machine": "m", "devices": ["cpu"]}]}


def row(name: str, benchmark: str, seconds: float | None, over: float | None = None) -> dict:
    """Processes are 1 % apart."""
    return {
        **{"machine": "m", "benchmark": benchmark, "phase": "forward", "device": "cpu"},
        **{"implementation": name, "environment": "e", "name": name, "flexibility": "operators"},
        **{
            "status": "ok" if seconds else "unsupported",
            "reason": "" if seconds else "it uses more",
        },
        **{"wall_median_s": seconds, "ratio_to_baseline": over},
        "mark": "°" if (name, benchmark) == ("loop", "held") else "",
        **{"ratio_to_baseline_low": over, "ratio_to_baseline_high": over},
        "process_medians_s": [seconds, seconds * 1.01, seconds / 1.01] if seconds else [],
    }


@pytest.fixture
def tables() -> Tables:
    cells = [
        *(row("kernel", "own", 0.1), row("loop", "own", 0.2), row("library", "own", 0.05)),
        *(row("kernel", "held", 0.4, 4.0), row("loop", "held", 0.3, 1.5)),
        row("library", "held", None),
    ]
    return Tables(pd.DataFrame(cells), pd.DataFrame(), pd.DataFrame())


def test_another_row_is_the_fastest(tables: Tables) -> None:
    """Among those that were held: the library, which would be the fastest as it is, was not."""
    found = instruction_sets.analyse(tables, ABOUT)
    (best,) = found["best"]
    assert (best["own"], best["held"], best["isa"]) == ("kernel", "loop", "AVX2")
    assert (best["next"], best["rows"]) == ("kernel", 2) and best["over"] == pytest.approx(4 / 3)
    assert best["over_low"] < 4 / 3 < best["over_high"]
    loop, kernel = found["rows"]
    assert (loop["name"], loop["own_s"], loop["wall_median_s"]) == ("loop", 0.2, 0.3)
    assert loop["held"] == 1 and loop["own"] == pytest.approx(2)
    assert (loop["own_s_mark"], loop["wall_median_s_mark"]) == ("", "°") and not loop["mark"]
    assert loop["ratio_to_baseline_mark"] == "°"
    assert kernel["own"] == 1 and kernel["held"] == pytest.approx(4 / 3)
    assert kernel["held_low"] < 4 / 3 < kernel["held_high"]
    assert found["refused"] == [{"name": "library", "reason": "it uses more", "machines": ["m"]}]
    short = instruction_sets.analyse(tables, ABOUT, short=True)
    assert short == {"rows": [], "best": found["best"], "refused": []}


def test_they_are_no_departure_from_the_protocol(tables: Tables) -> None:
    assert departures.analyse(tables, ABOUT) is None


def test_nothing_is_said_where_nothing_is_held(tables: Tables) -> None:
    assert (
        instruction_sets.analyse(tables, ABOUT | {"document": {"benchmarks": {"own": {}}}}) is None
    )
