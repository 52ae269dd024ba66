"""The peak of the whole process's memory, by row and shape."""

from collections.abc import Mapping, Sequence

from plan.matrix import NOW
from reporting.sections import Tables, on


def analyse(tables: Tables, about: Mapping, benchmarks: Sequence[str] = ("*",)) -> dict | None:
    """{"benchmarks": names, "rows": [{"machine", "device", "name", benchmark: bytes}]}, the leanest row first"""
    cells = on(tables.measured(generation=NOW), benchmarks)
    cells = cells[cells["flexibility"].notna() & cells["peak_memory_bytes"].notna()]
    if cells.empty:
        return None
    found = []
    for (machine, device, name), own in cells.groupby(["machine", "device", "name"], sort=False):
        row = {"machine": machine, "device": device, "name": name}
        found.append(row | dict(zip(own["benchmark"], own["peak_memory_bytes"], strict=True)))
    shown = [name for name in about["document"]["benchmarks"] if name in set(cells["benchmark"])]
    found.sort(
        key=lambda row: (row["machine"], row["device"], min(row.get(s, 2**63) for s in shown))
    )
    return {"benchmarks": shown, "rows": found}
