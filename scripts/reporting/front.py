"""The first page: one line, one sentence, one figure, four cards, the documents with their verdicts. Of one machine."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from measurement import shapes
from reporting import cards, flexibility, words
from reporting.cards import Card, way
from reporting.flexibility import Over
from reporting.layout import brief
from reporting.measured import PHASES, UNSURE, Measured, two
from reporting.sections import OK


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


def line(measured: Measured) -> str:
    """Machine, text, days, reliability."""
    facts = [(measured.machine, measured.facts)]
    name = words.machines(facts, in_full=True)[measured.machine]
    corpora = [each["corpus"] for each in measured.about() if each["corpus"]]
    stand_in = any(corpus["stand_in"] for corpus in corpora)
    text = ["stand-in text"] if stand_in else dict.fromkeys(map(words.text, corpora))
    sure = f"nine of ten ratios to the fastest within ±{two(100 * measured.within)} %"
    if unsure := sum(map(math.isnan, measured.reaches)):
        sure += f" ({unsure:,} have no interval)"
    sure = "without intervals" if math.isnan(measured.within) else sure
    count = f"{len(measured.ok):,} measurements{measured.current}, {sure}"
    return " · ".join([name, *text, measured.days, count])


def cost_words(cost: flexibility.Cost) -> str:
    """`1.3 to 3.4`"""
    return words.between(two(cost.least.ratio), two(cost.most.ratio))


def over_words(over: Over) -> str:
    """`1.32 [1.29, 1.34]`"""
    return brief(over.ratio, over.low, over.high) + UNSURE[over.verdict]


def sentence(measured: Measured) -> str:
    """What operators take over their own framework's fused kernel, then over the fastest of all, and of which workload."""
    said = {phase: one for phase, one in measured.costs.items() if one}
    if not said:
        return "No LSTM written from basic operators has been measured yet."
    first, *other = said
    own = [
        f"{' to '.join(map(over_words, ends))} times as long as {way(ends[0].to, framework)} in {framework}"
        for framework, ends in said[first].within.items()
    ]
    where = f"in {PHASES[first]}"
    own = f"take, {where}, {words.listed(own)}. They take" if own else f"take, {where},"
    more = f", and {cost_words(said[other[0]])} times in {PHASES[other[0]]}" if other else ""
    fastest = said[first].fastest
    ends = (f"{two(each.ratio)} ({each.name})" for each in (said[first].least, said[first].most))
    model = "a language model of " * ("vocabulary" in measured.defined(measured.main))
    return (
        f"On {measured.name}, LSTMs written from basic operators {own} {words.between(*ends)} times "
        f"as long as the fastest implementation ({fastest['name']}, a {fastest['flexibility']}){more}. Workload: "
        f"{model}{measured.shape(measured.main)}{_output_layer(measured.defined(measured.main))}; [freed memory kept](machine.md).{alone(measured)}"
    )


def _output_layer(model: Mapping) -> str:
    """How much of a language model no implementation of its LSTM changes."""
    if "vocabulary" not in model:
        return ""
    *_, output = found = shapes.products(shapes.Shapes(model), "forward", shapes.HOISTED)
    share = shapes.flops([output]) / shapes.flops(found)
    return f" (output layer: {100 * share:.0f} % of multiply-adds)"


def alone(measured: Measured) -> str:
    """What operators take over their framework's fused kernel in one layer, without a model around it that all have in common."""
    benchmark = measured.settings.get("new_cell", {}).get("lstm", "")
    if benchmark == measured.main:
        return ""
    for phase, where in PHASES.items():
        for framework, ends in flexibility.within(measured.rows(benchmark, phase)).items():
            return (
                f" Of one layer alone ({measured.shape(benchmark)}), {framework}'s operators take {over_words(ends[0])} times as "
                f"long as {way(ends[0].to, framework)} in {where}."
            )
    return ""


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
        about = published, measured, ", ".join(said) or "–"
        found.append(Document(each["name"], each["title"], *about))
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
    found = [one(measured) for one in cards.ALL]
    return Front(
        line(measured),
        sentence(measured),
        [card for card in found if card.groups],
        documents(summaries, measured.machine),
        cite(measured),
        notes(measured),
    )
