"""The same work on one thread and on more."""

from collections.abc import Mapping

from plan.matrix import NOW
from reporting import marks
from reporting.sections import Tables
from stats import estimates


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "threads", "wall_median_s", "speedup" over one thread with "low" and "high",
    "efficiency", "share" of the peak of all cores}]}, of benchmarks that say on how many threads"""
    shapes = about["document"]["benchmarks"]
    threads = {name: shape["threads"] for name, shape in shapes.items() if "threads" in shape}
    cells = tables.measured(device="cpu", generation=NOW)
    cells = cells[cells["benchmark"].isin(list(threads)) & cells["flexibility"].notna()]
    found = []
    for (machine, name), own in cells.groupby(["machine", "name"], sort=False):
        rows = {threads[row["benchmark"]]: row for row in own.to_dict("records")}
        if 1 not in rows or len(rows) < 2:
            continue
        for count, row in sorted(rows.items()):
            ratio = estimates.ratio([rows[1]["process_medians_s"]], [row["process_medians_s"]])
            entry = {"machine": machine, "name": name, "threads": count}
            entry |= {"wall_median_s": row["wall_median_s"], "share": 1 / row["ratio_to_peak"]}
            entry["mark"] = marks.beside(row)
            if count > 1:
                entry |= {"speedup": ratio.ratio, "low": ratio.low, "high": ratio.high}
                entry["speedup_mark"] = marks.beside(row, rows[1])
                entry["efficiency"] = ratio.ratio / count
            found.append(entry)
    return {"rows": found} if found else None
