"""The first page: one line, one sentence, one figure, four cards, the documents with their verdicts. Of one machine."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from plan import matrix
from reporting import flexibility, relations, tradeoff, words
from reporting.flexibility import Over
from reporting.layout import time
from reporting.sections import OK, Tables
from stats import estimates

PHASES = {"training": "training", "forward": "inference"}
UNSURE = {"faster": "", "slower": "", "same": "", "undecided": "; undecided"}
MOST_NAMED = 3  # of several that do equally well
MOST_OF = 0.9  # of the measurements, how far their intervals reach


@dataclass(frozen=True)
class Card:
    """A question of a kind of reader, and its answers in Markdown."""

    title: str
    points: Sequence[str]


@dataclass(frozen=True)
class Document:
    name: str
    title: str
    published: str  # its number and year; empty where it was never published
    measured: int
    verdicts: str


@dataclass(frozen=True)
class Front:
    line: str
    sentence: str
    cards: Sequence[Card]
    documents: Sequence[Document]
    cite: str
    notes: Sequence[str]


def two(value: float) -> str:
    """Two digits, for prose."""
    return (
        f"{value:.2g}"
        if value < 0.095
        else f"{value:.2f}"
        if value < 0.995
        else f"{value:.1f}"
        if value < 9.95
        else f"{value:,.0f}"
    )


def around(over: Over) -> str:
    return "no interval" if math.isnan(over.low) else f"[{over.low:.2f}, {over.high:.2f}]"


class Measured:
    """What one machine has of all documents. `settings`: first_page in config/pages.yaml."""

    def __init__(self, parts: Iterable[tuple[Tables, Mapping]], machine: str, settings: Mapping):
        self.parts = [
            (tables.cells[tables.cells["machine"] == machine], about) for tables, about in parts
        ]
        self.machine, self.settings = machine, settings
        self.cells = pd.concat([cells for cells, _ in self.parts], ignore_index=True)
        self.ok = self.cells[self.cells["status"] == OK]
        own = self.ok.drop_duplicates("implementation").set_index("implementation")
        self.called = own[["name", "flexibility"]].to_dict("index")

    def rows(self, benchmark: str, phase: str) -> pd.DataFrame:
        """Today's, on the CPU or else on the GPU."""
        found = flexibility.lstms(self.cells, benchmark=benchmark, phase=phase)
        on_cpu = found[found["device"] == "cpu"]
        return found[found["device"] == "gpu"] if on_cpu.empty else on_cpu

    def benchmark(self, *named: str) -> str:
        """The first of these that was measured; else any with operators; empty without."""
        there = [name for name in named if name in set(self.ok["benchmark"])]
        written = self.ok[self.ok["flexibility"].isin(flexibility.OPERATORS)]
        return next(iter([*there, *written["benchmark"]]), "")

    @property
    def main(self) -> str:
        return self.benchmark(self.settings["benchmark"])

    def linked(self, over: Over, phase: str, benchmark: str = "") -> str:
        """A ratio as a link to the explorer, with its interval as its title: `linked` for HTML, `plain` for Markdown."""
        view = {"benchmark": benchmark or self.main, "phase": phase, "machine": self.machine}
        return f'[{two(over.ratio)}](#{urlencode(view | {"baseline": over.baseline})} "95 % interval: {around(over)}")'

    def about(self) -> Iterator[Mapping]:
        """What each document says of this machine."""
        for _, about in self.parts:
            yield from (each for each in about["machines"] if each["machine"] == self.machine)

    @property
    def days(self) -> str:
        """The first and the last day of its measurements."""
        days = sorted({day for each in self.about() for day in each["days"]})
        return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))

    @property
    def within(self) -> float:
        """How far nine of ten intervals of ratios to the fastest implementation reach, relative (NaN: there are none)."""
        found = []
        for _, own in self.ok.groupby(["benchmark", "phase", "device"]):
            times = own.sort_values("wall_median_s")["process_medians_s"]
            ratios = (estimates.ratio([each], [times.iloc[0]]) for each in times.iloc[1:])
            found += [math.sqrt(each.high / each.low) - 1 for each in ratios if each.low > 0]
        return float(np.quantile(found, MOST_OF)) if found else math.nan


