"""The tables of all documents as one: cells.csv, and a page to search and sort."""

import argparse
from pathlib import Path

import pandas as pd

from measurement.record import plainly, whole
from reporting import page, pages

SEARCHED = [  # the columns of the searchable table, out of all those of cells.csv
    *("benchmark", "implementation", "phase", "wall_median_s", "wall_low_s", "wall_high_s"),
    *("status", "device", "document", "environment", "framework_version", "wall_s"),
    *("sequences_per_s", "gflops", "build_s", "first_step_s", "tuning_s", "peak_memory_bytes"),
    *("output_error", "gradient_error", "flags", "published_wall_s", "processes", "batches"),
    *("records", "reason"),
]


def searchable(cells: pd.DataFrame) -> dict:
    """{"columns", "rows"} of the table of all cells, each with its records, those with a number first."""
    columns = (["machine"] if cells["machine"].nunique() > 1 else []) + SEARCHED
    shown = cells.sort_values("status", key=lambda each: each != "ok", kind="stable")
    shown = shown[columns].astype(object)
    return {"columns": columns, "rows": shown.where(shown.notna(), "").to_numpy().tolist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", required=True, nargs="+", help="cells.parquet of documents")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--html", required=True, type=Path)
    arguments = parser.parse_args()
    table = pd.concat([pd.read_parquet(path) for path in arguments.cells], ignore_index=True)
    with whole(arguments.csv) as stream:
        table.to_csv(stream, index=False)
    template = page.environment().get_template("cells.html.j2")
    with whole(arguments.html) as stream:
        site = pages.site(table["document"].unique())
        stream.write(template.render(searchable(table) | {"site": site, "name": "cells"}))


if __name__ == "__main__":
    plainly(main)
