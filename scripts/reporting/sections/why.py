"""What separates the rows, as measured: the framework's own products, page faults, threads."""

from collections.abc import Mapping

from reporting.sections import Tables, factors
from reporting.sections.answer import FLEXIBLE

NOW = "now"
IDLE = 0.75  # rows that keep their threads less busy are named


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"split": [rows of operators by two factors], "products": [rates], "faults": [extremes], "idle": [rows]}"""
    split = factors.analyse(tables, about, benchmark) or {"rows": [], "products": []}
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    lstms = cells[cells["flexibility"].notna()]
    flexible = set(lstms.loc[lstms["flexibility"].isin(FLEXIBLE), "name"])
    worst = {}
    for row in split["rows"]:
        if (
            row["name"] in flexible
            and row["flexibility"]
            and row["environment"] in set(lstms["environment"])
        ):
            key = (row["machine"], row["device"], row["phase"])
            worst[key] = max(worst.get(key, row), row, key=lambda each: each["wall_s"])
    faults = []
    for (machine, device, phase), own in lstms[lstms["page_faults"].notna()].groupby(
        ["machine", "device", "phase"], sort=False
    ):
        most = own.loc[own["page_faults"].idxmax()]
        entry = {"machine": machine, "device": device, "phase": phase, "name": most["name"]}
        faults.append(entry | {"most": most["page_faults"], "middle": own["page_faults"].median()})
    idle = lstms[(lstms["utilisation"] < IDLE) & (lstms["device"] == "cpu")].sort_values(
        "utilisation"
    )
    found = {
        "split": list(worst.values()),
        "products": [
            row for row in split["products"] if row["gflops"] and row["gflops"] == row["gflops"]
        ],
        "faults": faults,
        "idle": [
            {key: row[key] for key in ("machine", "name", "phase", "utilisation")}
            for row in idle.to_dict("records")
        ],
    }
    return found if any(found.values()) else None