def line(measured: Measured) -> str:
    """Machine, text, days, reliability."""
    about = list(measured.about())
    facts = next((each["facts"] for each in about if each["facts"]), None)
    name = words.machines([(measured.machine, facts)], in_full=True)[measured.machine]
    corpora = [each["corpus"]["stand_in"] for each in about if each["corpus"]]
    text = ["stand-in text" if any(corpora) else "Penn Treebank"] if corpora else []
    sure = f"nine of ten ratios to the fastest within ±{two(100 * measured.within)} %"
    sure = "without intervals" if math.isnan(measured.within) else sure
    return " · ".join([name, *text, measured.days, f"{len(measured.ok):,} measurements, {sure}"])


def cost_words(cost: flexibility.Cost) -> str:
    """`1.3 to 3.4`"""
    return " to ".join(dict.fromkeys((two(cost.least.ratio), two(cost.most.ratio))))


def sentence(measured: Measured) -> str:
    """What operators take over the fastest."""
    costs = {
        phase: flexibility.cost(measured.rows(measured.main, phase))
        for phase in ("forward", "training")
    }
    said = {phase: cost_words(one) for phase, one in costs.items() if one}
    if not said:
        return "No LSTM written from basic operators has been measured yet."
    first, *other = said
    more = f", and {said[other[0]]} times in {PHASES[other[0]]}" if other else ""
    return (
        f"An LSTM written from basic operators takes {said[first]} times as long as the fastest implementation in "
        f"{PHASES[first]}{more} (`{measured.main}`)."
    )


def _way(name: str, framework: str) -> str:
    """An implementation's name where its framework is named already."""
    return name.removeprefix(f"{framework} ").removeprefix(f"{framework}, ")


def custom(measured: Measured) -> Card:
    """Custom cells: per framework, what is written over its own fused kernel, or else over the fastest of all; then what is
    generated."""
    own: dict[tuple[str, str], list[str]] = {}
    others: dict[str, str] = {}
    made: dict[str, list[str]] = {}
    for phase, where in PHASES.items():
        rows = measured.rows(measured.main, phase)
        within = flexibility.within(rows, flexibility.WRITTEN)
        for name, over in within.items():
            said = f"{measured.linked(over, phase)} in {where} ({_way(over.name, name)}{UNSURE[over.verdict]})"
            own.setdefault((name, _way(over.to, name)), []).append(said)
        for name, of_one in rows.groupby("framework", sort=True):
            one = flexibility.first(of_one, flexibility.WRITTEN)
            if one and name not in within and name not in others:
                over = Over.of(one, rows.iloc[0].to_dict())
                inference = " (inference)" * (phase == "forward")
                others[name] = f"{name} {measured.linked(over, phase)}{inference}"
        fused = flexibility.first(rows, [flexibility.FUSED])
        for row in (
            rows[rows["flexibility"] == flexibility.GENERATED].to_dict("records") if fused else ()
        ):
            over = Over.of(row, fused)
            get = row["install"] or "make cell CELL=my_cell.py"
            said = f"{measured.linked(over, phase)} in {where}{UNSURE[over.verdict]}"
            made.setdefault(f"{row['name']} (`{get}`)", []).append(said)
    points = ["Times relative to a fused kernel; below 1 is faster."] if own or made else []
    points += [f"{name} / {to}: {', '.join(said)}." for (name, to), said in own.items()]
    if made:
        ways = "; ".join(f"{name} {', '.join(said)}" for name, said in made.items())
        points.append(f"Generated kernels / the fastest fused kernel: {ways}.")
    if others:
        points.append(f"Others / the fastest of all, in training: {', '.join(others.values())}.")
    return Card("I write my own cell", points)


def deploy(measured: Measured) -> Card:
    """What to install: the fastest of what has a package, whatever ties with it, then the fastest of all."""
    points = []
    for use in measured.settings["deploy"]:
        there = [name for name in use["benchmarks"] if len(measured.rows(name, "forward"))]
        rows = measured.rows(there[0], "forward").to_dict("records") if there else []
        packaged = [row for row in rows if row["install"]]
        if not packaged:
            continue
        best = packaged[0]
        over = [Over.of(row, best) for row in packaged[1:]]
        ties = [each.name for each in over if each.verdict != "slower"][: MOST_NAMED - 1]
        said = f"{use['to']} (`{there[0]}`): {best['name']}, {time(best['wall_median_s'])} (`{best['install']}`)"
        said += f"; equal or undecided: {'; '.join(ties)}" if ties else ""
        fastest = Over.of(rows[0], best)
        if fastest.verdict == "faster" or math.isnan(fastest.low):
            share = measured.linked(fastest, "forward", there[0])
            said += f". Faster, but not packaged: {rows[0]['name']}, {share} times that time"
        points.append(said + ".")
    return Card("I deploy", points)


