"""The page that compares machines: one figure and one table. Everything else is about one machine at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt

from reporting import page, pages, style, words
from reporting.flexibility import Cost, Over
from reporting.front import over_words
from reporting.layout import time_of
from reporting.measured import PHASES, Measured, two

NAME, FOLDER = "machines", "figures/talks"


@dataclass(frozen=True)
class Machine:
    """One row of the table. `within`: how far nine of ten intervals reach, relative (NaN: none)."""

    name: str
    link: str
    measured: str
    within: float
    costs: Mapping[str, Cost | None]  # by phase
    workload: str = ""


def machine(measured: Measured, name: str, link: str) -> Machine:
    count, workload = f"{len(measured.ok):,}{measured.current}", measured.shape(measured.main)
    return Machine(name, link, count, measured.within, measured.costs, workload)


def _within(found: Machine, phase: str) -> str:
    cost = found.costs[phase]
    said = cost.within.items() if cost else ()
    return ", ".join(f"{name} {' to '.join(map(over_words, ends))}" for name, ends in said) or "–"


def _ends(cost: Cost) -> str:
    """The fastest and the slowest of operators over the fastest of all."""
    return words.between(over_words(cost.least), over_words(cost.most))


def rows(machines: Sequence[Machine]) -> list[list[str]]:
    """The table's cells, in Markdown."""
    found = []
    for each in machines:
        costs = [_ends(c) if (c := each.costs[phase]) else "–" for phase in PHASES]
        first = each.costs["training"] or each.costs["forward"]
        best = f"{first.fastest['name']}, {time_of(first.fastest)}" if first else "–"
        within = "–" if math.isnan(each.within) else f"±{two(100 * each.within)} %"
        row = [f"[{each.name}]({each.link})", each.measured, within]
        found.append([*row, *costs, best, _within(each, "training")])
    return found


def draw(machines: Sequence[Machine]) -> plt.Figure:
    """The fastest and the slowest LSTM of basic operators over the fastest of all, a line a machine."""
    shown = [phase for phase in PHASES if any(each.costs[phase] for each in machines)]
    shown = shown or ["training"]
    with plt.rc_context(style.STYLE):
        size = (6.5, len(shown) * (0.9 + 0.3 * len(machines)))
        figure, axes = plt.subplots(len(shown), 1, figsize=size, squeeze=False, sharex=True)
        for axis, phase in zip(axes.flat, shown, strict=True):
            for place, each in enumerate(reversed(machines)):
                if cost := each.costs[phase]:
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


def write(folder: Path, machines: Sequence[Machine], site: page.Site, switch: page.Site) -> None:
    """machines.md, its HTML and its figure."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER / f"{NAME}.svg").write_text(style.svg(draw(machines)))
    context = {"title": pages.settings()["titles"][NAME], "rows": rows(machines)}
    context["workload"] = next(filter(None, (each.workload for each in machines)), "")
    context["figure"] = f"{FOLDER}/{NAME}.svg"
    text = page.environment().get_template("machines.md.j2").render(context)
    page.write(folder / f"{NAME}.md", text, site, switch)
