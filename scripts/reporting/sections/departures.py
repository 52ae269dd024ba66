"""What a departure from the protocol costs: over the same implementation's time under the protocol."""

from collections.abc import Mapping

from measurement.departures import DESCRIPTIONS
from reporting.sections import Tables, in_half_precision, rows
from reporting.sections.instruction_sets import held

TITLE = "What the protocol costs"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "departure", "phase", "device", "name", "wall_median_s", "ratio", "low", "high"}]}"""
    cells = tables.measured()
    benchmarks = about["document"]["benchmarks"]
    others = [*in_half_precision(about), *held(about)]  # they have sections of their own
    cells = cells[cells["ratio_to_baseline"].notna() & ~cells["benchmark"].isin(others)]
    if cells.empty:
        return None
    found = cells.assign(departure=cells["benchmark"].map(lambda name: words(benchmarks, name)))
    found = found.sort_values("ratio_to_baseline", kind="stable")
    columns = ["machine", "benchmark", "departure", "phase", "device", "name", "environment"]
    columns += ["generation", "wall_median_s"]
    return {
        "rows": rows(found, *columns, *(f"ratio_to_baseline{end}" for end in ("", "_low", "_high")))
    }


def words(benchmarks, name):
    """What a benchmark departs from its baseline in."""
    own = benchmarks[name]
    if "departure" in own:
        return DESCRIPTIONS[own["departure"]]
    other = benchmarks[own["baseline"]]["optimizer"]["name"]
    return f"optimizer {own['optimizer']['name']} instead of {other}"
