"""Which implementation runs which cell in which format."""

from reporting import blocks
from reporting.sections import support
from tests.unit import hand_made

HALF = {"data_type": "bfloat16"}
BENCHMARKS = {"a": {}, "a-half": HALF, "b-half": HALF | {"cell": "gru"}}


def row(benchmark: str, label: str, reason: str = "", status: str = "ok") -> dict:
    found = {"benchmark": benchmark, "label": label, "status": status, "reason": reason}
    times = {"wall_median_s": 0.002, "wall_low_s": 0.0019, "wall_high_s": 0.0021}
    return found | times | {"interval": "confidence", "output_error": 0.004}


def test_a_time_stands_in_its_format_and_a_reason_once() -> None:
    reason = "it has no such kernel"
    rows = [
        row("a", "fast"),
        row("a-half", "fast", reason, "unsupported"),
        row("b-half", "fast", reason, "unsupported"),
        row("a-half", "wrong", "off by 2", "incorrect"),
        row("a", "left", status="not-run"),
    ]
    about = {"document": {"benchmarks": BENCHMARKS}}
    found = support.analyse(hand_made.tables(rows), about)
    assert found and found.reasons == [reason, "off by 2"]
    lstm, gru = (block.rows for block in support.write(found) if isinstance(block, blocks.Table))
    assert [line[0] for line in lstm] == ["fast", "wrong"]
    assert "2.00 ms" in lstm[0][1] and "5" in lstm[0][1]
    assert lstm[0][2] == gru[0][2] == "no [1]" and lstm[1][2] == "incorrect [2]"
