"""What another version of a package changed: its cells before and after, correctness first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from measurement import quiet
from measurement.record import RETRIED, read_json
from plan.matrix import Measurement
from plan.versions import NAMED_BY
from reporting import page
from reporting.layout import thousandths
from reporting.results import read_record
from stats import changes, clean, samples

GREW = 10  # times that an error grows which is news, also below the tolerance
ROUNDING = 1.2e-7  # of float32; an error below it is none
SETUP_RELEVANT = 0.1  # smallest change of set-up times and memory that is named
LEAST_S = 0.01  # of set-up times; shorter ones are none that matter
# What a process takes besides its batches: what it is called, where a record has it, and the least that counts.
SETUP: dict[str, tuple[tuple[str, str], float]] = {
    "import (s)": (("setup", "import_s"), LEAST_S),
    "build (s)": (("setup", "build_s"), LEAST_S),
    "first step (s)": (("setup", "first_step_s"), LEAST_S),
    "peak memory (bytes)": (("memory", "process_peak_bytes"), 1),
}


@dataclass(frozen=True)
class Version:
    """A version and what was measured of it: the records of each cell's processes, and of its environments."""

    version: str
    records: Mapping[Measurement, Sequence[dict]]
    environments: Mapping[str, dict]

    def status(self, cell: Measurement) -> tuple[str, str]:
        """(status, reason); `not measured` without a record."""
        records = self.records.get(cell, [])
        bad = [record for record in records if record["status"] != "ok"]
        if bad:
            return bad[0]["status"], bad[0]["reason"]
        return ("ok", "") if records else ("not measured", "")

    def span(self) -> tuple[datetime, datetime] | None:
        """When its first process was started and its last one ended (UTC)."""
        found = [
            (start, start + timedelta(seconds=record["seconds"]))
            for records in self.records.values()
            for record in records
            for start in [datetime.fromisoformat(record["started"].rstrip("Z"))]
        ]
        return (min(s for s, _ in found), max(e for _, e in found)) if found else None

    def errors(self, cell: Measurement) -> dict[str, float]:
        """{name: the largest error of its processes}, by the check before them and by that after their last batch."""
        found: dict[str, float] = {}
        for record in self.records[cell]:
            checked = (record.get("check") or {}).get("errors") or {}
            timed = record.get("verification", {}).get("errors", {})
            named = {**checked, **{f"timed {name}": error for name, error in timed.items()}}
            for name, error in named.items():
                found[name] = max(error, found.get(name, 0.0))
        return found


def read(
    version: str, records: Mapping[Measurement, Sequence[Path]], environments: Mapping[str, Path]
) -> Version:
    """A version from the files of its records, and of those of its environments."""
    return Version(
        version,
        {cell: [read_record(path) for path in paths] for cell, paths in records.items()},
        {name: read_json(str(path)) for name, path in environments.items()},
    )


def age(before: Version, after: Version) -> str:
    """How far apart the two were measured, in words."""
    first, then = before.span(), after.span()
    if not first or not then:
        return ""
    if first[0] < then[1] and then[0] < first[1]:
        return "in turn"
    apart = max(then[0] - first[1], first[0] - then[1])
    hours = apart.total_seconds() / 3600
    words = f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.1f} hours"
    return f"{words if hours >= 1 else f'{60 * hours:.0f} minutes'} apart"


def grown(before: Version, after: Version, cells: Sequence[Measurement]) -> list[dict]:
    """Errors of cells with a number in both that grew by ten times, the one that grew most of each cell."""
    found = []
    for cell in cells:
        old, new = before.errors(cell), after.errors(cell)
        growth = {name: new[name] / max(old[name], ROUNDING) for name in new.keys() & old.keys()}
        name = max(growth, key=growth.__getitem__, default=None)
        if name and growth[name] >= GREW:
            found.append(
                {"cell": cell.name, "error": name, "before": old[name], "after": new[name]}
            )
    return found


def largest_error(version: Version, cells: Sequence[Measurement]) -> float | None:
    return max((error for cell in cells for error in version.errors(cell).values()), default=None)


def statuses(before: Version, after: Version, cells: Sequence[Measurement]) -> list[dict]:
    """Cells whose status is another one; a number lost by a failure is a `regression`."""
    found = []
    for cell in cells:
        (old, why), (new, reason) = before.status(cell), after.status(cell)
        if old != new and "not measured" not in (old, new):
            row = {"cell": cell.name, "before": old, "after": new, "reason": reason or why}
            found.append(row | {"regression": old == "ok" and new in RETRIED})
    return found


Times = dict[str, list[float]]  # of each cell's processes


