"""Whether implementations that train from the same weights come to the same perplexity."""

import itertools
from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import ticker

from reporting import training
from reporting.sections import Tables, rows
from reporting.style import OTHER, STYLE, hover, look, numbered, width

TITLE = "The implementations train the same model"
DASHES = ("-", "--", ":", "-.")  # of a framework's rows, in turn


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"runs": [{"machine", "rows", "agreement", "reached"}], "benchmark"}"""
    asked, table = about["document"]["training"], tables.trainings
    found = []
    for machine, own in table.groupby("machine", sort=False):
        those = rows(own)
        if not any(row["curve"] for row in those):
            continue
        known = None if any(row["stand_in"] for row in those) else asked.get("known")
        for row in those:
            row["end"] = row["curve"][-1] if row["curve"] else {}
            row |= {f"end_{key}": value for key, value in row["end"].items()}
            row["weights"] = (row["weights_sha256"] or "")[:12]
        agreement = training.agreement(those, asked["points"])
        found.append({"machine": machine, "rows": [row for row in those if row["status"] == "ok"]})
        found[-1] |= {"agreement": agreement, "reached": training.reached(those, known)}
        groups: dict[str, list[str]] = {}
        for row in those:
            if row["status"] != "ok":
                why = f"*{row['status']}*, {row['reason']}"
                groups.setdefault(why, []).append(f"{row['name']} in {row['environment']}")
        found[-1]["left_out"] = [f"{why}: {'; '.join(names)}" for why, names in groups.items()]
    return {"runs": found, "benchmark": asked["benchmark"]} if found else None


def draw(data: Mapping, tables: Tables, about: Mapping, wide: bool) -> tuple[plt.Figure, str]:
    """Validation perplexity by batches trained, a line a row, and below each row's difference from the median of all.
    A column a machine."""
    table = tables.trainings
    trained = table[table["status"] == "ok"]
    machines = list(trained.groupby("machine", sort=False))
    with plt.rc_context(STYLE):
        below = 0.19 * trained.groupby("machine").size().max() * (0.4 if wide else 1)
        columns = len(machines) if wide else 1
        count = 1 if wide else len(machines)
        figure, axes = plt.subplots(
            2 * count,
            columns,
            figsize=(width(wide, 9.5), 4.8 * count + below),
            sharex="col",
            squeeze=False,
            height_ratios=(3, 2) * count,
        )
        if not wide:
            axes = axes.reshape(count, 2).T
        for (upper, lower), (machine, own) in zip(axes.T, machines, strict=True):
            _machine(upper, lower, own)
            if len(machines) > 1:
                upper.set_title(about["machine_names"][machine], loc="left")
            numbered(lower, "batches trained")
        for upper, lower in axes.T if not wide else axes.T[:1]:
            upper.set_ylabel("validation perplexity")
            lower.set_ylabel("from the median (%)")
        handles = {
            label: handle
            for axis in axes[0]
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3 if wide else 1)
    reached = ", ".join(
        f"on {about['machine_names'][each]} {_reached(own)}" for each, own in machines
    )
    return (
        figure,
        f"Validation perplexity of runs that were trained from the same weights: {reached}.",
    )


def _reached(rows: pd.DataFrame) -> str:
    """Where the runs of one machine ended, which may be elsewhere than on another."""
    last = pd.DataFrame(list(rows["curve"].str[-1]))
    ends, batches = last["valid_perplexity"], sorted(last["batch"].unique())
    found = " to ".join(f"{end:.1f}" for end in sorted({ends.min(), ends.max()}))
    count = f"{len(rows)} runs" if len(rows) > 1 else "one run"
    return f"{found} after {' or '.join(f'{each:,}' for each in batches)} batches ({count})"


def _machine(upper: plt.Axes, lower: plt.Axes, rows: pd.DataFrame) -> None:
    """The two panels of one machine."""
    curves = {}
    for row in rows.itertuples():
        points = {point["batch"]: point["valid_perplexity"] for point in row.curve}
        curves[row.implementation, f"{row.label}, {row.environment}"] = pd.Series(points)
    median = pd.DataFrame(curves).median(axis=1)
    dashes: dict = {}
    for (implementation, name), curve in curves.items():
        each = look(implementation)
        dash = next(dashes.setdefault(each, itertools.cycle(DASHES)))
        drawn = {"color": each.color, "ls": dash, "marker": each.marker, "ms": 4, "lw": 1.2}
        (line,) = upper.plot(curve.index, curve, label=name, **drawn)
        hover(line, f"{name}: {curve.iloc[-1]:.1f} after {curve.index[-1]} batches")
        lower.plot(curve.index, 100 * (curve / median[curve.index] - 1), **drawn)
    upper.set_yscale("log")
    upper.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    upper.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    upper.yaxis.set_minor_formatter(ticker.NullFormatter())
    lower.axhline(0, color=OTHER.color, lw=0.5)
