"""Rows in half precision: what they gain over their own float32, what it costs in error, and what really ran in it."""

from collections.abc import Mapping

from measurement import precision
from reporting.sections import OK, Tables, in_half_precision, refused, rows

TITLE = "Products in half precision"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "benchmark", "name", "phase", "device", "wall_median_s", "ratio_to_baseline" with `_low` and
    `_high`, "error": the largest, "tolerance", "ran"}], "refused": as `refused` says}"""
    shapes = about["document"]["benchmarks"]
    asked = tables.cells[tables.cells["benchmark"].isin(in_half_precision(about))]
    cells = asked[asked["status"] == OK]
    beyond = refused(asked, about)
    if cells.empty and not beyond:
        return None

    def allowed(benchmark: str, phase: str) -> float:
        shape = shapes[benchmark]
        return precision.tolerance(shape["data_type"], phase, shape["layers"], shape["length"])

    cells = cells.assign(
        error=cells["gradient_error"].fillna(cells["output_error"]),
        tolerance=list(map(allowed, cells["benchmark"], cells["phase"])),
        ran=cells["ran_in"],
    )
    columns = ("machine", "benchmark", "name", "phase", "device", "wall_median_s")
    over = [f"ratio_to_baseline{end}" for end in ("", "_low", "_high")]
    return {
        "rows": rows(cells, *columns, *over, "error", "tolerance", "ran"),
        "refused": beyond,
    }
