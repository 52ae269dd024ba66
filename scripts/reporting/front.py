"""The first page: one line, one sentence, one figure, four cards, the documents with their verdicts. Of one machine."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from plan import matrix
from reporting import flexibility, style, tradeoff, words
from reporting.flexibility import Over
from reporting.layout import brief, none, seconds, time_within
from reporting.sections import OK, Tables
from stats import estimates

PHASES = {"training": "training", "forward": "inference"}
UNSURE = {"faster": "", "slower": "", "same": "", "undecided": " (undecided)"}
MOST_NAMED = 3  # of several that do equally well
SLOW_START_S = 1
MOST_OF = 0.9  # of the measurements, how far their intervals reach


@dataclass(frozen=True)
class Card:
    """A question of a kind of reader, and a table that answers it, in Markdown. `groups`: rows below a title of their own, or ""."""

    title: str
    about: str
    head: Sequence[str]
    groups: Mapping[str, Sequence[Sequence[str]]]
    points: Sequence[str] = ()


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


class Measured:
    """What one machine has of all documents. `settings`: first_page in config/pages.yaml."""

    def __init__(self, parts: Iterable[tuple[Tables, Mapping]], machine: str, settings: Mapping):
        self.parts = [
            (tables.cells[tables.cells["machine"] == machine], about) for tables, about in parts
        ]
        self.machine, self.settings = machine, settings
        self.cells = pd.concat([cells for cells, _ in self.parts], ignore_index=True)
        self.ok = self.cells[self.cells["status"] == OK]

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

    @property
    def today(self) -> pd.DataFrame:
        """Today's versions on the benchmark of the headline."""
        return self.ok[(self.ok["benchmark"] == self.main) & (self.ok["generation"] == matrix.NOW)]

    def linked(self, over: Over, phase: str, benchmark: str = "", **more: str) -> str:
        """A ratio with its interval: a link to the explorer, whose hint says of what."""
        view = {"benchmark": benchmark or self.main, "phase": phase, "machine": self.machine}
        address = urlencode(view | {"baseline": over.baseline} | more)
        unsure = UNSURE[over.verdict] * math.isnan(over.low)
        ratio, _, interval = brief(over.ratio, over.low, over.high).partition(" ")
        found = f'[{ratio}](#{address} "{over.name} over {over.to}") {interval}{unsure}'
        return found.strip()

    def left_out(self, measured: pd.DataFrame) -> list[str]:
        """Frameworks that can be installed and were not run where these rows were measured."""
        same = {key: measured.iloc[0][key] for key in ("benchmark", "phase", "device")}
        left = flexibility.lstms(self.cells, "not-run", **same)
        named = {*left[left["install"] != ""]["framework"]} - {*measured["framework"]}
        return sorted(named - {style.OTHER.name})

    def shape(self, benchmark: str) -> str:
        """A benchmark in words."""
        shapes = (about["document"]["benchmarks"] for _, about in self.parts)
        return next((words.shape(own[benchmark]) for own in shapes if benchmark in own), "")

    @property
    def name(self) -> str:
        """What a sentence calls the machine."""
        return words.short(words.machines([(self.machine, self.facts)])[self.machine], self.facts)

    @property
    def facts(self) -> Mapping:
        return next((each["facts"] for each in self.about() if each["facts"]), {})

    def has(self, document: str) -> bool:
        return any(about["name"] == document for _, about in self.parts)

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
    def current(self) -> str:
        """How many measurements were made by today's protocol, if not all."""
        now = self.ok["looks"].notna().sum()
        count = f"{now:,}" if now else "none"
        return f" ({count} by the current protocol)" * bool(now < len(self.ok))

    @cached_property
    def reaches(self) -> list[float]:
        """How far each interval of a ratio to the fastest implementation reaches, relative; NaN where there is none."""
        found = []
        for _, own in self.ok.groupby(["benchmark", "phase", "device"]):
            times = own.sort_values("wall_median_s")["process_medians_s"]
            ratios = (estimates.ratio([each], [times.iloc[0]]) for each in times.iloc[1:])
            found += [math.sqrt(each.high / each.low) - 1 for each in ratios]
        return found

    @property
    def within(self) -> float:
        """How far nine of ten of these intervals reach (NaN: there are none)."""
        known = [each for each in self.reaches if not math.isnan(each)]
        return float(np.quantile(known, MOST_OF)) if known else math.nan


