"""Whose gradients were right over the years, and whose were not."""

from collections.abc import Mapping

from reporting import timeline
from reporting.sections import Tables, rows


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"wrong": rows of training that were refused, "environments": of each the largest gradient error and the row
    that has it, by year}"""
    cells = tables.cells[tables.cells["phase"] == "training"]
    wrong = cells[cells["status"] == "incorrect"]
    checked = cells[(cells["status"] == "ok") & cells["gradient_error"].notna()]
    if checked.empty and wrong.empty:
        return None
    found = []
    for (machine, environment), own in checked.groupby(["machine", "environment"], sort=False):
        worst = own.loc[own["gradient_error"].idxmax()]
        row = {"machine": machine, "environment": environment, "rows": len(own)}
        row |= {"year": timeline.year_of(environment, timeline.today(about))}
        row |= {"version": worst["framework_version"], "error": worst["gradient_error"]}
        found.append(row | {"name": worst["name"], "benchmark": worst["benchmark"]})
    columns = ("machine", "name", "environment", "benchmark", "device", "reason", "gradient_error")
    found.sort(key=lambda row: (row["machine"], row["environment"].split("-")[0], row["year"]))
    return {"wrong": rows(wrong, *columns), "environments": found}
