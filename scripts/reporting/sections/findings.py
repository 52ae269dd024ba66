"""What no document says, as statements that this run's numbers decide (config/claims.yaml)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from plan import matrix
from reporting.blocks import Block, Heading, Points, Text
from reporting.sections import Tables
from reporting.sections.conclusions import Verdict, ratios, verdict_of
from stats import claims, verdicts

HOLDING = (claims.HOLDS, claims.LIKELY, claims.PARTLY, claims.LIKELY_PARTLY)
FAILING = (claims.LIKELY_SAME, claims.SAME, claims.LIKELY_FAILS, claims.FAILS)
BEST_FIRST = (*HOLDING, claims.OPEN, *FAILING, claims.MISSING)
SIDES = ("at", "against")  # of a ratio of ratios


@dataclass(frozen=True)
class Finding:
    name: str
    statement: str
    means: str
    refuted_by: str
    ratio: str  # what is divided by what, where it is one thing
    view: str  # its numbers' address in the explorer
    now: Verdict


@dataclass(frozen=True)
class Answer:
    findings: list[Finding]  # those that hold first


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    own = [each for each in matrix.findings() if each["document"] == about["name"]]
    if not own:
        return None
    (group,) = verdicts.by_document(own, tables.cells, [])
    today = next((source for source in group["sources"] if source.startswith("now")), "")
    if not today:
        return None
    found = [
        Finding(
            each["name"],
            each["statement"],
            each["finding"]["means"],
            each["finding"]["refuted_by"],
            _divided(each),
            view(each),
            verdict_of(each["verdicts"][today]),
        )
        for each in group["claims"]
    ]
    found.sort(key=lambda each: BEST_FIRST.index(each.now.verdict))
    return Answer(found)


def _divided(claim: Mapping) -> str:
    """What is divided by what, where it is one thing."""
    if len(claim["ratios"]) != 1:
        return ""
    (named,) = claim["ratios"]
    sides = [", ".join(map(str, claim[side].values())) for side in SIDES if side in claim]
    return f"{named}, {' over '.join(sides)}" if sides else named


def view(claim: Mapping) -> str:
    """The first benchmark and phase that a claim is about, in the explorer."""
    wanted = {"document": claim["document"]}
    first = next(iter(claim["ratios"].values()))
    about = first["of"] | claim.get("at", {}) | claim.get("for", {})
    for key in ("benchmark", "phase", "device"):
        value = about.get(key)
        value = value[0] if isinstance(value, list) else value
        if isinstance(value, str) and "*" not in value:
            wanted[key] = value
    if "benchmark" in wanted:
        del wanted["document"]
    return f"index.html#{urlencode(wanted)}"


def write(answer: Answer) -> Iterator[Block]:
    others = []
    for each in answer.findings:
        if each.now.verdict == claims.MISSING:
            others.append(each.statement)
            continue
        yield Heading(each.statement.rstrip("."), 3)
        means = f" {each.means}" if each.now.verdict in HOLDING else ""
        yield Text(
            f"**{each.now.verdict}**: {each.ratio + ', ' if each.ratio else ''}{ratios(each.now.values)}."
            f"{means} What would refute it: {each.refuted_by} [Numbers]({each.view})."
        )
    if others:
        yield Text("Not measured on this machine:")
        yield Points(others)
