"""What the documents conclude (config/claims.yaml), decided on numbers: published ones and measured ones.

A claim is one or more cases, and a case a number that has to keep a bound:

- `ratios`: one cell's time over another's; where a side names several cells, the fastest of them;
- with `at` and `against`: such a ratio in one place over the same in another;
- `linear`: time per unit of size at the largest size over that at the smallest, along the line that is fitted to the
  logarithms of all sizes.

How often a verdict on measured numbers may be wrong, if every case lies on its bound: 5 %, however many cases there are.
A claim holds if every case does, so each may be held against its own 95 % interval: all would have to err at once. It does
not hold if one case does not, and of eight one errs in 18 % of claims: cases fail by Holm's procedure, the first of them
by an interval of 1 - 0.05 / 8. Where the bound is 1, a case that lies within 2 % of it (estimates.EQUIVALENCE) makes no
difference: the claim does not hold there, and says so.

Cells of undecided claims get further processes, and so their numbers are looked at twice. What is left alone after the
first look is only what is decided with STOPPING, which keeps the 5 %: decided wrongly, of 4,000 simulated claims with all
cases on the bound, noise as in estimates, three processes and up to ten (tests/unit/simulated.py):

SIMULATED_TABLE
"""

import functools
import itertools
import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from plan import matrix
from reporting import estimates, published
from reporting.estimates import CONFIDENCE

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "inconclusive", "not measured"
SAME = "no difference"  # of a case, and of a claim of which every case makes none
KEYS = ("benchmark", "implementation", "phase", "device", "quantity")
RATES = {"words_per_s"}  # more is faster
LEAST_SIZES = 3  # fewer show no line
STOPPING = 0.998  # confidence of a first look that leaves a claim's cells alone
# Measured once, by one process, which on virtual machines takes up to twice as long with no cause to see.
ONCE = 2.0
# Measured quantities: columns of cells.csv. Kernels are scheduled and built once.
MEASURED = {
    "wall_s": "wall_median_s",
    "words_per_s": "words_per_s",
    "schedule_s": "kernel_schedule_s",
    "build_s": "kernel_build_s",
}


@dataclass(frozen=True)
class Number:
    """A number, the interval that it lies in (a published one: that of its rounding), its digits and where it
    stands; `mark`: what is known of how a published one came to be; `processes`: what a measured one's processes made
    of it, which speak for it instead of the interval."""

    value: float
    low: float
    high: float
    text: str
    where: str = ""
    mark: str = ""
    processes: tuple[float, ...] = ()


Cell = Mapping[str, str]
Key = tuple[str, ...]  # the values of KEYS
Numbers = dict[Key, Number]
Alternatives = Sequence[Sequence[Key]]  # of numbers that are multiplied


def of_document(numbers: pd.DataFrame) -> Numbers:
    """The numbers of one document, as published.numbers has them."""
    found = {}
    for row in numbers[numbers["quantity"] != "speedup"].itertuples():
        text = f"{row.value:.6g}" if "e" in row.printed else row.printed
        number = Number(row.value, row.low, row.high, text, f"line {row.line}", row.mark)
        found[tuple(getattr(row, key) for key in KEYS)] = number
    return found


def of_times(times: Sequence[float], words: float | None = None) -> Number:
    """What a cell's processes took in seconds, as the median of them; of `words` a batch, as words per second."""
    made = tuple(words / time for time in times) if words else tuple(times)
    value = statistics.median(times)
    value = words / value if words else value
    return Number(value, value, value, f"{value:.4g}", processes=made)


def of_cells(cells: pd.DataFrame) -> Numbers:
    """The measured numbers of one document, machine and generation of environments, which has one environment
    for each implementation; `cells` as in cells.csv."""
    found = {}
    for row in cells[cells["status"] == "ok"].to_dict("records"):
        for quantity, column in MEASURED.items():
            if pd.notna(value := row[column]):
                cell = tuple(quantity if key == "quantity" else row[key] for key in KEYS)
                if quantity in RATES:
                    words = value * row["wall_s"]
                    found[cell] = of_times(row["process_medians_s"], words)
                elif quantity == "wall_s":
                    found[cell] = of_times(row["process_medians_s"])
                else:
                    found[cell] = Number(value, value / ONCE, value * ONCE, f"{value:.4g}")
    return found