def judged(before: Times, after: Times, relevant: float, few: Sequence[str] = ()) -> pd.DataFrame:
    """One quantity of all cells before and after, judged at once (changes.changes); few: cells of fewer processes than may differ
    by chance, which are not named."""
    found = changes.changes(before, after, relevant)
    named = found["verdict"].isin(["regression", "improvement"])
    found.loc[named & found["cell"].isin(few), "verdict"] = "undecided"
    return changes.ranked(found)


def packages(before: Version, after: Version) -> list[dict]:
    """All packages that differ, and Python, by environment."""
    found = []
    for name in after.environments:
        old, new = (
            {"Python": side.environments[name]["python"]} | side.environments[name]["packages"]
            if name in side.environments
            else {}
            for side in (before, after)
        )
        found += [
            {"environment": name, "package": each, "before": old.get(each), "after": new.get(each)}
            for each in sorted(old.keys() | new.keys(), key=str.lower)
            if old and new and old.get(each) != new.get(each)
        ]
    return found


def setup(before: Version, after: Version, cells: Sequence[Measurement]) -> list[dict]:
    """Set-up times and memory that changed, in cells judged at once, a row each."""
    found = []
    for name, ((group, key), least) in SETUP.items():
        old, new = (
            {
                cell.name: [max(record[group][key] or 0, least) for record in version.records[cell]]
                for cell in cells
            }
            for version in (before, after)
        )
        table = judged(old, new, SETUP_RELEVANT)
        named = table[table["verdict"].isin(["regression", "improvement"])]
        found += [row | {"what": name} for row in named.to_dict("records")]
    return found


def _title(regressions: int, counts: Mapping[str, int], errors: int) -> str:
    if regressions or errors:
        worse = f"worse in {regressions} measurement{'s' * (regressions != 1)}"
        return worse + (f", {errors} with a grown error" if errors else "")
    if not sum(counts.values()):
        return "nothing to compare"
    better = counts["improvement"]
    words = (
        f"faster in {better} measurement{'s' * (better != 1)}"
        if better
        else "no measurement differs"
    )
    same, undecided = counts["same"], counts["undecided"]
    return f"{words} ({same} the same, {undecided} undecided)"


def comparison(package: str, before: Version, after: Version, relevant: float) -> dict:
    """What report/bump.md.j2 shows. `regressions`: names of all cells that are worse, errors and lost numbers first."""
    cells = list(after.records)
    both = [cell for cell in cells if before.status(cell)[0] == after.status(cell)[0] == "ok"]
    changed, errors = statuses(before, after, cells), grown(before, after, both)

    # Beside each other, as the processes of both versions may have taken turns: held against the same readings of the machine.
    sides = (before, after)
    best = quiet.of_run(record for side in sides for own in side.records.values() for record in own)
    usable = {
        (side.version, cell.name): clean.usable_records(side.records[cell], best)
        for side in sides
        for cell in both
    }
    times = samples.with_prior({name: samples.medians(own) for name, own in usable.items()})
    old, new = ({cell.name: times[side.version, cell.name] for cell in both} for side in sides)
    few = [cell.name for cell in both if min(len(side.records[cell]) for side in sides) < NAMED_BY]
    table = judged(old, new, relevant, few)
    counts = {verdict: int((table["verdict"] == verdict).sum()) for verdict in changes.ORDER}
    slower = table.loc[table["verdict"] == "regression", "cell"]
    lost = [row["cell"] for row in changed if row["regression"]]
    worse = list(dict.fromkeys([*lost, *(row["cell"] for row in errors), *slower]))
    verdict = _title(len({*lost, *slower}), counts, len(errors))
    return {
        "title": f"{package} {before.version} to {after.version}: {verdict}",
        "before": before,
        "after": after,
        "age": age(before, after),
        "relevant": relevant,
        "cells": table.to_dict("records"),
        "counts": counts,
        "undecided": set(table.loc[table["verdict"] == "undecided", "cell"]),
        "mean_ratio": float(np.exp(np.log(table["ratio"]).mean())) if both else None,
        "errors": errors,
        "largest": [largest_error(before, both), largest_error(after, both)],
        "statuses": changed,
        "without_before": [c.name for c in cells if before.status(c)[0] == "not measured"],
        "packages": packages(before, after),
        "setup": setup(before, after, both),
        "machine": next((r["machine"]["machine"] for c in cells for r in after.records[c]), ""),
        "grew": GREW,
        "setup_relevant": SETUP_RELEVANT,
        "regressions": worse,
    }


def rendered(found: dict) -> str:
    """The page, in markdown."""
    for row in (*found["cells"], *found["setup"]):
        row["shown"] = thousandths(row)
    return page.rendered("bump.md.j2", found)