def line(measured: Measured) -> str:
    """Machine, text, days, reliability."""
    about = list(measured.about())
    facts = [(measured.machine, measured.facts)]
    name = words.machines(facts, in_full=True)[measured.machine]
    corpora = [each["corpus"] for each in about if each["corpus"]]
    stand_in = any(corpus["stand_in"] for corpus in corpora)
    text = ["stand-in text"] if stand_in else dict.fromkeys(map(words.text, corpora))
    sure = f"nine of ten ratios to the fastest are known within ±{two(100 * measured.within)} %"
    if unsure := sum(map(math.isnan, measured.reaches)):
        sure += f", apart from {unsure:,} without an interval"
    sure = "without intervals" if math.isnan(measured.within) else sure
    return " · ".join(
        [name, *text, measured.days, f"{len(measured.ok):,} measurements{measured.current}, {sure}"]
    )


def cost_words(cost: flexibility.Cost) -> str:
    """`1.3 to 3.4`"""
    return " to ".join(dict.fromkeys((two(cost.least.ratio), two(cost.most.ratio))))


def over_words(over: Over) -> str:
    """`1.32 [1.29, 1.34]`"""
    return brief(over.ratio, over.low, over.high) + UNSURE[over.verdict]


def sentence(measured: Measured) -> str:
    """What operators take over their own framework's fused kernel, then over the fastest of all, and of which workload."""
    costs = {phase: flexibility.cost(measured.rows(measured.main, phase)) for phase in PHASES}
    said = {phase: one for phase, one in costs.items() if one}
    if not said:
        return "No LSTM written from basic operators has been measured yet."
    first, *other = said
    own = [
        f"{' to '.join(map(over_words, ends))} times as long as {_way(ends[0].to, framework)} in {framework}"
        for framework, ends in said[first].within.items()
    ]
    where = f"in {PHASES[first]}"
    own = f"take, {where}, {words.listed(own)}. They take" if own else f"take, {where},"
    more = f", and {cost_words(said[other[0]])} times in {PHASES[other[0]]}" if other else ""
    fastest = said[first].fastest
    return (
        f"On {measured.name}, LSTMs written from basic operators {own} {cost_words(said[first])} times "
        f"as long as the fastest implementation ({fastest['name']}, a {fastest['flexibility']}){more}. Workload: "
        f"{measured.shape(measured.main)}."
    )


def _way(name: str, framework: str) -> str:
    """An implementation's name where its framework is named already."""
    return name.removeprefix(f"{framework} ").removeprefix(f"{framework}, ")


