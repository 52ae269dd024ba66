"""Two factors apart: what flexibility costs (a row over its own framework's matrix products) and what the framework's
library costs (those products over the machine's multiply-add peak). Their product is the row over the peak."""

from collections.abc import Mapping

import pandas as pd

from plan import matrix
from reporting.sections import Tables

TITLE = "Two factors: flexibility and the library"
PEAK = "tvm/fma-peak"
# Whose matrix products a framework's rows call, where its name does not say so.
LIBRARIES = {
    "keras/lstm-tensorflow": "tensorflow",
    "keras/lstm-torch": "pytorch",
    "keras/lstm-jax": "jax",
}
SLACK = 1.02  # rows above a ceiling by less are at it


def library(implementation: str) -> str:
    return LIBRARIES.get(implementation, implementation.split("/")[0])


def products(cells: pd.DataFrame) -> dict[tuple, dict]:
    """{(machine, device, phase, framework, generation): the row of its matrix products as its styles call them}"""
    found = {}
    for row in cells[(cells["family"] == "ceiling") & (cells["implementation"] != PEAK)].to_dict(
        "records"
    ):
        framework, _, style = row["implementation"].partition("/")
        key = (row["machine"], row["device"], row["phase"], framework, row["generation"])
        if key not in found or "large" not in style:
            found[key] = row
    return found


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"rows": [{"machine", "name", "phase", "device", "wall_s", "products_s", "flexibility", "library", "share"}],
    "products": the ceilings, "broken": rows that beat a ceiling}. Factors that lack a number are None."""
    cells = tables.measured(benchmark=benchmark)
    own = products(cells)
    peaks = cells[cells["implementation"] == PEAK]
    peak = {(row.machine, row.device, row.phase): row.wall_median_s for row in peaks.itertuples()}
    found = []
    for row in cells[cells["flexibility"].notna()].to_dict("records"):
        place = (row["machine"], row["device"], row["phase"])
        ceiling = own.get((*place, library(row["implementation"]), row["generation"]))
        limit, wall = peak.get(place), row["wall_median_s"]
        time = ceiling["wall_median_s"] if ceiling else None
        entry = {key: row[key] for key in ("machine", "name", "environment", "phase", "device")}
        entry |= {"wall_s": wall, "products_s": time}
        entry |= {"flexibility": wall / time if time else None}
        entry |= {"library": time / limit if time and limit else None}
        entry |= {"share": limit / wall if limit else None}
        found.append(entry)
    if not any(row["flexibility"] or row["share"] for row in found):
        return None
    ceilings = [
        {
            key: row[key]
            for key in (
                "machine",
                "name",
                "environment",
                "phase",
                "device",
                "wall_median_s",
                "gflops",
            )
        }
        for row in cells[cells["family"] == "ceiling"].to_dict("records")
    ]
    for row in ceilings:
        limit = peak.get((row["machine"], row["device"], row["phase"]))
        row["share"] = limit / row["wall_median_s"] if limit else None
    beaten = [
        f"{row['name']} ({row['environment']}, {row['phase']}) is faster than its framework's matrix products"
        for row in found
        if row["flexibility"] and row["flexibility"] * SLACK < 1
    ]
    beaten += [
        f"{row['name']} ({row['environment']}, {row['phase']}) is faster than the multiply-add peak"
        for row in [*found, *ceilings]
        if row["share"] and row["share"] > SLACK
    ]
    found.sort(key=lambda row: (row["machine"], row["phase"], row["wall_s"]))
    today = sorted({matrix.today(row["environment"]) for row in found})
    return {"rows": found, "products": ceilings, "broken": beaten, "environments": today}
