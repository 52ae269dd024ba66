"""What a document concludes, and whether it holds: on its own numbers, with the versions of its time, and today."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from plan import matrix
from reporting import consistency, words
from reporting.blocks import Block, Table, Text
from reporting.layout import DASH
from reporting.sections import OK, Tables
from stats import verdicts
from stats.claims import MISSING

MEANING = (
    "Ratios with their 95 % intervals, which decide; of several, the smallest and the largest."
)
LIKELY = " *likely*: too few undisturbed processes."


@dataclass(frozen=True)
class Verdict:
    verdict: str
    values: list[tuple[float, float | None, float | None]]  # ratios with their intervals
    corrected: str = ""  # of published numbers, if those that contradict others were corrected


@dataclass(frozen=True)
class Claim:
    statement: str
    published: Verdict
    then: Verdict
    now: Verdict
    gpu: bool  # about rows that only a GPU has, and there is none
    ours: bool  # the document does not say it

    @property
    def told(self) -> str:
        return f"*We add:* {self.statement}" if self.ours else self.statement


@dataclass(frozen=True)
class Answer:
    claims: list[Claim]
    when: str  # of the old versions
    counts: dict[str, dict[str, int]]  # {machine: {verdict: claims of the document}}


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    if not about["claims"]:
        return None
    paths = matrix.published_files(f"{about['name']}*")  # also of its earlier states
    found = consistency.contradictions(paths)
    (group,) = verdicts.by_document(about["claims"], tables.cells, found)
    today = [source for source in group["sources"] if source.startswith("now")]
    if not today:
        return None
    old = sorted(
        (source for source in group["sources"] if ", " in source and source not in today),
        key=lambda source: -sum(_decided(each, source) for each in group["claims"]),
    )
    on_gpu = (tables.cells["device"].eq("gpu") & tables.cells["status"].eq(OK)).any()
    claims = [
        Claim(
            each["statement"],
            verdict_of(each["verdicts"].get(group["number"])),
            verdict_of(each["verdicts"].get(old[0]) if old else None),
            verdict_of(each["verdicts"][today[0]]),
            needs_gpu(each) and not on_gpu,
            "ours" in each,
        )
        for each in group["claims"]
    ]
    machine = today[0].partition(", ")[2]
    counts = dict(Counter(claim.now.verdict for claim in claims if not claim.ours))
    return Answer(claims, old[0].partition(",")[0] if old else "", {machine: counts})


def _decided(claim: Mapping, source: str) -> bool:
    return claim["verdicts"].get(source, {"verdict": MISSING})["verdict"] != MISSING


def needs_gpu(claim: Mapping) -> bool:
    """Whether a claim is about cells that only a GPU has."""
    text = str({key: claim[key] for key in ("for", "ratios", "at", "against") if key in claim})
    return "'gpu'" in text or "cudnn" in text or "/dlight" in text


def verdict_of(found: Mapping | None) -> Verdict:
    if found is None:
        return Verdict(MISSING, [])
    known = [case for case in found["cases"] if "value" in case]
    values = [(case["value"], case["low"], case["high"]) for case in known]
    return Verdict(found["verdict"], values, found.get("corrected", ""))


def ratios(values: Sequence[tuple[float, float | None, float | None]]) -> str:
    """`0.74 [0.70, 0.78]` of one, `0.60 [0.51, 0.70] to 0.91 [0.83, 1.02]` of several: the smallest and the largest."""
    if not values:
        return ""
    if len(values) == 1 and (values[0][1] is None or math.isnan(values[0][1])):
        return f"{values[0][0]:.2f} (no interval: too few processes)"
    ends = (_with_interval(*find(values, key=itemgetter(0))) for find in (min, max))
    return words.between(*ends)


def _with_interval(value: float, low: float | None, high: float | None) -> str:
    known = low is not None and high is not None and low < high < math.inf
    return _brief(value) + (f" [{_brief(low)}, {_brief(high)}]" if known else "")


def _brief(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def said(verdict: Verdict) -> str:
    if verdict.verdict == MISSING:
        return DASH
    more = f" (*{verdict.corrected}* if corrected)" if verdict.corrected else ""
    return f"{verdict.verdict}{more}"


def write(answer: Answer) -> Iterator[Block]:
    rows = []
    for claim in answer.claims:
        here = f"**{claim.now.verdict}**"
        if claim.now.verdict == MISSING:
            if claim.gpu:
                continue
            here = MISSING
        elif numbers := ratios(claim.now.values):
            here += f": {numbers}"
        rows.append([claim.told, said(claim.published), said(claim.then), here])
    if rows:
        likely = any("likely" in claim.now.verdict + claim.then.verdict for claim in answer.claims)
        yield Text(MEANING + LIKELY * likely)
        old = f"Versions of {answer.when}"
        yield Table(["The document says", "By its own numbers", old, "Here"], rows)
    left = [claim for claim in answer.claims if claim.gpu and claim.now.verdict == MISSING]
    if left:
        held = Counter(claim.published.verdict for claim in left)
        told = ", ".join(f"*{verdict}* {count}" for verdict, count in held.most_common())
        yield Text(
            f"Conclusions that need an NVIDIA GPU ([list](claims.md)): {len(left)}. By the document's own numbers: {told}."
        )
