"""Figures for talks: 16:9, large type, at most six bars, one message each. The first page's static figure is one too."""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt

from reporting import flexibility, style, tradeoff, words
from reporting.cards import generations
from reporting.flexibility import Over
from reporting.front import cost_words
from reporting.layout import seconds, time
from reporting.measured import PHASES, Measured, two

MOST = 6
WIDE = (13.33, 7.5)  # inches, as slides are
LETTERS, TITLE_LETTERS = 30, 54
# As the explorer's, by level.
SHADES = ("#b8501a", "#8f7300", "#4a8428", "#2577ad", "#00807a", "#7657b5")
COLORS = dict(zip(words.LEVELS, SHADES, strict=True))


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    low: float  # NaN: no interval
    high: float
    level: str
    said: str  # beside it


@dataclass(frozen=True)
class Figure:
    """`message`: its title; `axis`: what bars are."""

    name: str
    message: str
    axis: str
    bars: Sequence[Bar]


def _over(over: Over, level: str, name: str = "") -> Bar:
    known = over.low < over.high  # not of NaN
    said = f"{over.ratio:.2f}x" + (f" [{over.low:.2f}, {over.high:.2f}]" if known else "")
    return Bar(name or over.name, over.ratio, over.low, over.high, level, said)


def levels(measured: Measured) -> Figure | None:
    """Operators, the slowest and the fastest, and the fastest of each other level."""
    for phase in PHASES:
        if not (cost := measured.costs[phase]):
            continue
        rows = measured.rows(measured.main, phase)
        operators = rows[rows["flexibility"].isin(flexibility.OPERATORS)]
        chosen = [operators.iloc[-1].to_dict(), operators.iloc[0].to_dict()][-len(operators) :]
        others = [name for name in words.LEVELS if name not in flexibility.OPERATORS]
        chosen += filter(None, (flexibility.first(rows, [level]) for level in others))
        bars = [_over(Over.of(row, cost.fastest), row["flexibility"]) for row in chosen]
        message = f"Basic operators take {cost_words(cost)} times as long as the fastest LSTM in {PHASES[phase]}"
        return Figure("levels", message, f"time over {cost.fastest['name']}", bars)
    return None


def cell(measured: Measured) -> Figure | None:
    """A cell of one's own against a framework's fused kernel: the fastest of each level there, and what is generated."""
    rows = measured.rows(measured.main, "training")
    kernel = rows[rows["implementation"] == measured.settings["fused"]]
    if kernel.empty:
        return None
    fused = kernel.iloc[0].to_dict()
    own = rows[rows["framework"] == fused["framework"]]
    changeable = [level for level in words.LEVELS if level != flexibility.FUSED]
    others = [flexibility.first(own, [level]) for level in changeable]
    generated = flexibility.first(rows, [flexibility.GENERATED])
    chosen = sorted(filter(None, [fused, *others, generated]), key=_median, reverse=True)
    if not (written := flexibility.first(own, flexibility.WRITTEN)):
        return None
    over = Over.of(written, fused)
    bars = [_over(Over.of(row, fused), row["flexibility"]) for row in chosen]
    message = (
        f"A cell of your own takes {two(over.ratio)} times as long as {fused['name']} in training"
    )
    return Figure("custom-cell", message, f"time over {fused['name']}", bars[:MOST])


def _median(row: Mapping) -> float:
    return row["wall_median_s"]


def latency(measured: Measured) -> Figure | None:
    """Single requests: each framework's fastest."""
    (use,) = [use for use in measured.settings["deploy"] if use["to"] == "Single requests"]
    for benchmark in use["benchmarks"]:
        rows = measured.rows(benchmark, "forward").drop_duplicates("framework").head(MOST)
        if len(rows) > 1:
            bars = [_time(row) for row in rows.to_dict("records")]
            first = next((row for row in rows.to_dict("records") if row["install"]), None)
            said = f"; to install: {first['name']}, {time(_median(first))}" if first else ""
            message = f"A single request takes {bars[0].said} with {bars[0].name}"
            said = said if first and first["name"] != bars[0].name else ""
            return Figure("latency", message + said, f"ms a request ({benchmark})", bars)
    return None


def _time(row: Mapping) -> Bar:
    sure = row["interval"] == "confidence"
    ends = (1e3 * row[f"wall_{end}_s"] if sure else math.nan for end in ("low", "high"))
    return Bar(row["name"], 1e3 * _median(row), *ends, row["flexibility"], time(_median(row)))


