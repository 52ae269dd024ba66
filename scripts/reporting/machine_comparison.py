"""The page that compares machines: one figure and one table. Everything else is about one machine at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt

from reporting import flexibility, page, pages, style
from reporting.flexibility import Cost, Over
from reporting.front import PHASES, Measured, cost_words, two
from reporting.layout import time

NAME, FOLDER = "machines", "figures/talks"


@dataclass(frozen=True)
class Machine:
    """One row of the table. `within`: how far nine of ten intervals reach, relative (NaN: none)."""

    name: str
    link: str
    days: str
    measured: int
    within: float
    costs: Mapping[str, Cost | None]  # by phase


def machine(measured: Measured, name: str, link: str) -> Machine:
    costs = {phase: flexibility.cost(measured.rows(measured.main, phase)) for phase in PHASES}
    return Machine(name, link, measured.days, len(measured.ok), measured.within, costs)


def _within(found: Machine, phase: str) -> str:
    cost = found.costs[phase]
    said = cost.within.items() if cost else ()
    return ", ".join(f"{name} {two(over.ratio)}x" for name, over in said) or "–"


def rows(machines: Sequence[Machine]) -> list[list[str]]:
    """The table's cells, in Markdown."""
    found = []
    for each in machines:
        costs = [f"{cost_words(c)}x" if (c := each.costs[phase]) else "–" for phase in PHASES]
        first = each.costs["training"] or each.costs["forward"]
        best = f"{first.fastest['name']}, {time(first.fastest['wall_median_s'])}" if first else "–"
        within = "–" if math.isnan(each.within) else f"±{two(100 * each.within)} %"
        row = [f"[{each.name}]({each.link})", each.days, f"{each.measured:,}", within]
        found.append([*row, *costs, best, _within(each, "training")])
    return found


def draw(machines: Sequence[Machine]) -> plt.Figure:
    """The fastest and the slowest LSTM of basic operators over the fastest of all, a line a machine."""
    shown = [phase for phase in PHASES if any(each.costs[phase] for each in machines)]
    shown = shown or [*PHASES][:1]
    with plt.rc_context(style.STYLE):
        size = (9.5, 0.9 + 0.3 * len(machines))
        figure, axes = plt.subplots(1, len(shown), figsize=size, squeeze=False, sharey=True)
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
    for number, over in enumerate(ends):
        if not math.isnan(over.low):
            style.span(axis, over.low, over.high, place, style.LOOKS["pytorch"].color)
        mark = {"color": style.LOOKS["pytorch"].color, "marker": "o", "ls": ""}
        filled, which = (("full", "fastest"), ("none", "slowest"))[number]
        (point,) = axis.plot([over.ratio], [place], fillstyle=filled, **mark)
        style.hover(point, f"{name}, {which} of operators: {over.name}, {over.ratio:.2f} times")


def write(folder: Path, machines: Sequence[Machine], site: page.Site, switch: page.Site) -> None:
    """machines.md, its HTML and its figure."""
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER / f"{NAME}.svg").write_text(style.svg(draw(machines)))
    context = {"title": pages.settings()["titles"][NAME], "rows": rows(machines)}
    context["figure"] = f"{FOLDER}/{NAME}.svg"
    text = page.environment(page.REPORT).get_template("machines.md.j2").render(context)
    page.write(folder / f"{NAME}.md", text, site, switch)
