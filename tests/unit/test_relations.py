"""How cells of a table compare, on cells made by hand."""

import pandas as pd
import pytest

from reporting import relations


def cells(*rows: tuple[str, str, float | None]) -> pd.DataFrame:
    """Cells of one benchmark: (implementation, environment, wall time or None), of processes that differ by 5 %."""
    return pd.DataFrame(
        {
            **{
                "document": "d",
                "machine": "m",
                "benchmark": "b",
                "phase": "forward",
                "device": "cpu",
            },
            **{"implementation": implementation, "environment": environment},
            **{"status": "ok" if wall_s else "failed", "wall_median_s": wall_s},
            "process_medians_s": wall_s and [0.95 * wall_s, wall_s, 1.05 * wall_s],
            **{"framework_version": f"{wall_s}" if wall_s else None},
        }
        for implementation, environment, wall_s in rows
    )


def test_then_and_now() -> None:
    table = cells(
        *(("pytorch/cell", "pytorch", 2.0), ("pytorch/cell", "pytorch-2019", 3.0)),
        *(("pytorch/fused", "pytorch", 2.0), ("pytorch/fused", "pytorch-2019", 1.8)),
        *(("pytorch/compiled", "pytorch", 1.0), ("pytorch/compiled", "pytorch-2019", None)),
        ("tvm/untuned", "tvm", 1.0),
    )
    cell, fused, compiled = relations.then_and_now(table)
    assert (cell["environment_then"], cell["environment_now"]) == ("pytorch-2019", "pytorch")
    assert (cell["framework_version_then"], cell["framework_version_now"]) == ("3.0", "2.0")
    assert (cell["ratio"], cell["verdict"]) == (1.5, "slower")
    assert cell["low"] < 1.5 < cell["high"]
    assert (fused["ratio"], fused["verdict"]) == (pytest.approx(0.9), "inconclusive")
    assert compiled["status_then"] == "failed"
    assert compiled["wall_median_s_then"] is compiled["ratio"] is compiled["verdict"] is None


def test_departures_have_an_interval() -> None:
    table = cells(("pytorch/cell", "pytorch", 2.0), ("pytorch/cell", "pytorch", 3.0))
    table["benchmark"] = ["protocol", "departure"]
    found = relations.relate_to_baseline(table, {"departure": "protocol"})
    assert found["ratio_to_baseline"][1] == 1.5
    assert 1.3 < found["ratio_to_baseline_low"][1] < 1.5 < found["ratio_to_baseline_high"][1] < 1.7
    assert found[relations.BASELINE].loc[0].isna().all()


def test_today_s_libraries_are_what_others_are_compared_with() -> None:
    table = cells(
        ("pytorch/fused", "pytorch", 2.0),
        ("pytorch/fused", "pytorch-2019", 1.0),
        ("tvm/untuned", "tvm", 4.0),
    )
    assert relations.relate(table)["ratio_to_torch"].tolist() == [1.0, 0.5, 2.0]
