"""The title's question answered: what styles take over the best row's time, by machine and phase."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from plan.matrix import NOW
from reporting import marks, words
from reporting.layout import interval, time, within
from reporting.sections import OK, Tables, factors
from reporting.style import (
    FILLS,
    GREY,
    NOTE,
    STYLE,
    fill,
    framework_legend,
    hover,
    logarithmic,
    look,
    span,
    width,
    wrapped,
)
from stats import estimates

FLEXIBLE = ("operators", "operators in a loop")  # what the title asks about
WRITTEN = (*FLEXIBLE, "compiled")  # the ways to a cell of one's own without a kernel
KERNELS = ("cell kernel", "fused kernel")
AXIS = "batch over the best row's (times, log)"
SIDE_BY_SIDE = 2  # panels that have room for that below each
APART, SHOWN = 1.5, 4  # rows that machines disagree about by more; how many of them are named


def compared(tables: Tables, benchmark: str) -> pd.DataFrame:
    """Today's LSTMs on a benchmark, each with its time over the best row's of the same machine, device and phase:
    `over`, `low`, `high`, `mark`, and `best`, whether it is that row."""
    cells = tables.measured(benchmark=benchmark, generation=NOW)
    cells = cells[cells["flexibility"].notna()]
    found = []
    for _, own in cells.groupby(["machine", "device", "phase"], sort=False):
        best = own.loc[own["wall_median_s"].idxmin()]
        for name, row in own.iterrows():
            ratio = estimates.ratio([row["process_medians_s"]], [best["process_medians_s"]])
            mine = name == best.name
            low, high = (1.0, 1.0) if mine else (ratio.low, ratio.high)
            mark = marks.mark(row) if mine else marks.mark(row, best)
            found.append(
                {"best": mine, "over": ratio.ratio, "low": low, "high": high, "mark": mark}
            )
    return cells.assign(**pd.DataFrame(found, index=_order(cells))) if found else cells.head(0)


def _order(cells: pd.DataFrame) -> list:
    groups = cells.groupby(["machine", "device", "phase"], sort=False).groups.values()
    return [name for names in groups for name in names]


def analyse(tables: Tables, about: Mapping, benchmark: str) -> dict | None:
    """{"columns": [{"key", "machine", "device", "phase"}], "rows": [{"name", "level", key: text}], the first with each
    column's best, "flexible": what _flexible says, "own": what _own says, "split": what _split says, "disagree": [...],
    "processes", ...}"""
    cells = compared(tables, benchmark)
    if cells.empty:
        return None
    columns, table, best = [], {}, {"name": "the best row", "level": ""}
    groups = cells.groupby(["machine", "device", "phase"], sort=False)
    for number, ((machine, device, phase), own) in enumerate(groups):
        key = f"c{number}"
        columns.append({"key": key, "machine": machine, "device": device, "phase": phase})
        first = own[own["best"]].iloc[0]
        best[key] = (
            f"{first['name']}: {time(first['wall_median_s'])} {_around(first)}".strip()
            + first["mark"]
            + _sure(own[~own["best"]])
        )
        for row in own.itertuples():
            text = f"{row.over:.2f}x {interval(row.low, row.high)}".strip() + row.mark
            table.setdefault(row.implementation, {})[key] = "**1**" if row.best else text
    known = cells.drop_duplicates("implementation").set_index("implementation")
    levels = list(words.LEVELS)
    order = sorted(
        table, key=lambda n: (levels.index(known.at[n, "flexibility"]), known.at[n, "over"])
    )
    rows = [
        {"name": known.at[name, "name"], "level": known.at[name, "flexibility"], **table[name]}
        for name in order
    ]
    flexible = _flexible(cells)
    return {
        "columns": columns,
        "rows": [best, *rows],
        "flexible": flexible,
        "own": _own(cells, _unmeasured(tables, benchmark)),
        "split": _split(flexible, factors.analyse(tables, about, benchmark)),
        "disagree": _disagree(cells, about["machine_names"]),
        "processes": int(cells["processes"].min()),
        "benchmark": benchmark,
        "batch": about["document"]["benchmarks"][benchmark]["batch"],
    }


def _sure(others: pd.DataFrame) -> str:
    """What keeps the best row of a machine from being established as such, beside its time: that another one may be as fast,
    or that of the next nobody knows."""
    if (others["low"] <= 1).any():
        return f", {marks.UNDECIDED}"
    once = not others.empty and pd.isna(others.loc[others["over"].idxmin(), "low"])
    return f", {marks.ONE_LOOK}" if once else ""


def _around(row: Mapping) -> str:
    """± half of the 95 % interval of a row's time, relative; nothing with fewer than three processes."""
    _, low, high = estimates.product([row["process_medians_s"]], [1])
    return within(row["wall_median_s"], low, high)