def number_of(path: str) -> str:
    """`config/published/001-stacked-lm.csv` -> `001`"""
    return Path(path).name.partition("-")[0]


def _combinations(choices: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _choices(cells: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    return {key: [names] if isinstance(names, str) else names for key, names in cells.items()}


class _NoNumber(Exception):
    """A cell without a number, in words."""


@dataclass(frozen=True)
class Comparison:
    """A number that a claim is about, made of others: of several alternatives on a side the fastest, or all with their
    powers. `text` says how, `remark` and `about` what else there is to say."""

    numbers: Numbers
    text: str
    of: Alternatives = ()
    to: Alternatives = ()
    powers: Mapping[Key, float] = field(default_factory=dict)
    scale: float = 1.0
    remark: str = ""
    about: Mapping[str, object] = field(default_factory=dict)

    @functools.cached_property
    def keys(self) -> list[Key]:
        alternatives = itertools.chain(self.of, self.to, [tuple(self.powers)])
        return list(dict.fromkeys(itertools.chain.from_iterable(alternatives)))

    @functools.cached_property
    def statistical(self) -> bool:
        """Whether processes speak for it, and not the rounding of what is printed."""
        return all(self.numbers[key].processes for key in self.keys)

    def _processes(self, alternatives: Alternatives, inverse: bool) -> list[list[list[float]]]:
        power = -1 if inverse else 1
        return [
            [[number**power for number in self.numbers[key].processes] for key in one]
            for one in alternatives
        ]

    def interval(
        self, confidence: float = CONFIDENCE, processes: int = 0
    ) -> tuple[float, float, float]:
        """(value, low, high). A published number lies anywhere within its rounding. Of measured ones, see estimates;
        where processes are too few, any number is in it. `processes` in each cell: what to expect of so many."""
        if not self.statistical:
            return self._rounded()
        if self.powers:
            cells = [self.numbers[key].processes for key in self.powers]
            found = estimates.product(cells, list(self.powers.values()), confidence, processes)
        else:
            # The fastest has the largest rate, which is the smallest of inverse rates.
            rates = any(key[-1] in RATES for key in self.keys)
            sides = (self.to, self.of) if rates else (self.of, self.to)
            of, to = (self._processes(side, rates) for side in sides)
            found = estimates.ratio_of_fastest(of, to, confidence, processes)
        value, low, high = (number * self.scale for number in found)
        return (value, 0.0, math.inf) if math.isnan(low) else (value, low, high)

    def _rounded(self) -> tuple[float, float, float]:
        ends = []
        for name, other in (("value", "value"), ("low", "high"), ("high", "low")):
            if self.powers:
                powers = self.powers.items()
                terms = [getattr(self.numbers[k], name if p > 0 else other) ** p for k, p in powers]
                ends.append(math.prod(terms) * self.scale)
            else:
                over = self._fastest(self.of, name)
                ends.append(self.scale * over / self._fastest(self.to, other))
        value, low, high = ends
        return value, low, high

    def _fastest(self, alternatives: Alternatives, end: str) -> float:
        choose = max if any(key[-1] in RATES for key in self.keys) else min
        return choose(math.prod(getattr(self.numbers[k], end) for k in one) for one in alternatives)


def _missing(cell: Cell) -> str:
    return " ".join(cell[key] for key in KEYS if key in cell and cell[key] != "wall_s")


def _key(cell: Cell) -> Key:
    return tuple(cell.get(key, "") for key in KEYS)


def _side(numbers: Numbers, cells: Mapping[str, str | list[str]]) -> tuple[list[Key], str]:
    """The cells that a side of a ratio names, and the fastest as a text. One without a number might be the fastest:
    _NoNumber."""
    named, choices = {}, _choices(cells)
    for cell in _combinations(choices):
        if _key(cell) not in numbers:
            raise _NoNumber(_missing(cell))
        named[_key(cell)] = " ".join(cell[key] for key in choices if len(choices[key]) > 1)
    choose = max if cells["quantity"] in RATES else min
    fastest = choose(named, key=lambda key: numbers[key].value)
    remark = ", ".join(filter(None, [named[fastest], numbers[fastest].where]))
    return list(named), numbers[fastest].text + (f" ({remark})" if remark else "")


def _ratio(numbers: Numbers, case: Cell, sides: Mapping) -> Comparison:
    of, of_text = _side(numbers, {**case, **sides["of"]})
    to, to_text = _side(numbers, {**case, **sides["to"]})
    singles = [[(key,) for key in side] for side in (of, to)]
    return Comparison(numbers, f"{of_text} / {to_text}", *singles)


def _ratio_of_ratios(numbers: Numbers, at: Comparison, against: Comparison) -> Comparison:
    """min a / min b over min c / min d is min (a d) over min (b c), each of all pairs."""
    over, under = ((at.of, against.to), (at.to, against.of))
    sides = [[(*one, *other) for one, other in itertools.product(*side)] for side in (over, under)]
    return Comparison(numbers, f"({at.text}) / ({against.text})", *sides)


def _line(numbers: Numbers, case: Cell, linear: Mapping) -> Comparison:
    """Time per unit at the largest size over that at the smallest, along the line of least squares through the
    logarithms of times and sizes: all sizes speak, and none was chosen for being the slowest or the fastest."""
    sizes = {}
    for benchmark, size in linear["in"].items():
        if (key := _key({**case, "benchmark": benchmark})) in numbers:
            sizes[key] = size
    if len(sizes) < LEAST_SIZES:
        raise _NoNumber(f"{len(sizes)} sizes of {_missing(case)}, {LEAST_SIZES} are needed")
    logarithms = np.log(list(sizes.values()))
    reach = float(np.ptp(logarithms))
    centred = logarithms - logarithms.mean()
    weights = centred / np.sum(centred**2)  # of the slope
    powers = dict(zip(sizes, (float(reach * weight) for weight in weights), strict=True))
    units = {key: numbers[key].value / size for key, size in sizes.items()}
    exponent = float(weights @ np.log([numbers[key].value for key in sizes]))
    middle = math.exp(float(np.mean(np.log(list(units.values())))))
    line = middle * np.exp((exponent - 1) * centred)
    off = np.array(list(units.values())) / line
    farthest = int(np.abs(np.log(off)).argmax())
    where = list(sizes)[farthest][0]
    text = (
        f"{len(sizes)} of {len(linear['in'])} sizes, fitted: per {linear['per']} at {max(sizes.values())} over that at "
        f"{min(sizes.values())}"
    )
    return Comparison(
        numbers,
        text,
        powers=powers,
        scale=math.exp(-reach),
        remark=f"; exponent {exponent:.3f}; farthest from the line {where}, {off[farthest]:.2f} times",
        about={"exponent": exponent, "farthest": float(off[farthest]), "where": where},
    )


def _comparison(numbers: Numbers, claim: Mapping, name: str, case: Cell) -> Comparison:
    """What a case of a claim comes to."""
    if "linear" in claim:
        return _line(numbers, case, claim["linear"])
    sides = claim["ratios"][name]
    if "at" not in claim:
        return _ratio(numbers, case, sides)
    at = _ratio(numbers, {**case, **claim["at"]}, sides)
    return _ratio_of_ratios(numbers, at, _ratio(numbers, {**case, **claim["against"]}, sides))


@dataclass
class Case:
    """A case of a claim while it is decided."""

    ratio: str
    cell: Cell
    found: Comparison | None
    missing: str = ""
    verdict: str = MISSING


def _case(numbers: Numbers, claim: Mapping, name: str, cell: Cell) -> Case:
    try:
        return Case(name, cell, _comparison(numbers, claim, name, cell))
    except _NoNumber as missing:
        return Case(name, cell, None, f"no number: {missing}")


def _bounds(claim: Mapping) -> tuple[float, float]:
    return claim.get("above", 0), claim.get("below", math.inf)


def _within(low: float, high: float, claim: Mapping) -> bool:
    above, below = _bounds(claim)
    return above < low and high < below


def _beyond(low: float, high: float, claim: Mapping) -> bool:
    above, below = _bounds(claim)
    return high <= above or low >= below


def _equal(low: float, high: float, claim: Mapping) -> bool:
    return 1 in _bounds(claim) and estimates.compared(low, high) == "same"


def _verdicts(
    intervals: Sequence[Callable[[float], tuple[float, float]]], claim: Mapping, confidence: float
) -> list[str]:
    """Of cases, each by its interval at some confidence: those that do not hold, or make no difference, by Holm's
    procedure (each found leaves fewer to correct for), the others by their own."""
    found: dict[int, str] = {}
    while left := [number for number in range(len(intervals)) if number not in found]:
        # Those found are no less sure with what is corrected for the fewer that are left.
        tail = (1 - confidence) / len(left)
        more = {}
        for number in left:
            ends = intervals[number](1 - tail)
            if _equal(*ends, claim):
                more[number] = SAME
            elif _beyond(*ends, claim):
                more[number] = FAILS
        found |= more
        if not more:
            break
    for number in range(len(intervals)):
        if number not in found:
            holds = _within(*intervals[number](confidence), claim)
            found[number] = HOLDS if holds else OPEN
    return [found[number] for number in range(len(intervals))]


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
    numbers."""
    given = {"quantity": ["wall_s"]} | _choices(claim["for"])
    free = {key: sorted({cell[KEYS.index(key)] for cell in numbers}) for key in _open_keys(claim)}
    ratios = claim.get("ratios") or [f"per {claim['linear']['per']}"]
    cases = []
    for name, cell in itertools.product(ratios, _combinations(given)):
        tried = [_case(numbers, claim, name, cell | more) for more in _combinations(free)]
        cases += [case for case in tried if case.found] or [_case(numbers, claim, name, cell)]
    return cases


def _judge(cases: list[Case], claim: Mapping, confidence: float) -> None:
    """The verdicts on cases that have a number."""
    known = [case for case in cases if case.found]
    intervals = [
        lambda confidence, found=case.found: found.interval(confidence)[1:] for case in known
    ]
    for case, verdict in zip(known, _verdicts(intervals, claim, confidence), strict=True):
        case.verdict = verdict


def _needs(case: Case, claim: Mapping, cases: int) -> dict:
    """{"cells": keys without the quantity, "processes": how many of each decide the case if further ones are as noisy
    as those that there are, None: more than anybody would run; "further": how many that is more than the smallest has}"""
    found = case.found
    times = [found.numbers[key].processes for key in found.keys]

    def decided(processes: int) -> bool:
        corrected = found.interval(1 - (1 - CONFIDENCE) / cases, processes)[1:]
        own = found.interval(CONFIDENCE, processes)[1:]
        beyond = _beyond(*corrected, claim) or _equal(*corrected, claim)
        return beyond or _within(*own, claim)

    more = estimates.further(times, decided)
    cells = [dict(zip(KEYS[:-1], key, strict=False)) for key in found.keys]
    processes = None if more is None else min(map(len, times)) + more
    return {"cells": cells, "processes": processes, "further": more}


def _shown(case: Case, claim: Mapping, cases: int) -> dict:
    """What reports show of a case that has a number."""
    value, low, high = case.found.interval()
    corrected = case.found.interval(1 - (1 - CONFIDENCE) / cases)[1:]
    figures = f"{case.found.text} = {value:#.3g}"
    ends = f"{low:#.3g}", f"{high:#.3g}"
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
        "corrected_low": corrected[0] if known else None,
        "corrected_high": corrected[1] if known else None,
        "marks": list(marks),
    }
    if case.verdict == OPEN and case.found.statistical:
        shown["needs"] = _needs(case, claim, cases)
        if known and _beyond(low, high, claim):
            shown["figures"] += f", beyond the bound but for the {cases} cases of the claim"
    return shown


def _note(verdict: str, cases: list[dict], devices: set[str]) -> str:
    """Which cases decide a verdict, and on what device if the claim leaves that open."""
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
    return "; ".join(filter(None, [note, *(device.upper() for device in sorted(devices))]))


def _named(cases: list[Case], claim: Mapping) -> list[str]:
    """A case is called by what tells it from the others."""
    given = _choices(claim["for"])
    free = _open_keys(claim)
    ratios = {case.ratio for case in cases}
    devices = {case.cell.get("device") for case in cases if "device" in free} - {None}
    telling = [key for key in given if len(given[key]) > 1]
    telling += [key for key in free if key != "device" or len(devices) > 1]
    found = []
    for case in cases:
        words = [
            case.ratio if len(ratios) > 1 else "",
            *(case.cell.get(key, "") for key in telling),
        ]
        found.append(", ".join(filter(None, words)) or case.ratio)
    return found


def decide(claim: Mapping, numbers: Numbers) -> dict:
    """{"verdict", "note": which cases decide it, "marks": of all cases, "cases"}

    A case: {"name", "verdict", "figures": how it comes about, in words}, and where it has a number {"value", "low" and
    "high": its 95 % interval, "corrected_low" and "corrected_high": the one that allows for the number of cases, None
    with too few processes; "about": of a line {"exponent", "farthest", "where"}; "marks": what is known of published
    numbers in it}, and where processes do not decide it {"needs": how many would, as `_needs` says}.
    """
    cases = _cases(claim, numbers)
    _judge(cases, claim, CONFIDENCE)
    tested = sum(case.found is not None for case in cases)
    found = []
    for case, name in zip(cases, _named(cases, claim), strict=True):
        shown = _shown(case, claim, tested) if case.found else {"figures": case.missing}
        found.append({"name": name, "verdict": case.verdict, **shown})
    verdict = _verdict([case.verdict for case in cases])
    free = _open_keys(claim)
    devices = {case.cell.get("device") for case in cases if "device" in free} - {None}
    marks = dict.fromkeys(mark for case in found for mark in case.get("marks", ()))
    note = _note(verdict, found, devices)
    return {"verdict": verdict, "note": note, "marks": list(marks), "cases": found}


def further_processes(
    claims: Iterable[Mapping], numbers: Numbers, most: int
) -> dict[tuple[str, ...], int]:
    """{(benchmark, implementation, phase, device): processes}: how many the cells of undecided claims are to have, on
    both sides of each case that is open. Claims that lack a number are not waited for.

    Undecided is what STOPPING does not decide, and it gets `most`, however few might do: a second look at the same claims
    after a number that follows from how the first came out would be wrong in 6 to 7 % on a bound, and in 10 % if what
    CONFIDENCE decides were left alone.
    """
    found: dict[tuple[str, ...], int] = {}
    for claim in claims:
        cases = _cases(claim, numbers)
        _judge(cases, claim, STOPPING)
        if _verdict([case.verdict for case in cases]) == OPEN:
            for case in cases:
                if case.verdict == OPEN and case.found.statistical:
                    found |= {key[:-1]: most for key in case.found.keys}
    return found


def _corrected(numbers: Numbers, document: str, contradictions: Iterable[dict]) -> Numbers:
    """A document's numbers, of which contradictory times are what the other numbers of their rows make of them."""
    found = dict(numbers)
    for entry in contradictions:
        if entry["quantity"] == "wall_s" and entry["document"] == document:
            key, value = tuple(entry[key] for key in KEYS), entry["consistent"]
            place = f"line {entry['line']} corrected"
            mark = numbers[key].mark if key in numbers else ""
            found[key] = Number(value, value, value, f"{value:.4f}", place, mark)
    return found


def _renamed(numbers: Numbers, claim: Mapping) -> Numbers:
    """A document's numbers, also by the names that a claim's benchmarks have here (`published_as`)."""
    place, found = KEYS.index("benchmark"), dict(numbers)
    for here, there in claim.get("published_as", {}).items():
        for key, number in numbers.items():
            if key[place] == there:
                found[*key[:place], here, *key[place + 1 :]] = number
    return found


NOT_SAID = {"verdict": MISSING, "note": "the document does not say so", "marks": [], "cases": []}


def decide_published(claim: Mapping, numbers: pd.DataFrame, contradictions: list[dict]) -> dict:
    """The same on the numbers of one document. Where a verdict would be another one if its contradictory times
    were what the other numbers of their rows make of them, a case has that as `corrected`, and so has the claim.
    """
    if claim.get("ours"):
        return NOT_SAID
    own = of_document(numbers)
    found = decide(claim, _renamed(own, claim))
    document = next(iter(numbers["document"]), "")
    then = decide(claim, _renamed(_corrected(own, document, contradictions), claim))
    for case, other in zip(found["cases"], then["cases"], strict=True):
        if case["verdict"] != other["verdict"]:
            case["corrected"] = other
    if found["verdict"] != then["verdict"]:
        found["corrected"] = then["verdict"]
    return found


def _paths(document: str) -> list[str]:
    """The files of numbers that were published for a document, its own first."""
    paths = matrix.published_files(f"{document}*")
    return sorted(paths, key=lambda path: not path.endswith(f"-{document}.csv"))


def consequences(claims: Iterable[Mapping], contradictions: list[dict]) -> list[dict]:
    """Published numbers that contradict themselves, each with what follows: `changes`, [{"claim", "verdict",
    "corrected"}] of the verdicts on the document that would be other ones if this number alone were corrected, and
    `consequence`: `verdict` if there are such, `number` if it is plainly wrong, else `rounding`."""
    claims = [claim for claim in claims if not claim.get("ours")]
    changes: dict[int, list[dict]] = {id(entry): [] for entry in contradictions}
    for name in {claim["document"] for claim in claims}:
        for path in _paths(name):
            numbers = of_document(published.numbers([path]))
            own = [entry for entry in contradictions if entry["document"] == number_of(path)]
            for entry, claim in itertools.product(own, claims):
                if claim["document"] == name and entry["quantity"] == "wall_s":
                    corrected = _corrected(numbers, entry["document"], [entry])
                    before, after = (
                        decide(claim, _renamed(each, claim))["verdict"]
                        for each in (numbers, corrected)
                    )
                    if before != after:
                        change = {"claim": claim["name"], "verdict": before, "corrected": after}
                        changes[id(entry)].append(change)
    found = []
    for entry in contradictions:
        levels = ("verdict" if changes[id(entry)] else "", "number" if entry["plain"] else "")
        consequence = next(filter(None, levels), "rounding")
        found.append(entry | {"changes": changes[id(entry)], "consequence": consequence})
    return found


def by_document(
    claims: Iterable[dict], cells: pd.DataFrame, contradictions: list[dict]
) -> list[dict]:
    """What reports show of all claims: [{"document", "number": its number, "sources": names, "claims"}].

    A claim gains `verdicts`, {source: what decide() finds}, and `cases`, the names of all its cases. A source is
    the number of a published document, or a generation of environments and a machine, of the past only with numbers,
    of other machines than the first, this run's, only with rows; `cells` as in cells.csv.
    """
    generations, measured = cells["environment"].map(matrix.generation), {}
    for (when, machine, name), rows in cells.groupby([generations, "machine", "document"]):
        if machine:
            measured.setdefault((when, machine), {})[name] = of_cells(rows)
    first = next(iter(cells["machine"]), "")
    printed = {path: published.numbers([path]) for path in matrix.published_files("*")}
    found = {}
    for claim in claims:
        name = claim["document"]
        paths = _paths(name)
        verdicts = {
            number_of(path): decide_published(claim, printed[path], contradictions)
            for path in paths
        }
        for (when, machine), documents in measured.items():
            own = documents.get(name, {})
            if own or (when == "now" and (machine == first or name in documents)):
                verdicts[f"{when}, {machine}"] = decide(claim, own)
        names = (case["name"] for verdict in verdicts.values() for case in verdict["cases"])
        group = found.setdefault(name, {"document": name, "claims": []})
        group["number"] = number_of(paths[0]) if paths else ""
        group["sources"] = list(verdicts)
        group["claims"].append(claim | {"verdicts": verdicts, "cases": list(dict.fromkeys(names))})
    return list(found.values())
