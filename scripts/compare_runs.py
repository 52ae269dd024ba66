"""Two results folders side by side, a cell against itself: what became slower, faster, or stopped working.

Exit status: 0; with --fail, 1 if there is a regression; 2 if a folder cannot be compared.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from measurement.record import RETRIED, read_json
from plan.matrix import Cell
from reporting import estimates, results, templates

TEMPLATES = Path(__file__).resolve().parent.parent / "report"
KEY = ["environment", "benchmark", "implementation", "phase", "device"]


@dataclass
class Run:
    """One results folder: its table, its context, and the records of the cells that have a number."""

    folder: Path
    context: dict
    cells: pd.DataFrame  # a row a cell, by its name
    records: dict[str, list[dict]]  # by the cell's name

    def dates(self) -> str:
        days = sorted(record["started"][:10] for group in self.records.values() for record in group)
        return " to ".join(sorted({days[0], days[-1]})) if days else "no cell measured"

    def commits(self) -> list[str]:
        """Commits of the workflow that measured; `+`: with changes."""
        states = [record["repository"] for group in self.records.values() for record in group]
        return sorted({s["commit"][:10] + "+" * s["dirty"] for s in states if s})


def cell_of(row: pd.Series) -> Cell:
    return Cell(**{key: row[key] for key in KEY})


def read_table(folder: Path) -> pd.DataFrame:
    """cells.parquet, or cells.csv where it is not there."""
    if (folder / "cells.parquet").exists():
        return pd.read_parquet(folder / "cells.parquet")
    if (folder / "cells.csv").exists():
        return pd.read_csv(folder / "cells.csv")
    sys.exit(f"{folder} is no results folder: it has neither cells.parquet nor cells.csv.")


def load(folder: Path) -> Run:
    """A results folder, or a stop with one line. Other machines that its run also reported are left out."""
    found: dict[str, list[dict]] = {}
    for record in results.records(folder):
        found.setdefault(results.cell_of(record).name, []).append(record)
    context, cells = read_json(str(folder / results.CONTEXT)), read_table(folder)
    others = [each["machine"] for each in context.get("also_reported", [])]
    cells = cells[~cells["machine"].isin(others)]
    cells.index = [cell_of(row).name for _, row in cells.iterrows()]
    measured = cells[cells["status"] == "ok"]
    for name, count in measured["processes"].items():
        if len(found.get(name, [])) != count:
            sys.exit(
                f"{folder} is incomplete: {results.ARCHIVE} has {len(found.get(name, []))} of the {count} records "
                f"of {name} in its table."
            )
    return Run(folder, context, cells, {name: found[name] for name in measured.index})


def statuses(a: Run, b: Run) -> pd.DataFrame:
    """Cells of both tables whose status differs: `status_a`, `status_b`, `reason` of the one that is not ok, and
    whether it is a `regression`, a number that is lost by a failure."""
    both = a.cells.join(b.cells[["status", "reason"]].add_suffix("_b"), how="inner")
    changed = both[both["status"] != both["status_b"]].copy()
    changed["regression"] = (changed["status"] == "ok") & changed["status_b"].isin(RETRIED)
    changed["reason"] = changed["reason_b"].where(changed["status_b"] != "ok", changed["reason"])
    return changed.rename(columns={"status": "status_a"})


def on_one_side(a: Run, b: Run) -> Iterator[dict]:
    """Cells with a number in one run that the other has no row of."""
    for side, run, other in (("A", a, b), ("B", b, a)):
        for name in sorted(run.records.keys() - set(other.cells.index)):
            yield {"name": name, "side": side}


def versions(run: Run) -> dict[tuple[str, str], str]:
    """{(environment, package): version}, Python and all packages."""
    return {
        (name, package): version
        for name, environment in run.context["environments"].items()
        for package, version in (
            {"python": environment["python"]} | environment["packages"]
        ).items()
    }


def conditions(run: Run) -> dict[str, str]:
    """What besides packages decides how fast a run is, in words."""
    config = run.context["config"]
    return {
        "machine": ", ".join(sorted(run.context["machines"])),
        "threads": ", ".join(map(str, run.context["threads"])),
        "corpus": run.context["corpus"].get("source", "none"),
        **{f"protocol.{key}": str(value) for key, value in sorted(config["protocol"].items())},
        **{
            f"overrides.{document}.{key}": str(value)
            for document, override in sorted(config["overrides"].items())
            for key, value in sorted(override.get("protocol", {}).items())
        },
    }


def differing(a: dict, b: dict) -> list[tuple]:
    """(key, value in a, value in b) of all that differs; None where one has none."""
    keys = dict.fromkeys([*a, *b])
    return [(key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key)]


def comparison(a: Run, b: Run, relevant: float) -> dict:
    """What report/comparison.md.j2 shows."""
    both = [name for name in a.records if name in b.records]
    alike = [
        name for name in both if a.records[name][0]["benchmark"] == b.records[name][0]["benchmark"]
    ]
    found = estimates.changes(
        {name: estimates.medians(a.records[name]) for name in alike},
        {name: estimates.medians(b.records[name]) for name in alike},
        relevant,
    )
    order = ["regression", "improvement", "inconclusive", "same"]
    found["rank"] = found["verdict"].map(order.index)
    found = found.sort_values(["rank", "adjusted"], kind="stable")  # what is most certain first
    changed = statuses(a, b)
    return {
        "a": a,
        "b": b,
        "relevant": relevant,
        "cells": found.to_dict("records"),
        "counts": {verdict: int((found["verdict"] == verdict).sum()) for verdict in order},
        "mean_ratio": float(np.exp(np.log(found["ratio"]).mean())) if alike else None,
        "statuses": changed.reset_index(names="name").to_dict("records"),
        "one_side": list(on_one_side(a, b)),
        "redefined": [name for name in both if name not in alike],
        "conditions": differing(conditions(a), conditions(b)),
        "packages": differing(versions(a), versions(b)),
        "regressions": [
            *found.loc[found["verdict"] == "regression", "cell"],
            *changed.index[changed["regression"]],
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a", type=Path, metavar="A", help="results folder to compare with")
    parser.add_argument(
        "b", type=Path, metavar="B", help="results folder that may be better or worse"
    )
    parser.add_argument(
        "--relevant", type=float, default=5, help="smallest change that matters (%%)"
    )
    parser.add_argument(
        "--fail", action="store_true", help="exit status 1 if there is a regression"
    )
    parser.add_argument("--output", type=Path, help="file to write instead of the terminal")
    arguments = parser.parse_args()
    try:
        runs = load(arguments.a), load(arguments.b)
    except SystemExit as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
    found = comparison(*runs, arguments.relevant / 100)
    text = templates.environment(TEMPLATES).get_template("comparison.md.j2").render(found)
    if arguments.output:
        arguments.output.write_text(text)
    else:
        sys.stdout.write(text)
    if found["regressions"]:
        print("Regressions:", *found["regressions"], sep="\n  ", file=sys.stderr)
        sys.exit(1 if arguments.fail else 0)


if __name__ == "__main__":
    main()