def _flexible(cells: pd.DataFrame) -> list[dict]:
    """What rows of operators take over their machine's best: [{"device", "machine", "framework": where all are of one, "phases":
    [{"phase", "typical": the middle one of them (of two, the slower), "worst": the slowest}], "worse": whether some of these
    are not the typical one}]"""
    found = []
    operators = cells[cells["flexibility"].isin(FLEXIBLE)]
    for (device, machine), own in operators.groupby(["device", "machine"], sort=False):
        phases = []
        for phase, rows in own.groupby("phase", sort=False):
            ordered = rows.sort_values("over")
            typical, worst = map(_end, (ordered.iloc[len(ordered) // 2], ordered.iloc[-1]))
            phases.append({"phase": phase, "typical": typical, "worst": worst})
        found.append(
            {
                "device": device,
                "machine": machine,
                "framework": _only({look(name).name for name in own["implementation"]}),
                "phases": phases,
                "worse": any(each["typical"] != each["worst"] for each in phases),
            }
        )
    return found


def _only(found: Collection[str]) -> str | None:
    """The one that there is, where it is one."""
    return next(iter(found)) if len(found) == 1 else None


def _end(row: Mapping) -> dict:
    keys = ("name", "machine", "device", "phase", "over", "low", "high", "mark")
    return {key: row[key] for key in keys}


def _own(cells: pd.DataFrame, unmeasured: pd.DataFrame) -> list[dict]:
    """What writing one's own cell costs within a framework: [{"framework", "machine", "device", "levels": [{"level", "phases":
    [{"phase", "written", "kernel", "over", "low", "high", "mark"}], "lacking": rows of that kind without a number here}]}], of its
    fastest row that is written (operators, also compiled) over its fastest kernel of each kind, the largest first."""
    found, without = [], dict(iter(_by_framework(unmeasured)))
    for (framework, machine, device), rows in _by_framework(cells):
        lacking = without.get((framework, machine, device), unmeasured.head(0))
        levels = [
            {"level": level, "phases": list(_over_kernel(rows, level))}
            | {"lacking": sorted(set(lacking.loc[lacking["flexibility"] == level, "name"]))}
            for level in reversed(KERNELS)
        ]
        if any(each["phases"] for each in levels):
            own = {"framework": framework, "machine": machine, "device": device}
            found.append(own | {"levels": levels})
    return found


def _by_framework(cells: pd.DataFrame) -> Iterable[tuple[tuple, pd.DataFrame]]:
    named = cells.assign(framework=[look(name).name for name in cells["implementation"]])
    return named.groupby(["framework", "machine", "device"], sort=False)


def _over_kernel(rows: pd.DataFrame, level: str) -> Iterator[dict]:
    """By phase, a framework's fastest written row over its fastest kernel of a level, where it has both."""
    for phase, own in rows.groupby("phase", sort=False):
        written = own[own["flexibility"].isin(WRITTEN)]
        kernels = own[own["flexibility"] == level]
        if written.empty or kernels.empty:
            continue
        one, other = (each.loc[each["wall_median_s"].idxmin()] for each in (written, kernels))
        ratio = estimates.over(one, other, "over")
        yield (
            {"phase": phase, "written": one["name"], "kernel": other["name"]}
            | {"over": ratio["over"], "low": ratio["over_low"], "high": ratio["over_high"]}
            | {"mark": marks.mark(one, other)}
        )


def _unmeasured(tables: Tables, benchmark: str) -> pd.DataFrame:
    """Today's rows of a benchmark without a number, but for those of a library that only a GPU has."""
    cells = tables.cells
    cells = cells[(cells["benchmark"] == benchmark) & (cells["generation"] == NOW)]
    elsewhere = (cells["family"] == "cuDNN") & (cells["device"] == "cpu")
    return cells[(cells["status"] != OK) & ~elsewhere]


def _split(flexible: Sequence[Mapping], split: Mapping | None) -> list[dict]:
    """Of the slowest rows of operators, one a device and phase, the two factors, where the first is decided."""
    keys = ("name", "machine", "device", "phase")
    worst = sorted(
        (p["worst"] for each in flexible for p in each["phases"]), key=itemgetter("over")
    )
    # The slowest comes last, and stays.
    most = {(row["device"], row["phase"]): tuple(row[key] for key in keys) for row in worst}
    factor = [
        f"{name}{end}"
        for name in ("flexibility", "library")
        for end in ("", "_low", "_high", "_mark")
    ]
    return [
        {key: row[key] for key in (*keys, *factor, "least")}
        for row in (split or {"rows": []})["rows"]
        if row["now"] and row["library"] and tuple(row[key] for key in keys) in most
        if row["flexibility_low"] > 1
    ]


def _disagree(cells: pd.DataFrame, names: Mapping) -> list[str]:
    """Where machines disagree: about the best row, and about rows whose cost differs beyond both intervals and by half,
    the most different first."""
    best, rows = [], []
    for (device, phase), own in cells.groupby(["device", "phase"], sort=False):
        where = f"{phase}, {device.upper()}"
        winners = own[own["best"]]
        if winners["implementation"].nunique() > 1:
            each = [
                f"{row['name']} on {names[row['machine']]}{_whether(row, winners, own)}"
                for _, row in winners.iterrows()
            ]
            best.append(f"{where}: the best row is {', '.join(each)}")
        for name, those in own.groupby("name", sort=False):
            ordered = those.sort_values("over")
            low, high = ordered.iloc[0], ordered.iloc[-1]
            apart = high["over"] / low["over"]
            if high["low"] > low["high"] and apart > APART:
                low_words, high_words = (
                    f"{each['over']:.2f}x on {names[each['machine']]}" for each in (low, high)
                )
                rows.append((apart, f"{where}: {name} takes {low_words} and {high_words}"))
    shown = [text for _, text in sorted(rows, reverse=True)]
    more = [f"and {len(shown) - SHOWN} more rows, in the table"] if len(shown) > SHOWN else []
    return [*best, *shown[:SHOWN], *more]


def _whether(best: Mapping, winners: pd.DataFrame, cells: pd.DataFrame) -> str:
    """In brackets that a machine's best row is not established to be faster than those that are the best elsewhere."""
    there = cells[(cells["machine"] == best["machine"]) & ~cells["best"]]
    rivals = there[there["implementation"].isin(winners["implementation"])]
    return "" if (rivals["low"] > 1).all() else f" ({marks.UNDECIDED})"


def draw(
    data: Mapping, tables: Tables, about: Mapping, wide: bool, benchmark: str
) -> tuple[plt.Figure, str]:
    """Time over the best row's, rows by level, the most flexible above; a panel a phase and device; machines side by
    side, each with its own fill."""
    cells = compared(tables, benchmark)
    names = [row["name"] for row in data["rows"][1:]]
    level_of = {row["name"]: row["level"] for row in data["rows"][1:]}
    machines = list(dict.fromkeys(cells["machine"]))
    panels = list(cells.groupby(["device", "phase"], sort=False))
    places = {name: len(names) - place for place, name in enumerate(names)}
    high = 1.0 + (0.27 if wide else 0.36) * len(names)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1 if wide else len(panels),
            len(panels) if wide else 1,
            figsize=(width(wide, 9.5), 0.6 + high * (1 if wide else len(panels))),
            sharey=True,
            squeeze=False,
        )
        for axis, ((device, phase), own) in zip(axes.flat, panels, strict=True):
            for row in own.itertuples():
                shift = 0.16 * (machines.index(row.machine) - (len(machines) - 1) / 2)
                y, each = places[row.name] - shift, look(row.implementation)
                if row.low == row.low:
                    span(axis, row.low, row.high, y, each.color)
                drawn = fill(machines.index(row.machine), each.color)
                (point,) = axis.plot(row.over, y, each.marker, color=each.color, ms=7, **drawn)
                where = f" on {about['machine_names'][row.machine]}" if len(machines) > 1 else ""
                text = f"{row.name}, {phase}{where}: {time(row.wall_median_s)} a batch, {row.over:.2f} times the best"
                hover(point, f"{text} {interval(row.low, row.high)}".strip())
            axis.set_title(f"{phase}, {device.upper()}")
            axis.axvline(1, color="black", lw=0.8)
            logarithmic(axis)
            axis.tick_params(axis="y", length=0)
            axis.spines["left"].set_visible(False)
        axes[0, 0].set_yticks(
            [places[name] for name in names], [wrapped(name, wide) for name in names]
        )
        axes[0, 0].set_ylim(0.3, len(names) + (0.7 if wide else 0.9))
        for level in dict.fromkeys(level_of[name] for name in names):
            own = [places[name] for name in names if level_of[name] == level]
            for axis in [axes.flat[-1]] if wide else axes.flat:
                middle, above = sum(own) / len(own), max(own) + 0.48
                axis.annotate(
                    level,
                    (1.02, middle) if wide else (1.0, above),
                    xycoords=("axes fraction", "data"),
                    va="center" if wide else "top",
                    ha="left" if wide else "right",
                    **{**NOTE, "fontsize": 8},
                )
            for axis in axes.flat:
                axis.axhline(min(own) - 0.5, color="#bbbbbb", lw=0.6)
        crowded = wide and len(panels) > SIDE_BY_SIDE
        for axis in [axes.flat[(len(panels) - 1) // 2]] if crowded else axes.flat:
            axis.set_xlabel(AXIS)
        title = "What flexibility costs: more can be changed above, less below"
        figure.suptitle(title if wide else title.replace(": ", ":\n"))
        looks = [
            Line2D([], [], ls="", marker="o", color=GREY, label=name, **fill(number, GREY))
            for number, name in enumerate(about["machine_names"][name] for name in machines)
        ]
        framework_legend(figure, cells, *(looks if len(machines) > 1 else []), wide=wide)
    fills = words.listed([*FILLS][number % len(FILLS)] for number in range(len(machines)))
    several = f"; {fills} markers: {words.listed(about['machine_names'][m] for m in machines)}"
    text = f"Time of a batch of {benchmark} over the best row's, by what can be changed" + (
        several if len(machines) > 1 else ""
    )
    slow = cells.loc[cells["over"].idxmax()]
    return (
        figure,
        f"{text}. The slowest of {len(names)} rows is {slow['name']}, {slow['phase']}: {slow['over']:.2f} times the best.",
    )
