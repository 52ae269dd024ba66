"""Tables of a document's page: every published time has a row, and this machine's numbers have their intervals.
tests/workflow/test_pages.py has whole pages."""

import pandas as pd
import pytest

from plan import matrix
from reporting.sections import Tables, table

DOCUMENTS = ("stacked-lm", "tvm-lstm", "rnn-benchmarks", "cudnn-lstm-ptb")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_published_time_has_its_row(document: str) -> None:
    """In the tables' ranges of lines, but for numbers that stand in a document's text."""
    files = matrix.published_files(document)
    printed = pd.concat(pd.read_csv(path, dtype=str) for path in files)
    own = printed["document"] == matrix.document(document)["origin"]["numbers"][0]
    sections = matrix.document(document)["sections"]
    tables = [entry["lines"] for entry in sections if entry.get("lines")]
    columns = [name for name in ("wall_s", "words_per_s") if name in printed]
    lines = printed.loc[own & printed[columns].notna().any(axis=1), "line"].astype(int)
    for line in set(lines) - {50}:  # document 004's two GPUs stand in a sentence
        assert any(low <= line <= high for low, high in tables), line


CELL = {"benchmark": "b", "implementation": "pytorch/fused", "environment": "pytorch"}
CELL |= {"generation": "now", "phase": "training", "device": "cpu", "status": "ok", "wall_s": 1.1}
CELL |= {"wall_median_s": 1.0, "wall_low_s": 0.81, "wall_high_s": 1.0}
ABOUT = {
    "document": {"phases": ["training"], "benchmarks": {"b": {}}, "origin": {"numbers": ["001"]}},
    "labels": {"pytorch/fused": "nn.LSTM"},
    "machines": [{"devices": ["cpu"]}],
}
COLUMNS = [
    {"head": "Time", "quantity": "wall_median_s", "unit": "ms"},
    {"head": "Old", "quantity": "wall_median_s", "generation": "2019"},
    {"head": "Published", "published": "wall_s", "unit": "ms"},
]
ROWS = [{"implementation": "pytorch/fused", "benchmark": "b"}]


def cells(printed: tuple = (), **changes: object) -> Tables:
    return Tables(pd.DataFrame([CELL | changes]), pd.DataFrame(printed))


@pytest.mark.parametrize(("kind", "ends"), [("confidence", (810, 1000)), ("quartiles", None)])
def test_a_value_has_its_interval_and_what_was_published(kind: str, ends: tuple | None) -> None:
    """Quartiles of one process are no interval."""
    printed = CELL | {"document": "001", "line": 5, "quantity": "wall_s"}
    printed |= {"printed": "182.5e-3", "value": 0.1825}
    found = table.analyse(cells((printed,), interval=kind), ABOUT, "cpu", COLUMNS, lines=[1, 9])
    (((name,), (now, old, published)),) = found.rows
    assert (name, now.value, old.value, published.published) == ("nn.LSTM", 1000, None, "182.5")
    assert now.ends == (ends and pytest.approx(ends))


def test_a_rate_is_of_the_median_batch_as_all_times_are() -> None:
    """Its interval is that of the time, upside down."""
    tables = cells(interval="confidence", words_per_s=100.0)
    columns = [{"head": "Words", "quantity": "words_per_s"}]
    ((_, (rate,)),) = table.analyse(tables, ABOUT, "cpu", columns, rows=ROWS).rows
    assert (rate.value, *rate.ends) == pytest.approx((110.0, 110.0, 110.0 / 0.81))
