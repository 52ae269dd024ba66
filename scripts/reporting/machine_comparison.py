"""The page that compares machines: one figure and one table. Everything else is about one machine at a time."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt

from reporting import page, pages, style, words
from reporting.flexibility import Cost, Over
from reporting.front import over_words
from reporting.layout import time_of
from reporting.measured import PHASES, Measured, two

NAME, FOLDER = "machines", "figures/talks"


class Machine(NamedTuple):
    """One row of the table."""

    name: str
    link: str
    measured: Measured


def _within(cost: Cost | None) -> str:
    said = cost.within.items() if cost else ()
    return ", ".join(f"{name} {' to '.join(map(over_words, ends))}" for name, ends in said) or "–"


def _ends(cost: Cost) -> str:
    """The fastest and the slowest of operators over the fastest of all."""
    return words.between(over_words(cost.least), over_words(cost.most))


def rows(machines: Sequence[Machine]) -> list[list[str]]:
    """The table's cells, in Markdown."""
    found = []
    for name, link, measured in machines:
        costs = [_ends(c) if (c := measured.costs[phase]) else "–" for phase in PHASES]
        first = measured.costs["training"] or measured.costs["forward"]
        best = f"{first.fastest['name']}, {time_of(first.fastest)}" if first else "–"
        within = "–" if math.isnan(measured.within) else f"±{two(100 * measured.within)} %"
        row = [f"[{name}]({link})", f"{len(measured.ok):,}{measured.in_turns}", within]
        found.append([*row, *costs, best, _within(measured.costs["training"])])
    return found


def draw(machines: Sequence[Machine]) -> plt.Figure:
    """The fastest and the slowest LSTM of basic operators over the fastest of all, a line a machine."""
    shown = [phase for phase in PHASES if any(each.measured.costs[phase] for each in machines)]
    shown = shown or ["training"]
    with plt.rc_context(style.STYLE):
        size = (6.5, len(shown) * (0.9 + 0.3 * len(machines)))
        figure, axes = plt.subplots(len(shown), 1, figsize=size, squeeze=False, sharex=True)
        for axis, phase in zip(axes.flat, shown, strict=True):
            for place, each in enumerate(reversed(machines)):
                if cost := each.measured.costs[phase]:
                    _points(axis, place, each.name, (cost.least, cost.most))
            axis.set_yticks(range(len(machines)), [each.name for each in reversed(machines)])
            axis.set_ylim(-0.6, len(machines) - 0.4)
            axis.set_title(PHASES[phase].capitalize())
            style.logarithmic(axis)
            axis.set_xlabel("time relative to the fastest (log)")
    return figure


def _points(axis: plt.Axes, place: int, name: str, ends: tuple[Over, Over]) -> None:
    color = style.LOOKS["pytorch"].color
    for over, marker, which in zip(ends, ("o", "D"), ("fastest", "slowest"), strict=True):
        if not math.isnan(over.low):
            style.span(axis, over.low, over.high, place, color)
        (point,) = axis.plot([over.ratio], [place], color=color, marker=marker, ls="")
        style.hover(point, f"{name}, {which} of operators: {over.name}, {over.ratio:.2f} times")


def write(folder: Path, machines: Sequence[Machine], site: page.Site) -> None:
    """machines.md, its HTML and its figure."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER / f"{NAME}.svg").write_text(style.svg(draw(machines)))
    context = {"title": pages.settings()["titles"][NAME], "rows": rows(machines)}
    workloads = (each.measured.shape(each.measured.main) for each in machines)
    context["workload"] = next(filter(None, workloads), "")
    context["figure"] = f"{FOLDER}/{NAME}.svg"
    text = page.environment().get_template("machines.md.j2").render(context)
    page.write(folder / f"{NAME}.md", text, site, ())