def compiling(measured: Measured) -> Card:
    """Whether what is compiled or traced is faster than what it is written from, and after how many batches it pays."""
    own = measured.cells[measured.cells["benchmark"] == measured.main]
    own = own[own["generation"] == matrix.NOW].reset_index(drop=True)
    pays, others = [], {"never": [], "undecided": [], "same": []}
    for row in tradeoff.break_even(own):
        about = measured.called.get(row["implementation"], {})
        if row["phase"] != "training" or about.get("flexibility") not in flexibility.WRITTEN:
            continue
        name = about["name"]
        if row["verdict"] == "pays":
            many = f"{row['batches']:,} batch{'es' * (row['batches'] > 1)}"
            pays.append((row["ratio"], f"{name} {two(1 / row['ratio'])} (after {many})"))
        elif row["verdict"] in others:
            others[row["verdict"]].append(name)
    said = [one for _, one in sorted(pays, reverse=True)]
    meaning = "Times relative to the same code uncompiled, in training, and after how many batches it pays off"
    points = [f"{meaning}: {'; '.join(said)}."] if pays else []
    equal = [*others["undecided"], *others["same"]]
    points += [f"No gain, or undecided: {'; '.join(equal)}."] if equal else []
    points += [f"Slower: {'; '.join(others['never'])}."] if others["never"] else []
    return Card("Does compiling pay off?", points)


def then(measured: Measured) -> Card:
    """How many times as fast today's versions are, by implementation, over all benchmarks that both have."""
    rows = pd.DataFrame(relations.then_and_now(measured.cells))
    points = []
    for name in measured.settings["then"] if len(rows) else ():
        own = rows[(rows["implementation"] == name) & rows["ratio"].notna()]
        oldest = own.sort_values("environment_then").drop_duplicates(["benchmark", "phase"])
        if oldest.empty:
            continue
        called = measured.called[name]["name"]
        ends = [two(oldest["ratio"].min()), two(oldest["ratio"].max())]
        old, now = oldest.iloc[0]["framework_version_then"], oldest.iloc[0]["framework_version_now"]
        points.append(
            f"{called} {now.partition('+')[0]}: {' to '.join(dict.fromkeys(ends))} times as fast as {old} "
            f"({len(oldest)} measurement{'s' * (len(oldest) > 1)})."
        )
    return Card("Then and now", points)


def documents(summaries: Sequence[Mapping], machine: str) -> list[Document]:
    """What was measured of each document, and how many of its conclusions hold."""
    found = []
    for each in summaries:
        counts = {}
        for part in each["pages"].get("claims", []):
            counts = part["data"]["counts"].get(machine, {})
        said = [f"{verdict}: {count}" for verdict, count in sorted(counts.items())]
        origin = each["origin"]
        published = f"{' and '.join(origin['numbers'])} ({origin['year']})" if origin else ""
        measured = each["counts"].get(machine, {}).get(OK, 0)
        found.append(
            Document(each["name"], each["title"], published, measured, ", ".join(said) or "–")
        )
    return found


def cite(measured: Measured) -> str:
    commits = sorted({commit for each in measured.about() for commit in each["commits"]})
    at = f", commit {commits[0]}" if len(commits) == 1 else ""
    when = f", measured {measured.days}" if measured.days else ""
    return f"*What does flexibility cost?*, a benchmark workflow{at}{when} (`CITATION.cff`)."


def notes(measured: Measured) -> list[str]:
    """What a reader has to know before all numbers."""
    about = list(measured.about())
    found = []
    if any(each["preliminary"] for each in about):
        found.append("**Preliminary: one process of each measurement so far.** The run continues.")
    if any(each["corpus"]["stand_in"] for each in about if each["corpus"]):
        found.append(
            "**Measured on a stand-in corpus, not on the Penn Treebank**: synthetic tokens of its size, vocabulary and word "
            "frequencies. To measure on PTB: `--config corpus='{path: /folder/of/ptb.train.txt}'`."
        )
    return found


def front(measured: Measured, summaries: Sequence[Mapping]) -> Front:
    """The first page of a machine."""
    cards = [custom(measured), deploy(measured), compiling(measured), then(measured)]
    return Front(
        line(measured),
        sentence(measured),
        [card for card in cards if card.points],
        documents(summaries, measured.machine),
        cite(measured),
        notes(measured),
    )
