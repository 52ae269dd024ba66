"""Tables of a document: what stands beside its own numbers, and what does not."""

import pandas as pd
import pytest

from reporting import words
from reporting.sections import Tables, times, workers

MACHINES = [{"machine": "m", "protocol": {"processes": 3}}]
ABOUT = {
    "document": {"phases": ["training"]},
    "machines": MACHINES,
    "labels": {"tensorflow/graph-unrolled": "BasicLSTMCell", "pytorch/fused": "nn.LSTM"},
}


def row(name: str, interval: str, **more: object) -> dict:
    known = dict.fromkeys(times.COLUMNS)
    return known | {
        **{"machine": "m", "benchmark": "b", "implementation": name, "name": name, "label": name},
        **{"environment": "e", "phase": "training", "device": "cpu", "status": "ok"},
        **{"family": "operators", "generation": "now", "interval": interval, "processes": 3},
        **{"wall_median_s": 1.0, "wall_low_s": 0.9, "wall_high_s": 1.1, "wall_std_s": 0.1},
        **more,
    }


@pytest.mark.parametrize(
    ("kinds", "heading", "ends"),
    [
        (["confidence", "quartiles"], "95 % interval", [0.9, None]),
        (["quartiles", "quartiles"], "quartiles", [0.9, 0.9]),
    ],
)
def test_quartiles_are_no_intervals(kinds: list[str], heading: str, ends: list) -> None:
    """Of a row with one process, in a column of 95 % intervals."""
    cells = pd.DataFrame([row(f"row {number}", kind) for number, kind in enumerate(kinds)])
    tables = Tables(cells, pd.DataFrame(), pd.DataFrame())
    found = times.analyse(tables, ABOUT, families=["operators"], device="cpu", layout="batch")
    assert found["interval"] == heading
    assert [each["wall_low_s"] for each in found["rows"]] == ends


def test_published_scaling_is_over_the_same_row_undivided() -> None:
    """Not over another one, of which the document has a number too."""
    speeds = [("words_per_s", "", 25e3), ("speedup", "tensorflow/graph-unrolled", 1.7)]
    speeds.append(("speedup", "tensorflow/graph-cudnn", 0.78))
    published = pd.DataFrame(speeds, columns=["quantity", "over", "value"])
    published["implementation"] = "tensorflow/data-parallel"
    scaled = {"workers": 2, "words_per_s": 7e3, "scaling": 0.4}
    scaled |= {"scaling_low": 0.3, "scaling_high": 0.5, "undivided": "tensorflow/graph-unrolled"}
    cells = pd.DataFrame([row("two", "confidence", **scaled)])
    found = workers.analyse(Tables(cells, pd.DataFrame(), published), ABOUT)
    assert found["published"] == {"words_per_s": 25e3, "speedup": 1.7}
    assert found["rows"][0]["undivided"] == "BasicLSTMCell"


def test_a_machine_says_how_many_rows_came_to_less() -> None:
    protocol = {"processes": 3, "most_processes": 3, "target_interval": None, "seed": 0}
    protocol |= {"warmup_batches": 1, "timed_batches": 5}
    assert words.protocol(protocol, [2]).startswith("3 fresh processes a row; in each, 1 ")
    assert words.protocol(protocol, [2], ["a"], 1).startswith(
        "3 fresh processes a row (one of `a`), but for 1 that has fewer; "
    )
