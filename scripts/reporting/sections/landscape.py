"""Rates over a map of shapes, one factor at a time around a centre: who is fastest where, and what operators take there."""

from collections.abc import Iterator, Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from plan.matrix import NOW
from reporting.flexibility import OPERATORS as FLEXIBLE
from reporting.sections import Tables
from reporting.sections import rows as rows_of
from reporting.style import STYLE, hover, logarithmic, marked, width
from stats import estimates

FACTORS = {"batch": "sequences of a batch", "hidden": "hidden units", "length": "steps"}
LINES = ("-", "--", ":", "-.")  # of a framework's first row, second ...


def lines(about: Mapping, centre: str) -> dict[str, dict[str, int]]:
    """{factor: {benchmark: its value}} of those that differ from the centre in this factor alone, and of the centre."""
    shapes = about["document"]["benchmarks"]

    def others(name: str, factor: str) -> dict:
        # The input is as wide as the state.
        left_out = {factor, "features"} if factor == "hidden" else {factor}
        return {key: value for key, value in shapes[name].items() if key not in left_out}

    return {
        factor: {
            name: shapes[name][factor]
            for name in sorted(shapes, key=lambda name: shapes[name][factor])
            if others(name, factor) == others(centre, factor)
        }
        for factor in FACTORS
    }


def lstms(tables: Tables) -> pd.DataFrame:
    """Today's rows with a rate, but ceilings; `share` of the machine's multiply-add peak."""
    cells = tables.measured(generation=NOW, phase="forward")
    cells = cells[cells["gflops"].notna() & cells["flexibility"].notna()]
    return cells.assign(share=1 / cells["ratio_to_peak"])


def _places(cells: pd.DataFrame, about: Mapping, centre: str) -> Iterator[dict]:
    """A row a machine, device and shape: the best row, the next and the best of operators."""
    for (machine, device), own in cells.groupby(["machine", "device"], sort=False):
        for factor, values in lines(about, centre).items():
            for benchmark, value in values.items():
                rows = own[own["benchmark"] == benchmark].sort_values("wall_median_s")
                if len(rows) < 2:
                    continue
                best = rows.iloc[0]
                flexible = rows[rows["flexibility"].isin(FLEXIBLE)]
                found = {"machine": machine, "device": device, "factor": factor, "value": value}
                found |= {"benchmark": benchmark, "centre": benchmark == centre}
                found |= {key: best[key] for key in ("name", "gflops", "share")}
                found["next"] = rows["name"].iloc[1]
                found |= estimates.over(rows.iloc[1], best, "margin")
                if len(flexible):
                    found |= estimates.over(flexible.iloc[0], best, "operators")
                yield found


def _ratio(row: Mapping, name: str) -> dict:
    """A ratio of a place, and where that is."""
    ends = {end: row[f"{name}_{end}"] for end in ("low", "high", "mark")}
    return {"value": row[name], "at": row["benchmark"]} | ends


def _short(machine: str, device: str, rows: list[dict], cells: pd.DataFrame, request: str) -> dict:
    """What the places of one machine and device come to, from all its cells."""
    places = {row["benchmark"]: row for row in rows}
    shapes = places.values()
    wins = pd.Series([row["name"] for row in shapes]).value_counts()
    found = {"machine": machine, "device": device, "shapes": len(shapes)}
    found |= {"winner": wins.index[0], "wins": int(wins.iloc[0]), "winners": len(wins)}
    # By its interval over the next one's time.
    won = [row for row in shapes if row["name"] == found["winner"]]
    found["decided"] = sum(row["margin_low"] > 1 for row in won)
    lost = []
    for benchmark, place in places.items():
        by_name = cells[cells["benchmark"] == benchmark].set_index("name")
        if place["name"] != found["winner"] and found["winner"] in by_name.index:
            own, best = by_name.loc[found["winner"]], by_name.loc[place["name"]]
            lost.append(_ratio(place | estimates.over(own, best, "winner"), "winner"))
    found["elsewhere"] = max(lost, key=lambda each: each["value"], default=None)
    asked = cells[cells["benchmark"] == request].sort_values("wall_median_s")
    columns = ("name", "wall_median_s", "wall_p99_s", "share")
    found["request"] = rows_of(asked.head(1), *columns)[0] if len(asked) else None
    shares = [{"value": row["share"], "at": row["benchmark"]} for row in shapes]
    operators = [_ratio(row, "operators") for row in shapes if "operators" in row]
    for name, every in (("share", shares), ("operators", operators)):
        known = sorted(
            (each for each in every if each["value"] == each["value"]),
            key=lambda each: (each["value"], each["at"]),
        )
        found[name] = [known[0], known[-1]] if known else None
    return found


