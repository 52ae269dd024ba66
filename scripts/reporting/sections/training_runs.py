"""Whether implementations that train from the same weights come to the same perplexity."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import ticker

from reporting import training
from reporting.blocks import Block, Table, Text
from reporting.layout import deviation, seconds
from reporting.sections import Tables, rows
from reporting.style import OTHER, STYLE, hover, look, numbered, width

TITLE = "Do the implementations train the same model?"
DASHES = ("-", "--", ":", "-.")  # of a framework's rows, in turn


@dataclass(frozen=True)
class Run:
    """One implementation's training, from the same weights as the others'."""

    name: str
    environment: str
    batches: int
    train_perplexity: float
    valid_perplexity: float
    seconds: float


@dataclass(frozen=True)
class Answer:
    benchmark: str
    runs: list[Run]
    agreement: dict  # training.agreement
    reached: dict | None  # training.reached
    left_out: dict[str, list[str]]  # {why: implementations}


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    asked = about["document"]["training"]
    those = rows(tables.trainings)
    if not any(row["curve"] for row in those):
        return None
    known = None if any(row["stand_in"] for row in those) else asked.get("known")
    runs, left_out = [], {}
    for row in those:
        if row["status"] != "ok":
            called = f"{row['name']} in {row['environment']}"
            left_out.setdefault(f"{row['status']}: {row['reason']}", []).append(called)
        elif row["curve"]:
            end = row["curve"][-1]
            kept = ("batch", "train_perplexity", "valid_perplexity", "train_s")
            runs.append(Run(row["label"], row["environment"], *(end[key] for key in kept)))
    agreement = training.agreement(those, asked["points"])
    return Answer(asked["benchmark"], runs, agreement, training.reached(those, known), left_out)


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        f"`{answer.benchmark}` trained from the same weights on the same batches, dropout off. The validation perplexity is "
        "computed by the float64 reference from the weights that each implementation reached."
    )
    worst, reached = answer.agreement["worst"], answer.reached
    said = f"The implementations train the same model: **{answer.agreement['verdict']}**"
    if worst:
        said += (
            f"; closest to its bound, the perplexities after {worst['batch']:,} batches differ by {deviation(worst['spread'])} "
            f"(up to {deviation(worst['within'])} allowed)"
        )
    if reached:
        known = reached["known"]
        said += f". One epoch reaches the known perplexity: **{reached['verdict']}**"
        if reached["rows"]:
            said += f", {reached['valid_perplexity']:.1f} in validation"
        said += f" (known: {known['valid_perplexity']}, {known['source']})"
    yield Text(f"{said}.")
    heads = ["Implementation", "Versions", "Batches", "Training perplexity"]
    yield Table(
        [*heads, "Validation perplexity", "Training (s)"],
        [
            [
                each.name,
                each.environment,
                f"{each.batches:,}",
                f"{each.train_perplexity:.1f}",
                f"{each.valid_perplexity:.1f}",
                seconds(each.seconds),
            ]
            for each in answer.runs
        ],
    )


def draw(
    answer: Answer, tables: Tables, about: Mapping, wide: bool
) -> tuple[plt.Figure, str] | None:
    """Validation perplexity by batches trained, a line an implementation, and below each one's difference from the median."""
    trained = tables.trainings[tables.trainings["status"] == "ok"]
    if trained.empty:
        return None
    with plt.rc_context(STYLE):
        below = 0.19 * len(trained) * (0.4 if wide else 1)
        figure, (upper, lower) = plt.subplots(
            2, 1, figsize=(width(wide, 9.5), 4.8 + below), sharex=True, height_ratios=(3, 2)
        )
        _curves(upper, lower, trained)
        numbered(lower, "batches trained")
        upper.set_ylabel("validation perplexity")
        lower.set_ylabel("from the median (%)")
        handles, labels = upper.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3 if wide else 1)
    return figure, f"Validation perplexity while training: {_reached(trained)}."


def _reached(rows: pd.DataFrame) -> str:
    """Where the runs ended."""
    last = pd.DataFrame(list(rows["curve"].str[-1]))
    ends, batches = last["valid_perplexity"], sorted(last["batch"].unique())
    found = " to ".join(f"{end:.1f}" for end in sorted({ends.min(), ends.max()}))
    count = f"{len(rows)} runs" if len(rows) > 1 else "one run"
    return f"{found} after {' or '.join(f'{each:,}' for each in batches)} batches ({count})"


def _curves(upper: plt.Axes, lower: plt.Axes, rows: pd.DataFrame) -> None:
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