def compiling(measured: Measured) -> Figure | None:
    """What compiling gains in training, with what it takes first."""
    bars = []
    for row, _, ratio, _ in tradeoff.gains(measured.today):
        if row["flexibility"] in flexibility.WRITTEN and row["phase"] == "training":
            said = f"{ratio.ratio:.2f}x after {seconds(tradeoff.start(row))} s"
            bars.append(Bar(row["name"], *ratio[:3], row["flexibility"], said))
    if len(bars) < 2:
        return None
    bars = sorted(bars, key=lambda bar: -bar.value)[:MOST]
    pays = sum(bar.low > 1 for bar in bars)
    message = f"Compiling pays off for {pays} of {len(bars)} implementations in training"
    return Figure("compiling", message, "times as fast as what it is compiled from", bars)


def then(measured: Measured) -> Figure | None:
    """Today's versions against the oldest, on one benchmark, in training."""
    bars = []
    for new, old in generations(measured, "training"):
        if new["flexibility"] in COLORS:
            over, year = Over.of(old, new), old["generation"]
            said = f"{over.ratio:.1f}x since {year} ({old['framework_version']})"
            bars.append(Bar(new["name"], over.ratio, over.low, over.high, new["flexibility"], said))
    if not bars:
        return None
    bars = sorted(bars, key=lambda bar: -bar.value)[:MOST]
    ends = words.between(two(bars[-1].value), two(bars[0].value))
    message = f"Today's versions train {ends} times as fast as the oldest"
    return Figure("then-and-now", message, f"times as fast ({measured.main})", bars)


def new_cell(measured: Measured) -> Figure | None:
    """A cell that no framework has a fused kernel for, in each way to write it, over the fastest LSTM."""
    use = measured.settings["new_cell"]
    rows, lstms = (measured.rows(use[name], "training") for name in ("benchmark", "lstm"))
    if rows.empty or lstms.empty or set(lstms["benchmark"]) != {use["lstm"]}:
        return None
    best = lstms.iloc[0].to_dict()
    bars = []
    for level in words.LEVELS:
        if row := flexibility.first(rows, [level]):
            bars.append(_over(Over.of(row, best), level, f"{level}: {row['name']}"))
    if len(bars) < 2:
        return None
    low = min(bars, key=lambda bar: bar.value)
    called = words.cell(measured.defined(use["benchmark"])["cell"])
    message = f"{called}: {two(low.value)} times the time of the fastest LSTM as {low.name.partition(':')[0]}"
    return Figure("new-cell", message, f"time over the fastest LSTM ({best['name']})", bars[:MOST])


def figures(measured: Measured) -> Iterator[Figure]:
    for make in (levels, cell, latency, compiling, then, new_cell):
        if found := make(measured):
            yield found


def draw(figure: Figure, machine: str) -> plt.Figure:
    with plt.rc_context(style.STYLE | {"font.size": 20}):
        drawn, axis = plt.subplots(figsize=WIDE)
        places = range(len(figure.bars), 0, -1)
        for place, bar in zip(places, figure.bars, strict=True):
            axis.barh(place, bar.value, color=COLORS[bar.level], height=0.62)
            if not math.isnan(bar.low):
                axis.plot([bar.low, bar.high], [place, place], color="black", lw=3)
            end = bar.value if math.isnan(bar.high) else bar.high
            beside = {"xytext": (10, 0), "textcoords": "offset points", "va": "center"}
            axis.annotate(bar.said, (end, place), fontsize=18, **beside)
        names = [textwrap.fill(bar.name, LETTERS) for bar in figure.bars]
        axis.set_yticks([*places], names)
        title = textwrap.fill(figure.message, TITLE_LETTERS)
        drawn.suptitle(title, x=0.02, ha="left", fontsize=26, fontweight="bold")
        axis.set_xlabel(f"{figure.axis}\nLines: 95 % intervals. {machine}", fontsize=16)
        axis.set_xlim(0, 1.45 * max(bar.value for bar in figure.bars))
        axis.grid(axis="y", visible=False)
    return drawn


def write(measured: Measured, machine: str, folder: Path) -> list[Figure]:
    """Draw all of a machine into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(figures(measured))
    for figure in found:
        (folder / f"{figure.name}.svg").write_text(style.svg(draw(figure, machine)))
    return found