def _grids(cells: pd.DataFrame) -> list[dict]:
    """By device: [{"device", "names": of rows, "rows": [{"machine", "benchmark", name: seconds}]}]"""
    found = []
    for device, own in cells.groupby("device", sort=False):
        rows = [
            {"machine": machine, "benchmark": benchmark}
            | dict(zip(each["name"], each["wall_median_s"], strict=True))
            for (machine, benchmark), each in own.groupby(["machine", "benchmark"], sort=False)
        ]
        found.append({"device": device, "names": list(dict.fromkeys(own["name"])), "rows": rows})
    return found


def analyse(tables: Tables, about: Mapping, centre: str, request: str) -> dict | None:
    """{"rows": what _places gives, "short": what _short says, a machine and device each, "grids": what _grids gives};
    request: the benchmark of a single request."""
    cells = lstms(tables)
    found = list(_places(cells, about, centre))
    if not found:
        return None
    short = []
    for key, own in cells.groupby(["machine", "device"], sort=False):
        if places := [row for row in found if (row["machine"], row["device"]) == key]:
            short.append(_short(*key, places, own, request))
    return {"rows": found, "short": short, "grids": _grids(cells)}


def draw(
    data: Mapping, tables: Tables, about: Mapping, wide: bool, centre: str, request: str
) -> tuple[plt.Figure, str]:
    """A panel a factor, a curve a row; the line on top is the multiply-add peak. A line of panels a machine and device."""
    cells = lstms(tables)
    groups = [(key, own) for key, own in cells.groupby(["machine", "device"], sort=False)]
    with plt.rc_context(STYLE):
        drawn = _curves(cells)
        count, below = len(groups) if wide else 3 * len(groups), len(drawn) / (3 if wide else 1)
        figure, axes = plt.subplots(
            count,
            3 if wide else 1,
            figsize=(width(wide, 9.5), 0.4 + (3.1 if wide else 2.4) * count + 0.19 * below),
            sharey="row",
            squeeze=False,
        )
        for line, ((machine, device), own) in zip(
            axes.reshape(len(groups), 3), groups, strict=True
        ):
            for axis, (factor, values) in zip(line, lines(about, centre).items(), strict=True):
                _panel(axis, own, values, drawn)
                axis.set_xlabel(FACTORS[factor])
                if wide and axis is not line[0]:
                    continue
                axis.set_ylabel("GFLOP/s of the matrix products" if wide else "GFLOP/s")
            if len(groups) > 1:
                name = about["machine_names"][machine]
                line[0].set_title(f"{name}, {device.upper()}", loc="left")
        handles = {
            label: handle
            for axis in axes.flat
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3 if wide else 1)
    told = f"Rates of {cells['name'].nunique()} rows over batch, hidden units and length, below the multiply-add peak."
    for each in data["short"]:
        place = f"{about['machine_names'][each['machine']]}, {each['device'].upper()}"
        where = f" on {place}," if len(groups) > 1 else ""
        told += f" Of {each['shapes']} shapes{where} {each['winner']} comes out fastest on {each['wins']}."
    return figure, told


def _curves(cells: pd.DataFrame) -> dict[str, dict]:
    """{row: how it is drawn}"""
    names = cells.groupby("implementation", sort=False)["name"].first().to_dict()
    looks = marked(names)
    styles: dict[str, int] = {}
    found = {}
    for implementation, name in names.items():
        number = styles[looks[implementation]["color"]] = (
            styles.get(looks[implementation]["color"], -1) + 1
        )
        found[name] = looks[implementation] | {"ls": LINES[number % len(LINES)], "ms": 5, "lw": 1.4}
    return found


def _panel(axis: Axes, cells: pd.DataFrame, values: Mapping, drawn: Mapping) -> None:
    own = cells[cells["benchmark"].isin(list(values))]
    for name, rows in own.groupby("name", sort=False):
        rows = rows.assign(x=rows["benchmark"].map(values)).sort_values("x")
        (curve,) = axis.plot(rows["x"], rows["gflops"], label=name, **drawn[name])
        hover(curve, f"{name}: {rows['gflops'].min():.0f} to {rows['gflops'].max():.0f} GFLOP/s")
    peak = (own["gflops"] / own["share"]).median()
    if peak == peak:
        axis.axhline(peak, color="black", lw=1, label="multiply-add peak")
    logarithmic(axis, "y")
    logarithmic(axis)
    axis.set_xticks([], minor=True)
    axis.set_xticks(list(values.values()), [f"{value:g}" for value in values.values()], fontsize=8)