def by_phase(found: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Rows of {name: {phase: what is said}}."""
    return [[name, *(said.get(phase, "–") for phase in PHASES)] for name, said in found.items()]


def custom(measured: Measured) -> Card:
    """Custom cells: per framework, what is written and compiled over its own fused kernel, or else over the fastest of all; then
    what is generated, over the fastest fused kernel."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    fastest, generated = "Over the fastest of all", "Generated, over the fastest fused kernel"
    last: dict[str, dict[str, dict[str, str]]] = {generated: {}, fastest: {}}

    for phase in PHASES:
        rows = measured.rows(measured.main, phase)
        for framework, of_one in rows.groupby("framework", sort=True):
            fused = flexibility.first(of_one[of_one["install"] != ""], [flexibility.FUSED])
            title = f"{framework}, over {_way(fused['name'], framework)}" if fused else fastest
            to = fused or rows.iloc[0].to_dict()
            written = [flexibility.OPERATORS, ["compiled"]] if fused else [flexibility.WRITTEN]
            for row in filter(None, (flexibility.first(of_one, levels) for levels in written)):
                name = _way(row["name"], framework) if fused else framework
                group = (found if fused else last).setdefault(title, {})
                group.setdefault(name, {})[phase] = measured.linked(Over.of(row, to), phase)
        fused = flexibility.first(rows, [flexibility.FUSED])
        own = rows[rows["flexibility"] == flexibility.GENERATED].to_dict("records")
        for row in own if fused else ():
            said = last[generated].setdefault(f"{row['name']} ({_get(row)})", {})
            said[phase] = measured.linked(Over.of(row, fused), phase)
    package = "In your own program: `packages/recurrent_cells`."
    points = [package] * (not any("recurrent_cells" in name for name in last[generated]))
    groups = {title: by_phase(own) for title, own in (found | last).items() if own}
    if groups and measured.has("flexible-yet-fast"):
        points.append("Cells other than the LSTM: [sLSTM, GRU and more](flexible-yet-fast.md).")
    about = "Times relative to a fused kernel; below 1 is faster."
    return Card("I write my own cell", about, ["", "Training", "Inference"], groups, points)


def _get(row: Mapping) -> str:
    """How to get what is recommended: a package, a kernel generated for a cell, or the source."""
    if row["install"] or row["flexibility"] == flexibility.GENERATED:
        return f"`{row['install'] or 'make cell CELL=my_cell.py'}`"
    return f"source: `{matrix.implementation_file(row['implementation'])}`"


def _aside(row: Mapping) -> str:
    """How to get a recommendation, and what it costs beside its time: its error against float64, start-up where it takes long,
    tuning and building a kernel."""
    error = row["output_error"] if none(row["gradient_error"]) else row["gradient_error"]
    once = tradeoff.once(row)
    start = tradeoff.start(row) - once
    said = [
        *([] if none(error) else [f"error {error:.0e}".replace("e-0", "e-")]),
        *([f"start-up {seconds(start)} s"] if start >= SLOW_START_S else []),
        *([f"tuning {seconds(once)} s"] if once else []),
    ]
    return "; ".join(filter(None, [_get(row), ", ".join(said)]))


def deploy(measured: Measured) -> Card:
    """What to install: the fastest of what has a package, whatever ties with it, then the fastest of all."""
    groups = {}
    for use in measured.settings["deploy"]:
        there = [name for name in use["benchmarks"] if len(measured.rows(name, "forward"))]
        found = measured.rows(there[0], "forward") if there else measured.ok[:0]
        rows = found.to_dict("records")
        packaged = [row for row in rows if row["install"]]
        if not packaged:
            continue
        sure = [row for row in packaged if row["interval"] == "confidence"]
        best = (sure or packaged)[0]
        ends = (best["wall_low_s"], best["wall_high_s"]) if sure else ()
        took = time_within(best["wall_median_s"], *ends)
        said = [[f"{best['name']} ({_aside(best)})", took]]
        over = ((row, Over.of(row, best)) for row in packaged if row is not best)
        ties = [(row, each) for row, each in over if each.verdict != "slower"]
        for row, each in ties[: MOST_NAMED - 1]:
            said.append(
                [f"{row['name']} ({_get(row)})", measured.linked(each, "forward", there[0])]
            )
        fastest = Over.of(rows[0], best)
        unsure = math.isnan(fastest.low)
        if not rows[0]["install"] and (fastest.verdict == "faster" or unsure):
            name = f"{rows[0]['name']} (no package; {_aside(rows[0])})"
            said.append([name, measured.linked(fastest, "forward", there[0])])
        if left := measured.left_out(found):
            said.append([f"Not measured here: {words.listed(left)}", ""])
        shape = f" ({measured.shape(there[0])})" * (there[0] != measured.main)
        groups[f"{use['to']}{shape}"] = said
    about = "The fastest with a package, what may be as fast, and what is faster without one: times relative to the first."
    return Card("I deploy", about, ["", "Inference"], groups)


def compiling(measured: Measured) -> Card:
    """By what is compiled: what each compiler makes of it, and after how many batches that pays."""
    said: dict[str, list[tuple[float, list[str]]]] = {}
    for gain in tradeoff.gains(measured.today):
        if gain.row["phase"] != "training" or gain.row["flexibility"] != "compiled":
            continue
        after = f"– (start-up {seconds(tradeoff.start(gain.row))} s)"
        if gain.batches:
            ends = " to ".join(dict.fromkeys(f"{each:,}" for each in gain.batches))
            after = f"{ends} batch{'es' * (gain.batches[1] > 1)}"
        over = Over.of(gain.row, gain.other)
        row = [over.name, measured.linked(over, "training"), after]
        said.setdefault(f"Over {over.to}", []).append((over.ratio, row))
    groups = {title: [row for _, row in sorted(found)] for title, found in said.items()}
    about = "Times relative to the same code uncompiled."
    return Card("Does compiling pay off?", about, ["", "Training", "Pays after"], groups)


def generations(measured: Measured, phase: str) -> Iterator[tuple[dict, dict]]:
    """The row of today's version and of the oldest, of each implementation that has both on the benchmark of the headline."""
    here = measured.ok[measured.ok["benchmark"] == measured.main].sort_values("environment")
    for _, own in here[here["phase"] == phase].groupby(["implementation", "device"], sort=False):
        now = own["generation"] == matrix.NOW
        if now.any() and not now.all():
            yield own[now].iloc[0].to_dict(), own[~now].iloc[0].to_dict()


def then(measured: Measured) -> Card:
    """What today's versions take over the oldest, by implementation, on the benchmark of the headline."""
    found: dict[str, dict[str, str]] = {}
    for phase in PHASES:
        for new, old in generations(measured, phase):
            if new["implementation"] not in measured.settings["then"]:
                continue
            versions = (
                f"{new['framework_version'].partition('+')[0]} over {old['framework_version']}"
            )
            name = f"{new['name']} {versions} ({matrix.generation(old['environment'])})"
            over = Over.of(new, old)
            slower = " (slower)" * (over.verdict == "slower")
            said = f"{measured.linked(over, phase, versions='all')}{slower}"
            found.setdefault(name, {})[phase] = said
    groups = {"": by_phase(found)} if found else {}
    points = (
        ["All releases: [timeline](timeline.md)."] if found and measured.has("timeline") else []
    )
    about = "Times relative to old versions, same workload."
    return Card("Then and now", about, ["", "Training", "Inference"], groups, points)


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
    at = f"commit {commits[0]}" if len(commits) == 1 else "[commits](machine.md)"
    when = f", measured on {measured.name}, {measured.days}" if measured.days else ""
    return f"*What does flexibility cost?*{when}, {at} (`CITATION.cff`)."


def notes(measured: Measured) -> list[str]:
    """What a reader has to know before all numbers."""
    about = list(measured.about())
    found = []
    if any(each["preliminary"] for each in about):
        found.append("**Preliminary: one process of each measurement so far.** The run continues.")
    corpora = [each["corpus"] for each in about if each["corpus"]]
    if missed := next((words.text(corpus) for corpus in corpora if corpus["stand_in"]), None):
        found.append(
            f"**Measured on a stand-in corpus, not on the {missed}**: synthetic tokens of its size, vocabulary and word "
            "frequencies. If you have its files: `--config corpus='{path: /their/folder}'`."
        )
    return found


def front(measured: Measured, summaries: Sequence[Mapping]) -> Front:
    """The first page of a machine."""
    cards = [custom(measured), deploy(measured), compiling(measured), then(measured)]
    return Front(
        line(measured),
        sentence(measured),
        [card for card in cards if card.groups],
        documents(summaries, measured.machine),
        cite(measured),
        notes(measured),
    )
