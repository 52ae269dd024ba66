"""What a user can set or choose without another model, with the factor measured here."""

from collections.abc import Mapping

from measurement import departures as measured
from plan.matrix import NOW
from reporting.sections import Tables, break_even, departures, in_half_precision

MATTERS, SHOWN = 0.05, 6  # what changes no row by more is on the document's page
HALF = "compute products in half precision (bfloat16), where the processor has it"
# Departures from the protocol that are a setting left out, and what is set here. The others change what is measured.
SETTINGS = {
    measured.DEFAULT_MALLOC: "keep freed memory: `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` (glibc) at 8 GiB",
    measured.DENORMALS: "flush denormal numbers to zero: `torch.set_flush_denormal(True)`",
    measured.GRADIENTS_RECORDED: "record no gradients where none is needed: `torch.no_grad()`",
    measured.FETCHED: "leave results on the device instead of bringing them to the host",
}


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "setting", "phase", "device", "least" and "most": times as fast with it, with intervals and
    the rows' names, "count"}], those that matter, "more": how many are not shown, "little": settings that
    do not, "unmeasured": settings without a number, "departed": whether the document's page has a table of them}"""
    groups: dict[tuple, list[dict]] = {}
    for row in _set(tables, about) + _compiled(tables, about):
        key = ("setting", "machine", "device", "phase")
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    rows = []
    for (setting, machine, device, phase), own in groups.items():
        own.sort(key=lambda each: each["ratio"])
        entry = {"setting": setting, "machine": machine, "device": device, "phase": phase}
        for side, end in (("least", own[0]), ("most", own[-1])):
            entry |= {side: end["ratio"], f"{side}_name": end["name"]}
            entry |= {f"{side}_{edge}": end[edge] for edge in ("low", "high", "mark")}
        rows.append(entry | {"count": len(own)})
    rows.sort(key=lambda row: -row["most"])
    matter = [row for row in rows if row["most"] > 1 + MATTERS]
    seen = {row["setting"] for row in rows}
    offered = {shape.get("departure") for shape in about["document"]["benchmarks"].values()}
    unmeasured = [
        words for name, words in SETTINGS.items() if name in offered and words not in seen
    ]
    half = in_half_precision(about)
    if half and not tables.measured()["benchmark"].isin(half).any():
        unmeasured.append(HALF)
    if not rows and not unmeasured:
        return None
    departed = bool(departures.analyse(tables, about))
    little = sorted(seen - {row["setting"] for row in matter})
    return {
        **{"rows": matter[:SHOWN], "more": len(matter[SHOWN:]), "little": little},
        **{"unmeasured": unmeasured, "document": about["name"], "departed": departed},
    }


def _set(tables: Tables, about: Mapping) -> list[dict]:
    """Rows of today without a setting, over themselves with it: how many times as fast it makes them."""
    shapes = about["document"]["benchmarks"]
    found = []
    for row in (departures.analyse(tables, about) or {"rows": []})["rows"]:
        setting = SETTINGS.get(shapes[row["benchmark"]].get("departure"))
        if setting and row["generation"] == NOW:
            ends = {edge: row[f"ratio_to_baseline_{edge}"] for edge in ("low", "high")}
            ends["mark"] = row.get("mark", "")
            found.append({**row, "setting": setting, "ratio": row["ratio_to_baseline"], **ends})
    return found


def _compiled(tables: Tables, about: Mapping) -> list[dict]:
    """Compiled rows of today that are faster than the row whose place they take, beyond the interval."""
    rows = tables.measured(generation=NOW, flexibility="compiled")
    compiled = set(zip(rows["implementation"], rows["environment"], strict=True))
    found = []
    for row in (break_even.analyse(tables, about) or {"rows": []})["rows"]:
        if (row["implementation"], row["environment"]) in compiled and row["verdict"] == "pays":
            more = {edge: row[f"faster_{edge}"] for edge in ("low", "high")}
            more["mark"] = row["gain_mark"]
            setting = f"compile the loop of operators: {row['name']} instead of {row['other_name']}"
            found.append({**row, "setting": setting, "ratio": row["faster"], **more})
    return found
