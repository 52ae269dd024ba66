"""Single calls, warm: the median and the 99th percentile."""

from collections.abc import Mapping, Sequence

from plan.matrix import NOW
from reporting.sections import Tables, on, rows


def analyse(tables: Tables, about: Mapping, benchmarks: Sequence[str]) -> dict | None:
    """{"rows": [{"machine", "benchmark", "device", "name", "wall_median_s", "wall_p99_s", "tail": their ratio, "share" of
    the multiply-add peak, "batches"}]}, the fastest row of a benchmark first"""
    cells = on(tables.measured(generation=NOW), benchmarks)
    cells = cells[cells["flexibility"].notna()]
    if cells.empty:
        return None
    cells = cells.assign(
        tail=cells["wall_p99_s"] / cells["wall_median_s"], share=1 / cells["ratio_to_peak"]
    ).sort_values(["machine", "device", "benchmark", "wall_median_s"])
    columns = ("machine", "benchmark", "device", "name", "wall_median_s", "wall_p99_s")
    return {"rows": rows(cells, *columns, "tail", "share", "batches")}
