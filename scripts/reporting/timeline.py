"""Rows over the years: what an implementation takes in the environments of each year, as lines."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import pandas as pd

from plan import matrix
from stats import changes

KEYS = ("machine", "benchmark", "phase", "device", "implementation")
POINT = ["year", "environment", "version", "wall_median_s", "times"]
RELEVANT = 0.05  # smallest change from one release to the next that is named


def year_of(environment: str, today: int) -> int:
    """The year that an environment is of; of one of today, the measurement's."""
    generation = matrix.generation(environment)
    return today if generation == matrix.NOW else int(generation)


def today(about: Mapping) -> int:
    """The year of the last measurement."""
    days = [day for machine in about["machines"] for day in machine["days"]]
    return int(max(days, default="1970")[:4])


def lines(cells: pd.DataFrame, about: Mapping) -> Iterator[dict]:
    """Of measured cells, each implementation with a number in two years or more: {"machine", "benchmark", "phase", "device",
    "implementation", "name", "points": [{"year", "environment", "version", "wall_median_s", "times" (of its processes)}], by
    year}."""
    now = today(about)
    renamed = {"framework_version": "version", "process_medians_s": "times"}
    dated = cells.assign(year=[year_of(name, now) for name in cells["environment"]])
    for key, own in dated.rename(columns=renamed).groupby(list(KEYS), sort=False):
        if len(own) > 1:
            points = own.sort_values("year", kind="stable")[POINT].to_dict("records")
            line = {**dict(zip(KEYS, key, strict=True)), "name": own["name"].iloc[0]}
            yield line | {"points": points}


def releases(found: list[dict]) -> pd.DataFrame:
    """Every line from each year to the next, judged at once (changes.changes): its columns, and of the line `name`,
    `machine`, `benchmark`, `phase`, `device`, `implementation`, both `points` and their `versions`."""
    before, after, about = {}, {}, []
    for line in found:
        for old, new in pairwise(line["points"]):
            name = str(len(about))
            before[name], after[name] = old["times"], new["times"]
            both = {"points": (old, new), "versions": f"{old['version']} to {new['version']}"}
            about.append({key: line[key] for key in (*KEYS, "name")} | both)
    judged = changes.changes(before, after, RELEVANT)
    return pd.concat([pd.DataFrame(about), judged.drop(columns="cell")], axis=1)
