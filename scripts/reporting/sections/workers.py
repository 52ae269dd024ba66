"""Rows that divide a batch among workers: how much of their number they gain."""

from collections.abc import Mapping

from reporting.sections import Tables, rows

TITLE = "Several workers"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": of divided cells, "published": what the document's two GPUs came to}"""
    cells = tables.measured()
    cells = cells[cells["workers"].notna()]
    if cells.empty:
        return None
    found = rows(
        cells,
        "machine",
        "label",
        "benchmark",
        "device",
        "environment",
        "workers",
        "words_per_s",
        "undivided",
        "scaling",
        "scaling_low",
        "scaling_high",
    )
    undivided = {row["undivided"] for row in found}
    for row in found:
        row["undivided"] = about["labels"][row["undivided"]]
    printed = tables.published[tables.published["implementation"] == "tensorflow/data-parallel"]
    # Over one GPU by another row is no scaling.
    printed = printed[printed["over"].isin(["", *undivided])]
    published = dict(zip(printed["quantity"], printed["value"], strict=True))
    return {"rows": found, "published": published}
