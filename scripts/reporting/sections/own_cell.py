"""A cell of somebody's own: what it costs over the best LSTM, and every style of it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from plan import listing, own
from plan.matrix import NOT_RUN, NOW, UNUSED
from reporting import words
from reporting.blocks import Block, Points, Table, Text
from reporting.layout import DASH, time, times
from reporting.sections import OK, Tables, error, those
from reporting.sections.other_cells import PLACE, over
from stats.estimates import Ratio


def name(about: Mapping) -> str:
    """`own.my_cell`"""
    shapes = about["document"]["benchmarks"].values()
    return next(shape["cell"] for shape in shapes if own.name_of(shape.get("cell", "")))


def of(about: Mapping, cell: str, request: bool) -> list[str]:
    """The document's benchmarks of a cell, of single sequences or of whole batches."""
    return [
        called
        for called, shape in about["document"]["benchmarks"].items()
        if shape.get("cell", "lstm") == cell and called.startswith(own.SINGLE) == request
    ]


def pairs(tables: Tables, about: Mapping, request: bool) -> pd.DataFrame:
    """Rows of today, with a number or not, of the cell, and `lstm`: of those with a number, the LSTM's rows of the same
    machine, device and phase."""
    cells = tables.cells[tables.cells["generation"] == NOW]
    cells = cells[cells["flexibility"].notna()]
    mine = cells[cells["benchmark"].isin(of(about, name(about), request))]
    others = cells[cells["benchmark"].isin(of(about, "lstm", request)) & (cells["status"] == OK)]
    known = {place: rows for place, rows in others.groupby(PLACE, sort=False)}
    none = others.head(0)
    places = mine[PLACE].itertuples(index=False, name=None)
    return mine.assign(lstm=[known.get(place, none) for place in places])


def compared(row: Mapping) -> tuple[Ratio | None, Ratio | None, str]:
    """A row with a number over the LSTM of its own implementation, over the fastest LSTM, and which that is."""
    lstm = row["lstm"]
    same = those(lstm, **{key: row[key] for key in ("implementation", "environment")})
    base = "" if lstm.empty else lstm.loc[lstm["wall_median_s"].idxmin(), "label"]
    return over(row, same), over(row, lstm), base


@dataclass(frozen=True)
class Winner:
    """The fastest implementation of the cell on a device in a phase, over the fastest LSTM."""

    device: str
    phase: str
    request: bool  # a single sequence
    label: str
    implementation: str
    base: str
    ratio: Ratio


@dataclass(frozen=True)
class Measured:
    """An implementation of the cell in a phase: over its own LSTM, and over the fastest."""

    seconds: float
    own: Ratio | None
    best: Ratio | None


@dataclass(frozen=True)
class Style:
    label: str
    device: str
    changed: str  # its level of flexibility
    phases: dict[str, Measured]
    error: float | None  # the largest against float64, of outputs or gradients


@dataclass(frozen=True)
class Stopped:
    status: str
    reason: str
    labels: list[str]


@dataclass(frozen=True)
class Answer:
    cell: str
    shape: dict[str, int]
    machine: str
    winners: list[Winner]
    styles: list[Style]
    requests: list[Style]  # of single sequences
    stopped: list[Stopped]
    left_out: int
    to_come: bool  # whether some of these are for a later run
    about: list[str]


def winners(rows: pd.DataFrame, request: bool) -> list[Winner]:
    found = []
    for (device, phase), here in rows[rows["status"] == OK].groupby(PLACE, sort=False):
        best = here.loc[here["wall_median_s"].idxmin()]
        _, ratio, base = compared(best)
        if ratio:
            names = best["label"], best["implementation"], base
            found.append(Winner(str(device), str(phase), request, *names, ratio))
    return found


def styles(rows: pd.DataFrame) -> list[Style]:
    """The fastest first."""
    found: dict[tuple, dict[str, dict]] = {}
    for row in rows[rows["status"] == OK].to_dict("records"):
        found.setdefault((row["device"], row["label"]), {})[row["phase"]] = row
    shown = []
    for (device, label), phases in found.items():
        errors = [each for each in map(error, phases.values()) if each is not None]
        level = next(iter(phases.values()))["flexibility"]
        measured = {
            phase: Measured(row["wall_median_s"], *compared(row)[:2])
            for phase, row in phases.items()
        }
        shown.append(Style(label, device, level, measured, max(errors, default=None)))

    def seconds(style: Style, phase: str) -> float:
        return style.phases[phase].seconds if phase in style.phases else math.inf

    return sorted(shown, key=lambda s: (s.device, seconds(s, "training"), seconds(s, "forward")))


