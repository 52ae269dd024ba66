"""How cells of a table compare, on cells made by hand."""

import numpy as np
import pandas as pd
import pytest

from reporting import relations


def cells(*rows: tuple[str, str, float | None]) -> pd.DataFrame:
    """Cells of one benchmark: (implementation, environment, wall time or None), of processes that differ by 5 %."""
    place = {"document": "d", "machine": "m", "benchmark": "b", "phase": "forward", "device": "cpu"}
    return pd.DataFrame(
        {
            **place,
            **{"implementation": implementation, "environment": environment},
            **{"status": "ok" if wall_s else "failed", "wall_median_s": wall_s},
            "process_medians_s": wall_s and [0.95 * wall_s, wall_s, 1.05 * wall_s],
            **{"framework_version": f"{wall_s}" if wall_s else None},
        }
        for implementation, environment, wall_s in rows
    )


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
    found = relations.relate(table.assign(gflops=1.0))
    assert found["ratio_to_torch"].tolist() == [1.0, 0.5, 2.0]
    assert found["ratio_to_peak"].isna().all()  # nothing has measured it
    low, high = found["ratio_to_torch_low"], found["ratio_to_torch_high"]
    assert low[2] < 2.0 < high[2]
    assert low.isna()[0] and high.isna()[0]  # nothing is measured of a row beside itself


def test_the_peak_is_the_machine_s_on_any_shape_and_its_fastest_process() -> None:
    table = cells(
        *(("tvm/fma-peak", "tvm", 1.0), ("tvm/fma-peak", "tvm", 1.0), ("tvm/untuned", "tvm", 2.0)),
        ("tvm/fma-peak", "tvm", None),
    )
    table["benchmark"] = ["small", "large", "other", "failed"]
    found = relations.relate(table.assign(gflops=[380.0, 190.0, 100.0, None]))
    assert found["ratio_to_peak"][2] == pytest.approx(380.0 / 0.95 / 100.0)


def test_speed_ups_are_within_a_generation() -> None:
    table = cells(
        *(("pytorch/fused", "pytorch", 2.0), ("pytorch/fused", "pytorch-2019", 4.0)),
        *(("tensorflow/graph-unrolled", "tensorflow", 6.0), ("tvm/untuned", "tvm", None)),
        ("tensorflow/graph-unrolled", "tensorflow-2018", 5.0),
    )
    found = relations.speed_up(table, {"d": "tensorflow/graph-unrolled"})
    assert found["speedup"][[0, 2, 4]].tolist() == [3.0, 1.0, 1.0]
    assert found["speedup"][[1, 3]].isna().all()  # 2019 has none to compare with; tvm has no time
    assert 2.6 < found["speedup_low"][0] < 3 < found["speedup_high"][0] < 3.4
    assert found["speedup_low"][[2, 4]].isna().all()  # over themselves
    assert relations.speed_up(table, {})[relations.SPEEDUP].isna().all(axis=None)


def test_scaling_efficiency_is_over_the_same_computation_undivided() -> None:
    table = cells(
        *(("pytorch/fused", "pytorch", 2.0), ("pytorch/cudnn", "pytorch", 1.0)),
        *(("pytorch/data-parallel", "pytorch", 1.6), ("tensorflow/data-parallel", "x", 1.0)),
        ("pytorch/data-parallel", "pytorch-2019", 1.0),
    )
    found = relations.scale(table, {})
    assert found["scaling"][2] == pytest.approx(2.0 / 1.6 / 2)
    assert found["scaling_low"][2] < found["scaling"][2] < found["scaling_high"][2]
    assert found["scaling"][[0, 1, 3, 4]].isna().all()  # undivided, or without one that is
    assert found["workers"].tolist()[1:] == pytest.approx([np.nan, 2, 2, 2], nan_ok=True)


def test_weak_scaling_is_over_the_baselines_batch() -> None:
    """Two workers with 20 sequences each, in 1.25 times the time of one with 20."""
    table = cells(("pytorch/fused", "pytorch", 2.0), ("pytorch/data-parallel", "pytorch", 2.5))
    table["benchmark"] = ["small", "weak"]
    benchmarks = {"small": {"batch": 20}, "weak": {"batch": 40, "baseline": "small"}}
    assert relations.scale(table, benchmarks)["scaling"][1] == pytest.approx(0.8)
