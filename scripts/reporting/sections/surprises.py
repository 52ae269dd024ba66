"""Rows that the two factors do not explain: farther from their framework's products than rows of their level are elsewhere."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping

from plan.matrix import NOW
from reporting import profiles
from reporting.sections import Tables, factors

TITLE = "Surprises: what the two factors do not explain"
MOST = 10


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"rows": [{"machine", "name", "phase", "level", "wall_s", "within", "expected_s", "over", "over_low", "over_high",
    "over_mark", "pattern": what `make profile` calls it, "profile": in words}], the farthest first, "usual": how many rows lie
    where they are expected, within their interval}

    Expected is a row's own products times what rows of its level usually take over theirs: the median over them, of one
    machine, device and phase. A level with one row says nothing.
    """
    found = factors.analyse(tables, about, benchmark)
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    known = {tuple(cell[key] for key in factors.PLACE): cell for cell in cells.to_dict("records")}
    levels = defaultdict(list)
    for row in found["rows"] if found else ():
        place = tuple(row[key] for key in factors.PLACE)
        if row["flexibility"] and place in known:
            level = known[place]["flexibility"]
            levels[row["machine"], row["device"], row["phase"], level].append((row, known[place]))
    rows, usual = [], 0
    for (_, _, _, level), pairs in levels.items():
        typical = statistics.median(row["flexibility"] for row, _ in pairs)
        for row, cell in pairs:
            over, low, high = (
                row[f"flexibility{end}"] / typical if row[f"flexibility{end}"] else None
                for end in ("", "_low", "_high")
            )
            if low is None or not math.isfinite(low):
                continue  # one look
            if low <= 1 <= high:
                usual += len(pairs) > 1
                continue
            entry = {key: row[key] for key in ("machine", "name", "phase", "wall_s", "within")}
            entry |= {"level": level, "expected_s": row["products_s"] * typical, "over": over}
            entry |= {"over_low": low, "over_high": high, "over_mark": row["flexibility_mark"]}
            entry["pattern"] = profiles.pattern(cell)
            rows.append(entry | {"profile": profiles.of_cell(about["profiles"], cell["records"])})
    if not rows and not usual:
        return None
    rows.sort(key=lambda row: -abs(math.log(row["over"])))
    return {"rows": rows[:MOST], "more": len(rows[MOST:]), "usual": usual}