def stopped(rows: pd.DataFrame) -> list[Stopped]:
    """What has no number on devices that took part, by reason: what failed or was refused first. What this run left out is not among them."""
    absent = rows[~rows["status"].isin([OK, NOT_RUN])]
    absent = absent[~absent["reason"].isin(UNUSED.values())]
    measured = set(rows[rows["status"] == OK]["device"])
    if measured:
        absent = absent[absent["device"].isin(measured)]
    found = []
    for (status, reason), alike in absent.groupby(["status", "reason"], sort=False):
        labels = [f"{row.label} ({row.phase})" for row in alike.itertuples()]
        found.append(Stopped(str(status), str(reason), labels))
    return sorted(found, key=lambda each: each.status == "unsupported")


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    batches, single = (pairs(tables, about, request) for request in (False, True))
    if batches.empty:
        return None
    order = {"training": 0, "forward": 1}
    won = [*winners(batches, False), *winners(single, True)]
    won.sort(key=lambda each: (each.device, each.request, order[each.phase]))
    shape = about["document"]["benchmarks"][of(about, name(about), False)[0]]
    keys = ("batch", "length", "features", "hidden", "layers")
    return Answer(
        words.cell(name(about)),
        {key: shape[key] for key in keys},
        ", ".join(about["machine_names"].values()),
        won,
        styles(batches),
        styles(single),
        stopped(batches),
        int((batches["status"] == NOT_RUN).sum()),
        bool((batches["reason"] == listing.LATER).any()),
        [about["document"]["about"]] if "about" in about["document"] else [],
    )


def _where(winner: Winner) -> str:
    phase = "inference" if winner.phase == "forward" else winner.phase
    text = "for a single sequence" if winner.request else f"in {phase}"
    return text + (" on the GPU" if winner.device == "gpu" else "")


def _headline(answer: Answer) -> str:
    if answer.winners:
        said = ", ".join(
            f"{times(w.ratio)} times as long {_where(w)} ({w.label}; the LSTM: {w.base})"
            for w in answer.winners
        )
        return (
            f"**`{answer.cell}` takes {said}: its fastest implementation over the fastest LSTM.**"
        )
    if answer.styles:
        return f"**`{answer.cell}` was measured, but no LSTM to compare it with.**"
    first = next(iter(answer.stopped), None)  # what is unsupported comes last
    if first and (first.status != "unsupported" or not answer.to_come):
        said = f"The first reason (*{first.status}*): {first.reason.rstrip('.')}"
        return f"**No implementation of `{answer.cell}` was timed. {said}.**"
    return f"**`{answer.cell}` has not been measured yet.**"


def _table(found: list[Style], phases: Sequence[str]) -> Table:
    several = len({each.device for each in found}) > 1
    heads = ["Implementation", "Level"]
    for phase in phases:
        heads += [words.PHASES[phase], "over its own LSTM", "over the fastest LSTM"]
    rows = []
    for each in found:
        row = [each.label + (f", {each.device.upper()}" if several else ""), each.changed]
        for phase in phases:
            one = each.phases.get(phase)
            row += [time(one.seconds), times(one.own), times(one.best)] if one else [DASH] * 3
        rows.append([*row, DASH if each.error is None else f"{each.error:.1e}"])
    return Table([*heads, "Error"], rows)


def write(answer: Answer) -> Iterator[Block]:
    yield Text(_headline(answer))
    for line in answer.about:
        yield Text(line)
    shape = answer.shape
    yield Text(
        f"{shape['batch']} sequences of {shape['length']} steps, {shape['features']} features, {shape['hidden']} hidden units, "
        f"{shape['layers']} layer{'s' * (shape['layers'] > 1)}, on {answer.machine}. *Error*: the largest of outputs and gradients against the float64 "
        "reference, over its largest value."
    )
    if answer.styles:
        yield _table(answer.styles, ("training", "forward"))
    if answer.requests:
        yield Text("A single sequence:")
        yield _table(answer.requests, ("forward",))
    if answer.stopped:
        yield Text("Not timed:")
        points = (
            f"*{each.status}*: {', '.join(each.labels)}: {each.reason.rstrip('.')}."
            for each in answer.stopped
        )
        yield Points([*points])
    if answer.left_out:
        yield Text(f"{answer.left_out} measurements are still to come, or were left out.")
