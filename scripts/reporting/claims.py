"""What the documents conclude (config/claims.yaml), decided on numbers: published ones and measured ones.

A claim is one or more cases, and a case a ratio that has to keep a bound:

- `ratios`: one cell's time over another's; where a side names several cells, the fastest of them;
- with `at` and `against`: such a ratio in one place over the same in another;
- `linear`: the largest time per unit of size over the smallest.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from plan import matrix
from reporting import estimates, published

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "inconclusive", "not measured"
KEYS = ("benchmark", "implementation", "phase", "device", "quantity")
RATES = {"words_per_s"}  # more is faster
LEAST_SIZES = 3  # fewer show no line
# Measured quantities: columns of cells.csv. Kernels are scheduled and built once, which gives no interval.
MEASURED = {
    "wall_s": "wall_median_s",
    "words_per_s": "words_per_s",
    "schedule_s": "kernel_schedule_s",
    "build_s": "kernel_build_s",
}


@dataclass(frozen=True)
class Number:
    """A number, the interval that it lies in (a published one: that of its rounding), its digits and where it
    stands. A measured time has what its processes took: `of` and `to`, as estimates.ratio takes them."""

    value: float
    low: float
    high: float
    text: str
    where: str = ""
    of: tuple[tuple[float, ...], ...] = ()
    to: tuple[tuple[float, ...], ...] = ()

    def __truediv__(self, size: float) -> "Number":
        value, low, high = (number / size for number in (self.value, self.low, self.high))
        of = tuple(tuple(time / size for time in times) for times in self.of)
        return Number(value, low, high, f"{value:.4g}", self.where, of)


Cell = Mapping[str, str]
Numbers = dict[tuple[str, ...], Number]  # by the values of KEYS


def ratio(one: Number, other: Number) -> Number:
    """One number over another: the one place where a claim's ratio gets its interval. Published numbers allow any
    within their rounding; measured times have the one that their processes speak for, and any number is in it
    where they are too few."""
    value = one.value / other.value
    of, to = one.of + other.to, one.to + other.of
    if not of:
        low, high = one.low / other.high, one.high / other.low
    elif math.isnan((found := estimates.ratio(of, to)).low):
        low, high = 0.0, math.inf
    else:
        low, high = found.low, found.high
    return Number(value, low, high, f"{value:#.3g}", of=of, to=to)


def of_document(numbers: pd.DataFrame) -> Numbers:
    """The numbers of one document, as published.numbers has them."""
    found = {}
    for row in numbers[numbers["quantity"] != "speedup"].itertuples():
        text = f"{row.value:.6g}" if "e" in row.printed else row.printed
        number = Number(row.value, row.low, row.high, text, f"line {row.line}")
        found[tuple(getattr(row, key) for key in KEYS)] = number
    return found


def of_cells(cells: pd.DataFrame) -> Numbers:
    """The measured numbers of one document, machine and generation of environments, which has one environment
    for each implementation; `cells` as in cells.csv."""
    found = {}
    for row in cells[cells["status"] == "ok"].to_dict("records"):
        for quantity, column in MEASURED.items():
            if pd.notna(value := row[column]):
                cell = tuple(quantity if key == "quantity" else row[key] for key in KEYS)
                times = (tuple(row["process_medians_s"]),)
                if quantity in RATES:
                    value *= row["wall_s"] / row["wall_median_s"]  # of the median batch
                    made = {"to": times}
                else:
                    made = {"of": times} if quantity == "wall_s" else {}
                found[cell] = Number(value, value, value, f"{value:.4g}", **made)
    return found


def number_of(path: str) -> str:
    """`config/published/001-stacked-lm.csv` -> `001`"""
    return Path(path).name.partition("-")[0]


def _combinations(choices: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _choices(cells: Mapping[str, str | list[str]]) -> dict[str, list[str]]:
    return {key: [names] if isinstance(names, str) else names for key, names in cells.items()}


def _extreme(found: Mapping[str, Number], choose: Callable) -> tuple[Number, str]:
    """The smallest or largest (`choose`: min or max) of some numbers, and as a text with its name. Its rounding is
    where the extreme lies, whichever of them it is; its processes are those of the one that it was found to be."""
    name = choose(found, key=lambda name: found[name].value)
    low = choose(number.low for number in found.values())
    high = choose(number.high for number in found.values())
    remark = ", ".join(filter(None, [name if len(found) > 1 else "", found[name].where]))
    text = found[name].text + (f" ({remark})" if remark else "")
    return replace(found[name], low=low, high=high), text


def _missing(cell: Cell) -> str:
    return " ".join(cell[key] for key in KEYS if key in cell and cell[key] != "wall_s")


class _NoNumber(Exception):
    """A cell without a number, in words."""


def _fastest(numbers: Numbers, cells: Mapping[str, str | list[str]]) -> tuple[Number, str]:
    """The fastest of some cells, and as a text. One without a number might be the fastest: _NoNumber."""
    found, choices = {}, _choices(cells)
    for cell in _combinations(choices):
        key = tuple(cell.get(key, "") for key in KEYS)
        if key not in numbers:
            raise _NoNumber(_missing(cell))
        found[" ".join(cell[key] for key in choices if len(choices[key]) > 1)] = numbers[key]
    return _extreme(found, max if cells["quantity"] in RATES else min)


def _ratio(numbers: Numbers, case: Cell, sides: Mapping) -> tuple[Number, str]:
    of, of_text = _fastest(numbers, {**case, **sides["of"]})
    to, to_text = _fastest(numbers, {**case, **sides["to"]})
    return ratio(of, to), f"{of_text} / {to_text}"


def _proportion(numbers: Numbers, case: Cell, linear: Mapping) -> tuple[Number, str]:
    """The largest time per unit over the smallest, of the sizes that have a number."""
    found = {}
    for benchmark, size in linear["in"].items():
        cell = {**case, "benchmark": benchmark}
        if number := numbers.get(tuple(cell.get(key, "") for key in KEYS)):
            found[benchmark] = number / size
    if len(found) < LEAST_SIZES:
        raise _NoNumber(f"{len(found)} sizes of {_missing(case)}, {LEAST_SIZES} are needed")
    slow, slow_text = _extreme(found, max)
    fast, fast_text = _extreme(found, min)
    counted = f"{len(found)} of {len(linear['in'])} sizes"
    return ratio(slow, fast), f"{counted}, per {linear['per']}: {slow_text} / {fast_text}"


def _value(numbers: Numbers, claim: Mapping, name: str, case: Cell) -> tuple[Number, str]:
    """The ratio that a case of a claim comes to, and how, as a text."""
    if "linear" in claim:
        return _proportion(numbers, case, claim["linear"])
    sides = claim["ratios"][name]
    if "at" not in claim:
        return _ratio(numbers, case, sides)
    at, at_text = _ratio(numbers, {**case, **claim["at"]}, sides)
    against, against_text = _ratio(numbers, {**case, **claim["against"]}, sides)
    return ratio(at, against), f"({at_text}) / ({against_text})"


def _verdict(number: Number, claim: Mapping) -> str:
    above, below = claim.get("above", 0), claim.get("below", math.inf)
    if above < number.low and number.high < below:
        return HOLDS
    return FAILS if number.high <= above or number.low >= below else OPEN


def _decided(numbers: Numbers, claim: Mapping, name: str, case: Cell) -> dict:
    """{"verdict", "figures", "ratio": its name, "cell": what the case is about}"""
    found = {"ratio": name, "cell": case}
    try:
        number, text = _value(numbers, claim, name, case)
    except _NoNumber as missing:
        return found | {"verdict": MISSING, "figures": f"no number: {missing}"}
    low, high = f"{number.low:#.3g}", f"{number.high:#.3g}"
    known = low != high and number.high < math.inf
    figures = f"{text} = {number.text}" + (f" [{low}, {high}]" if known else "")
    return found | {"verdict": _verdict(number, claim), "figures": figures}


def _open_keys(claim: Mapping) -> list[str]:
    """The keys that a claim names nowhere, of its cells."""
    sides = next(iter(claim["ratios"].values()))["of"] if "ratios" in claim else {"benchmark"}
    named = {*claim["for"], *sides, *claim.get("at", ()), "quantity"}
    return [key for key in KEYS if key not in named]


def _note(verdict: str, cases: list[dict], devices: set[str]) -> str:
    """Which cases decide a verdict, and on what device if the claim leaves that open."""
    deciding = [case["name"] for case in cases if case["verdict"] == verdict]
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


def decide(claim: Mapping, numbers: Numbers) -> dict:
    """{"verdict", "note": which cases decide it, "cases": [{"name", "verdict", "figures"}]}

    Every combination of the names in `for` is a case. A key that the claim leaves open takes every value for
    which there are numbers.
    """
    given = {"quantity": ["wall_s"]} | _choices(claim["for"])
    free = _open_keys(claim)
    found = {key: sorted({cell[KEYS.index(key)] for cell in numbers}) for key in free}
    ratios = claim.get("ratios") or [f"per {claim['linear']['per']}"]
    cases = []
    for name, case in itertools.product(ratios, _combinations(given)):
        tried = [_decided(numbers, claim, name, case | more) for more in _combinations(found)]
        known = [decided for decided in tried if decided["verdict"] != MISSING]
        cases += known or [_decided(numbers, claim, name, case)]
    devices = {case["cell"].get("device") for case in cases if "device" in free} - {None}
    # A case is called by what tells it from the others.
    telling = [key for key in given if len(given[key]) > 1]
    telling += [key for key in free if key != "device" or len(devices) > 1]
    for case in cases:
        cell, name = case.pop("cell"), case.pop("ratio")
        words = [name if len(ratios) > 1 else "", *(cell.get(key, "") for key in telling)]
        case["name"] = ", ".join(filter(None, words)) or name
    verdict = next(v for v in (FAILS, MISSING, OPEN, HOLDS) if v in {c["verdict"] for c in cases})
    note = _note(verdict, cases, devices)
    return {"verdict": verdict, "note": note, "cases": cases}


def decide_published(claim: Mapping, numbers: pd.DataFrame, contradictions: list[dict]) -> dict:
    """The same on the numbers of one document. Where a verdict would be another one if its contradictory times
    were what the other numbers of their rows make of them, a case has that as `corrected`, and so has the claim.
    """
    found = decide(claim, of_document(numbers))
    corrected = of_document(numbers)
    for entry in contradictions:
        if entry["quantity"] == "wall_s" and entry["document"] in set(numbers["document"]):
            value, place = entry["consistent"], f"line {entry['line']} corrected"
            number = Number(value, value, value, f"{value:.4f}", place)
            corrected[tuple(entry[key] for key in KEYS)] = number
    then = decide(claim, corrected)
    for case, other in zip(found["cases"], then["cases"], strict=True):
        if case["verdict"] != other["verdict"]:
            case["corrected"] = other
    if found["verdict"] != then["verdict"]:
        found["corrected"] = then["verdict"]
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
        paths = matrix.published_files(f"{name}*")
        paths.sort(key=lambda path: not path.endswith(f"-{name}.csv"))  # its own first
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
