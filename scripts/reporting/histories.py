"""A package's releases one after the other: each measurement's time, its ratio from release to release, and where it changed."""

import math
from collections.abc import Iterable, Mapping, Sequence

from reporting import layout

CHANGED = ("regression", "improvement")


def rendered(package: str, steps: Sequence[Mapping], skipped: Mapping[str, str]) -> str:
    """The page, in markdown. steps: what `bumps.comparison` says of each pair of neighbours, the oldest first; skipped: releases
    that could not be measured, and why."""
    versions = [steps[0]["before"].version, *(step["after"].version for step in steps)]
    rows = {(row["cell"], n): row for n, step in enumerate(steps) for row in step["cells"]}
    cells = list(dict.fromkeys(cell for cell, _ in rows))
    relevant = steps[0]["relevant"]
    lines = [
        f"# {package} {versions[0]} to {versions[-1]}",
        "",
        f"Time relative to the release before, with 95 % intervals; bold: a change of more than {100 * relevant:g} %. "
        f"Neighbours took turns. Machine: {steps[0]['machine']}.",
        "",
        *_changes(rows, versions),
        "## All releases",
        "",
        *_table(
            ["measurement", f"{versions[0]} (ms)", *versions[1:], "last over first"],
            (_row(cell, [rows.get((cell, n)) for n in range(len(steps))]) for cell in cells),
        ),
        *_problems(steps, versions),
    ]
    if skipped:
        lines += ["", "## Left out", "", *_table(["release", "reason"], map(list, skipped.items()))]
    return "\n".join(lines) + "\n"


def _changes(rows: Mapping[tuple[str, int], Mapping], versions: Sequence[str]) -> list[str]:
    found = [
        [versions[n + 1], f"`{cell}`", _ratio(row)]
        for (cell, n), row in rows.items()
        if row["verdict"] in CHANGED
    ]
    undecided = sum(row["verdict"] == "undecided" for row in rows.values())
    told = f"{undecided} of {len(rows)} comparisons are undecided: their intervals are too wide."
    if not found:
        return [f"No change was found. {told}" if undecided else "No change was found.", ""]
    found.sort(key=lambda row: versions.index(row[0]))
    lines = ["## Where times changed", "", *_table(["release", "measurement", "ratio"], found), ""]
    return [*lines, told, ""] if undecided else lines


def _row(cell: str, steps: Sequence[Mapping | None]) -> list[str]:
    first = f"{1e3 * steps[0]['before_s']:.4g}" if steps[0] else "–"
    return [f"`{cell}`", first, *map(_ratio, steps), _ratio(product(steps))]


def product(steps: Sequence[Mapping | None]) -> dict | None:
    """The ratio of the last release to the first: the steps' product, whose relative errors add as squares."""
    if not all(steps):
        return None
    change = sum(math.log(row["ratio"]) for row in steps if row)
    margin = math.sqrt(sum(math.log(row["high"] / row["ratio"]) ** 2 for row in steps if row))
    bounds = {"low": math.exp(change - margin), "high": math.exp(change + margin)}
    return {"ratio": math.exp(change), "verdict": "", **bounds}


def _ratio(row: Mapping | None) -> str:
    if row is None or math.isnan(row["ratio"]):
        return "–"
    text = layout.thousandths(row)
    return f"**{text}**" if row["verdict"] in CHANGED else text


def _problems(steps: Sequence[Mapping], versions: Sequence[str]) -> list[str]:
    """Grown errors and lost numbers."""
    grown, lost = [], []
    for version, step in zip(versions[1:], steps, strict=True):
        for row in step["errors"]:
            what = f"{row['error']}: {row['before']:.1e} to {row['after']:.1e}"
            grown.append([version, f"`{row['cell']}`", what])
        for row in step["statuses"]:
            what = f"{row['before']} to {row['after']}: {row['reason']}"
            lost.append([version, f"`{row['cell']}`", what])
    if not (found := grown + lost):
        return []
    return ["", "## Errors and failures", "", *_table(["release", "measurement", "what"], found)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    numbers = ["--:" if n else ":--" for n in range(len(head))]
    told = [list(map(layout.cell, row)) for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, numbers, *told)]
