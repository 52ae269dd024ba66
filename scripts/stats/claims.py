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

from stats import estimates
from stats.comparisons import Comparison, NoNumber, Selection, choices, combinations, of_case
from stats.estimates import CONFIDENCE
from stats.quantities import KEYS, Numbers

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "undecided", "not measured"
PARTLY = "holds where measured"  # on some of the benchmarks that the claim is about
SAME = "no difference"  # of a case, and of a claim of which every case makes none
# Of too few clean processes.
LIKELY, LIKELY_FAILS = f"likely {HOLDS}", f"likely {FAILS}"
LIKELY_PARTLY, LIKELY_SAME = f"likely {PARTLY}", f"likely {SAME}"
STOPPING = 0.998  # confidence of a first look that leaves a claim's cells alone


@dataclass
class Case:
    """A case of a claim while it is decided."""

    cell: Selection
    found: Comparison | None
    verdict: str = MISSING


def _case(numbers: Numbers, claim: Mapping, name: str, cell: Selection) -> Case:
    try:
        return Case(cell, of_case(numbers, claim, name, cell))
    except NoNumber:
        return Case(cell, None)


def bounds(claim: Mapping) -> tuple[float, float]:
    return claim.get("above", 0), claim.get("below", math.inf)


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
    cases = []
    for name, cell in itertools.product(claim.get("ratios") or [""], combinations(given)):
        tried = [_case(numbers, claim, name, cell | more) for more in combinations(free)]
        cases += [case for case in tried if case.found] or [_case(numbers, claim, name, cell)]
    return cases


def _judge(cases: list[Case], claim: Mapping, confidence: float) -> None:
    """The verdicts on cases that have a number: those that do not hold, or make no difference, by Holm's procedure (each found
    leaves fewer to correct for), the others by their own intervals."""
    above, below = bounds(claim)
    left = found = [case for case in cases if case.found]
    while left and found:
        # Those found are no less sure with what is corrected for the fewer that are left.
        tail = (1 - confidence) / len(left)
        for case in left:
            _, low, high = case.found.interval(1 - tail)
            if 1 in (above, below) and estimates.compared(low, high) == "same":
                case.verdict = SAME
            elif high <= above or low >= below:
                case.verdict = FAILS
        found = [case for case in left if case.verdict != MISSING]
        left = [case for case in left if case.verdict == MISSING]
    for case in left:
        _, low, high = case.found.interval(confidence)
        case.verdict = HOLDS if above < low and high < below else OPEN


def _in_part(claim: Mapping, cases: Collection[Case], shapes: Collection[str]) -> bool:
    """Whether there are numbers on some of several benchmarks that a claim is about, but not on all; `shapes` where the claim
    is about every one."""
    named = {*choices(claim["for"]).get("benchmark", [])}
    if "benchmark" in _open_keys(claim):
        named = {*shapes}
    there = {case.cell.get("benchmark") for case in cases if case.found}
    return 0 < len(named & there) < len(named)


def _noisy(case: Case) -> bool:
    """Whether a number of a case is of too few clean processes."""
    return case.found is not None and any(case.found.numbers[k].noisy for k in case.found.keys)


def _clean(verdict: str, cases: Collection[Case]) -> bool:
    """Whether a verdict rests on clean processes: every case has to have them for a claim to hold or to make no difference,
    and one that decides it for a claim not to hold."""
    if verdict == FAILS:
        return not all(_noisy(case) for case in cases if case.verdict in (FAILS, SAME))
    return not any(map(_noisy, cases))


def _shown(case: Case) -> dict:
    """What reports show of a case."""
    if not case.found:
        return {"verdict": case.verdict}
    value, low, high = case.found.interval()
    known = high < math.inf
    ends = {"low": low if known else None, "high": high if known else None}
    return {"verdict": case.verdict, "value": value, **ends}


def decide(claim: Mapping, numbers: Numbers, shapes: Collection[str] = ()) -> dict:
    """`shapes`: the benchmarks on which a claim about every one could be seen. {"verdict", "cases"}; a case: {"verdict"}, and where
    it has a number "value", "low" and "high": its 95 % interval, None with too few processes."""
    cases = _cases(claim, numbers)
    _judge(cases, claim, CONFIDENCE)
    verdict = _verdict([case.verdict for case in cases])
    if verdict == HOLDS and _in_part(claim, cases, shapes):
        verdict = PARTLY
    if verdict in (HOLDS, PARTLY, FAILS, SAME) and not _clean(verdict, cases):
        verdict = f"likely {verdict}"
    return {"verdict": verdict, "cases": [*map(_shown, cases)]}


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
