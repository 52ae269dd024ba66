"""How cells of a table compare, on cells made by hand."""

import pandas as pd

from reporting import relations


def cells(*rows: tuple[str, str, float | None]) -> pd.DataFrame:
    """Cells of one benchmark: (implementation, environment, wall time or None), intervals of +- 10 %."""
    return pd.DataFrame(
        {
            **{"document": "d", "benchmark": "b", "phase": "forward", "device": "cpu"},
            **{"implementation": implementation, "environment": environment},
            **{"status": "ok" if wall_s else "failed", "wall_s": wall_s, "wall_median_s": wall_s},
            **{"framework_version": f"{wall_s}" if wall_s else None},
            **{"wall_low_s": wall_s and wall_s * 0.9, "wall_high_s": wall_s and wall_s * 1.1},
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
    assert (cell["ratio"], cell["inconclusive"]) == (1.5, False)
    assert (fused["ratio"], fused["inconclusive"]) == (0.9, True)
    assert (compiled["status_then"], compiled["wall_s_then"], compiled["ratio"]) == (
        "failed",
        None,
        None,
    )


def test_today_s_libraries_are_what_others_are_compared_with() -> None:
    table = cells(
        ("pytorch/fused", "pytorch", 2.0),
        ("pytorch/fused", "pytorch-2019", 1.0),
        ("tvm/untuned", "tvm", 4.0),
    )
    assert relations.relate(table)["ratio_to_torch"].tolist() == [1.0, 0.5, 2.0]
