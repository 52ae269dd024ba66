"""All rows without a number, by reason: nothing is dropped, but what has no number stands in no table."""

from collections.abc import Mapping

from plan.matrix import NOT_RUN
from reporting.sections import Tables, took_part

TITLE = "Rows without a number"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"devices": [{"machine", "device", "count"}] that took no part, "rows": [{"machine", "status",
    "reason", "count", "cells"}]}"""
    cells = tables.cells[tables.cells["status"] != "ok"]
    if cells.empty:
        return None
    took = took_part(cells, about)
    absent = cells[~took]
    groups = cells[took].groupby(["machine", "status", "reason"], sort=False)
    found = []
    for (machine, status, reason), own in groups:
        names = [
            f"{row.name} in {row.environment} ({row.benchmark}, {row.phase}, {row.device.upper()})"
            for row in own.itertuples()
        ]
        key = {"machine": machine, "state": status, "reason": reason}
        found.append(key | {"count": len(own), "cells": names})
    found.sort(key=lambda row: (row["state"] == NOT_RUN, -row["count"]))
    return {
        "devices": [
            {"machine": machine, "device": device, "count": len(own)}
            for (machine, device), own in absent.groupby(["machine", "device"], sort=False)
        ],
        "rows": found,
    }
