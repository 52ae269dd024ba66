"""What separates the rows, as measured: the framework's own products, overhead a step, page faults, threads."""

from collections.abc import Mapping

from plan.matrix import NOW
from reporting.sections import Tables, factors
from reporting.sections.answer import FLEXIBLE

IDLE = 0.75  # rows that keep their threads less busy are named
PLACE = ["machine", "device", "phase"]


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"split": the slowest row of operators by machine, phase and environment, in two factors, "products": [rates, by machine],
    "broken": factors', "faults": [extremes], "idle": [rows]}"""
    split = factors.analyse(tables, about, benchmark) or {"rows": [], "products": [], "broken": []}
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    lstms = cells[cells["flexibility"].notna()]
    flexible = set(lstms.loc[lstms["flexibility"].isin(FLEXIBLE), "name"])
    worst: dict[tuple, dict] = {}
    for row in split["rows"]:
        if row["name"] in flexible and row["flexibility"] and row["now"]:
            key = tuple(row[name] for name in (*PLACE, "environment"))
            worst[key] = max(worst.get(key, row), row, key=lambda each: each["wall_s"])
    faults = []
    for place, own in lstms[lstms["page_faults"].notna()].groupby(PLACE, sort=False):
        most = own.loc[own["page_faults"].idxmax()]
        middle = own["page_faults"].median()
        if most["page_faults"] >= 1:
            entry = dict(zip(PLACE, place, strict=True)) | {"name": most["name"]}
            faults.append(entry | {"most": most["page_faults"], "middle": middle})
    products: dict[str, list[dict]] = {}
    for row in split["products"]:
        if row["gflops"] == row["gflops"] and row["gflops"] and row["now"]:
            products.setdefault(row["machine"], []).append(row)
    idle = lstms[(lstms["utilisation"] < IDLE) & (lstms["device"] == "cpu")]
    found = {
        "split": list(worst.values()),
        "products": [
            {"machine": machine, "rows": sorted(rows, key=lambda row: -row["gflops"])}
            for machine, rows in products.items()
        ],
        "broken": split["broken"],
        "faults": faults,
        "idle": [
            {key: row[key] for key in ("machine", "name", "phase", "utilisation")}
            for row in idle.sort_values("utilisation").to_dict("records")
        ],
    }
    return {**found, "document": about["name"]} if any(found.values()) else None
