"""What the documents conclude (config/claims.yaml), decided on numbers: published ones and measured ones.

A claim is one or more cases, and a case a number that has to keep a bound:

- `ratios`: one cell's time over another's; where a side names several cells, the fastest of them;
- with `at` and `against`: such a ratio in one place over the same in another;
- `linear`: time, per unit of size where one is named, at the largest size over that at the smallest, along the line that is
  fitted to the logarithms of all sizes.

How often a verdict on measured numbers may be wrong, if every case lies on its bound: 5 %, however many cases there are.
A claim holds if every case does, so each may be held against its own 95 % interval: all would have to err at once. It does
not hold if one case does not, and of eight one errs in 18 % of claims: cases fail by Holm's procedure, the first of them
by an interval of 1 - 0.05 / 8. Where the bound is 1, a case that lies within 2 % of it (estimates.EQUIVALENCE) makes no
difference: the claim does not hold there, and says so.

Cells of undecided claims get further processes (stats.undecided says which), and so their numbers are looked at twice.
What is decided after the first look is only what STOPPING decides, which keeps the 5 %. What gets further ones gets as many
as there may be, however few might do: a number that follows from how the first came out would be wrong in 6 to 7 % on a
bound, and in 10 % if what CONFIDENCE decides were left alone. Claims that have little chance are left undecided.

Of 4,000 simulated claims with all cases on the bound, noise as in estimates, runs of 30 rows and three processes
(tests/unit/simulated.py), 4.3, 2.0, 1.8 and 1.2 % were decided wrongly with 1, 2, 4 and 8 cases, with each case held against
its own interval 15.7 % with 8; of as many with a second look 5.0, 2.5, 1.8 and 1.1 %; where it is five times as noisy, up
to five processes and four further ones at most, 5.5 (4.6 of 12,000 others), 2.2, 2.1 and 1.4 %.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reporting.layout import three_digits
from stats import estimates
from stats.comparisons import Comparison, NoNumber, Selection, choices, combinations, of_case
from stats.estimates import CONFIDENCE
from stats.marks import ALIKE, UNDECIDED
from stats.quantities import KEYS, Numbers

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", UNDECIDED, "not measured"
LIKELY = "likely holds"  # of too few clean processes, as are the next two
LIKELY_FAILS = f"likely {FAILS}"
PARTLY = "holds where measured"  # on some of the benchmarks that the claim is about
LIKELY_PARTLY = f"likely {PARTLY}"
SAME = ALIKE  # of a case, and of a claim of which every case makes none
LIKELY_SAME = f"likely {SAME}"
NO_NUMBER = "no number: "  # begins the figures of a case that has none, before what it lacks
MOST_NAMED = 3  # benchmarks; of more only their number is said
STOPPING = 0.998  # confidence of a first look that leaves a claim's cells alone


@dataclass
class Case:
    """A case of a claim while it is decided."""

    ratio: str
    cell: Selection
    found: Comparison | None
    missing: str = ""
    verdict: str = MISSING


def _case(numbers: Numbers, claim: Mapping, name: str, cell: Selection) -> Case:
    try:
        return Case(name, cell, of_case(numbers, claim, name, cell))
    except NoNumber as missing:
        return Case(name, cell, None, f"{NO_NUMBER}{missing}")


def bounds(claim: Mapping) -> tuple[float, float]:
    return claim.get("above", 0), claim.get("below", math.inf)


def _within(low: float, high: float, claim: Mapping) -> bool:
    above, below = bounds(claim)
    return above < low and high < below


def _beyond(low: float, high: float, claim: Mapping) -> bool:
    above, below = bounds(claim)
    return high <= above or low >= below


def _equal(low: float, high: float, claim: Mapping) -> bool:
    return 1 in bounds(claim) and estimates.compared(low, high) == "same"


def _verdict(cases: Collection[str]) -> str:
    """On a claim, of those on its cases."""
    if cases and {*cases} == {SAME}:
        return SAME
    if {FAILS, SAME} & {*cases}:
        return FAILS
    return next(verdict for verdict in (MISSING, OPEN, HOLDS) if verdict in cases)


def _open_keys(claim: Mapping) -> list[str]:
    """The keys that a claim names nowhere, of its cells."""
    sides = next(iter(claim["ratios"].values()))["of"] if "ratios" in claim else {"benchmark"}
    named = {*claim["for"], *sides, *claim.get("at", ()), "quantity"}
    return [key for key in KEYS if key not in named]


def _cases(claim: Mapping, numbers: Numbers) -> list[Case]:
    """Every combination of the names in `for`. A key that the claim leaves open takes every value for which there are
    numbers, and so do several benchmarks."""
    given = {"quantity": ["wall_s"]} | choices(claim["for"])
    free = {key: sorted({cell[KEYS.index(key)] for cell in numbers}) for key in _open_keys(claim)}
    if len(given.get("benchmark", ())) > 1:
        free["benchmark"] = given.pop("benchmark")
    per = claim.get("linear", {}).get("per")
    ratios = claim.get("ratios") or [f"per {per}" if per else "largest to smallest"]
    cases = []
    for name, cell in itertools.product(ratios, combinations(given)):
        tried = [_case(numbers, claim, name, cell | more) for more in combinations(free)]
        cases += [case for case in tried if case.found] or [_case(numbers, claim, name, cell)]
    return cases


def _judge(cases: list[Case], claim: Mapping, confidence: float) -> None:
    """The verdicts on cases that have a number: those that do not hold, or make no difference, by Holm's procedure (each found
    leaves fewer to correct for), the others by their own intervals."""
    left = found = [case for case in cases if case.found]
    while left and found:
        # Those found are no less sure with what is corrected for the fewer that are left.
        tail = (1 - confidence) / len(left)
        for case in left:
            ends = case.found.interval(1 - tail)[1:]
            if _equal(*ends, claim):
                case.verdict = SAME
            elif _beyond(*ends, claim):
                case.verdict = FAILS
        found = [case for case in left if case.verdict != MISSING]
        left = [case for case in left if case.verdict == MISSING]
    for case in left:
        holds = _within(*case.found.interval(confidence)[1:], claim)
        case.verdict = HOLDS if holds else OPEN


def _needs(case: Case, claim: Mapping, cases: int) -> int | None:
    """How many processes of each of its cells decide a case if further ones are as noisy as those that there are; None: more
    than anybody would run."""
    found = case.found
    times = [found.numbers[key].processes for key in found.keys]

    def decided(processes: int) -> bool:
        corrected = found.interval(1 - (1 - CONFIDENCE) / cases, processes)[1:]
        own = found.interval(CONFIDENCE, processes)[1:]
        beyond = _beyond(*corrected, claim) or _equal(*corrected, claim)
        return beyond or _within(*own, claim)

    fewest = min(times, key=len)
    # Of processes that took turns, `times` are of looks.
    looks = len(fewest) / (len({look.process for look in fewest.looks}) or len(fewest))
    more = estimates.further(times, decided, round(estimates.MOST_PROCESSES * looks))
    return None if more is None else math.ceil((len(fewest) + more) / looks)


def _shown(case: Case, claim: Mapping, cases: int) -> dict:
    """What reports show of a case that has a number."""
    value, low, high = case.found.interval()
    figures = f"{case.found.text} = {three_digits(value)}"
    ends = three_digits(low), three_digits(high)
    known = high < math.inf
    if known and ends[0] != ends[1]:
        figures += f" [{ends[0]}, {ends[1]}]"
    figures += case.found.remark
    marks = {
        f"{case.found.numbers[key].where}: {case.found.numbers[key].mark}": None
        for key in case.found.keys
        if case.found.numbers[key].mark
    }
    shown = {
        **{"figures": figures, "value": value, "about": dict(case.found.about)},
        **{"low": low if known else None, "high": high if known else None},
        "marks": list(marks),
    }
    if case.verdict == OPEN and case.found.statistical:
        shown["needs"] = _needs(case, claim, cases)
        if known and _beyond(low, high, claim):
            shown["figures"] += f", beyond the bound but for the {cases} cases of the claim"
    return shown


def _measured_on(claim: Mapping, cases: list[Case], shapes: Collection[str]) -> str:
    """Of several benchmarks that a claim is about, those with numbers, where that is not all; `shapes` where the claim is
    about every one."""
    named = choices(claim["for"]).get("benchmark", [])
    if "benchmark" in _open_keys(claim):
        named = sorted(shapes)
    there = {case.cell.get("benchmark") for case in cases if case.found}
    found = [name for name in named if name in there]
    if not 0 < len(found) < len(named):
        return ""
    names = f": {' and '.join(found)}" if len(found) <= MOST_NAMED else ""
    return f"on {len(found)} of {len(named)}{names}"


def _note(verdict: str, cases: list[dict], devices: set[str], where: str) -> str:
    """Which cases decide a verdict, `where`, and on what device if the claim leaves that open."""
    decide = {FAILS: {FAILS, SAME}}.get(verdict, {verdict})
    deciding = [case["name"] for case in cases if case["verdict"] in decide]
    holding = sum(case["verdict"] == HOLDS for case in cases)
    note = ""
    if verdict == MISSING and holding:
        note = f"holds in {holding} of {len(cases)} cases"
    elif verdict in (FAILS, OPEN) and len(cases) > 1:
        note = f"in {len(deciding)} of {len(cases)} cases"
        if len(deciding) == len(cases):
            note = "in every case"
        elif len(deciding) <= 2:
            note = "; ".join(deciding)
    return "; ".join(filter(None, [note, where, *(device.upper() for device in sorted(devices))]))


def _named(cases: list[Case], claim: Mapping, devices: set[str]) -> list[str]:
    """A case is called by what tells it from the others."""
    given = choices(claim["for"])
    several = len({case.ratio for case in cases}) > 1
    telling = [key for key in given if len(given[key]) > 1]
    telling += [key for key in _open_keys(claim) if key != "device" or len(devices) > 1]
    found = []
    for case in cases:
        words = [case.ratio if several else "", *(case.cell.get(key, "") for key in telling)]
        found.append(", ".join(filter(None, words)) or case.ratio)
    return found


def _noisy(case: Case) -> bool:
    """Whether a number of a case is of too few clean processes."""
    return case.found is not None and any(case.found.numbers[k].noisy for k in case.found.keys)


def _lacking(verdict: str, cases: Collection[Case]) -> list[Case]:
    """The cases whose want of clean processes makes a verdict a likely one: every case has to have them for a claim to hold
    or to make no difference, and one that decides it for a claim not to hold."""
    decide = [case for case in cases if verdict != FAILS or case.verdict in (FAILS, SAME)]
    noisy = [case for case in decide if _noisy(case)]
    return [] if verdict == FAILS and len(noisy) < len(decide) else noisy


def _trusted(verdict: str, cases: Collection[Case]) -> tuple[str, str]:
    """(verdict, why it is a likely one)"""
    noisy = _lacking(verdict, cases)
    known = sum(case.found is not None for case in cases)
    likely = {HOLDS: LIKELY, PARTLY: LIKELY_PARTLY, FAILS: LIKELY_FAILS, SAME: LIKELY_SAME}
    if verdict not in likely or not noisy:
        return verdict, ""
    where = f" in {len(noisy)} of {known} cases" if known > 1 and verdict != FAILS else ""
    return likely[verdict], f"too few clean processes{where}"


def decide(claim: Mapping, numbers: Numbers, shapes: Collection[str] = ()) -> dict:
    """`shapes`: the benchmarks on which a claim about every one could be seen. {"verdict", "decided": which cases decide it, "note": that, and why it is a
    likely one, "marks": of all cases, "cases"}

    A case: {"name", "verdict", "figures": how it comes about, in words}, and where it has a number {"value", "low" and
    "high": its 95 % interval, None with too few processes; "about": of a line {"exponent", "farthest", "where"}; "marks": what is known of published
    numbers in it}, and where processes do not decide it {"needs": how many would, as `_needs` says}.
    """
    cases = _cases(claim, numbers)
    _judge(cases, claim, CONFIDENCE)
    tested = sum(case.found is not None for case in cases)
    free = _open_keys(claim)
    devices = {case.cell.get("device") for case in cases if "device" in free} - {None}
    found = []
    for case, name in zip(cases, _named(cases, claim, devices), strict=True):
        shown = _shown(case, claim, tested) if case.found else {"figures": case.missing}
        found.append({"name": name, "verdict": case.verdict, **shown})
    verdict = _verdict([case.verdict for case in cases])
    marks = dict.fromkeys(mark for case in found for mark in case.get("marks", ()))
    where = _measured_on(claim, cases, shapes)
    decided = _note(verdict, found, devices, where)
    verdict = PARTLY if verdict == HOLDS and where else verdict
    verdict, mark = _trusted(verdict, cases)
    note = "; ".join(filter(None, [decided, mark]))
    about = {"verdict": verdict, "decided": decided, "note": note}
    return about | {"marks": list(marks), "cases": found}


def undecided(
    claims: Iterable[Mapping], numbers: Numbers
) -> Iterator[tuple[Mapping, list[Case], int]]:
    """The claims that STOPPING leaves undecided, with the cases of each that are open and for which processes speak, and
    the number of cases that have a number. Claims that lack a number are not waited for."""
    for claim in claims:
        cases = _cases(claim, numbers)
        _judge(cases, claim, STOPPING)
        if _verdict([case.verdict for case in cases]) == OPEN:
            left = [case for case in cases if case.verdict == OPEN and case.found.statistical]
            if left:
                yield claim, left, sum(case.found is not None for case in cases)
