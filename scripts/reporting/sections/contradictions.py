"""Published numbers that cannot be right if others are, by consequence."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import consistency, published
from reporting.blocks import Block, Table, Text
from reporting.layout import digits, off, three_digits
from reporting.sections import Tables
from stats import verdicts

QUANTITIES = {
    "wall_s": "wall time (s)",
    "elapsed_s": "elapsed time (s)",
    "sequences_per_s": "sequences per second",
    "words_per_s": "words per second",
    "parameters": "parameters",
    "speedup": "speed-up",
    "median_s": "median (s)",
    "std_s": "standard deviation (s)",
}


@dataclass(frozen=True)
class Number:
    cited: str  # its document
    line: int
    row: str
    what: str
    printed: str
    consistent: float
    factor: float
    because: str
    changes: list[str]  # verdicts, in words


@dataclass(frozen=True)
class Slower:
    """A smaller problem that was printed to take longer than a larger one."""

    cited: str
    line: int
    row: str
    printed: str
    times: float
    than: str


@dataclass(frozen=True)
class Answer:
    name: str
    numbers: dict[str, list[Number]]  # by consequence: verdict, either, number, rounding
    slower: list[Slower]


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    paths = consistency.files_of(about["name"])
    found = verdicts.consequences(about["claims"], consistency.contradictions(paths))
    slower = consistency.inversions(published.numbers(paths), about["document"]["benchmarks"])
    if not found and not slower:
        return None
    statements = {claim["name"]: claim["statement"] for claim in about["claims"]}
    numbers: dict[str, list[Number]] = {"verdict": [], "either": [], "number": [], "rounding": []}
    for entry in found:
        explained = f"; {entry['explained']}" if entry["explained"] else ""
        numbers[entry["consequence"]].append(
            Number(
                entry["document"],
                entry["line"],
                _row(entry, about["names"]),
                QUANTITIES[entry["quantity"]],
                entry["printed"],
                entry["consistent"],
                entry["factor"],
                entry["because"] + explained,
                [
                    f"{statements[each['claim']].rstrip('.')}: *{each['verdict']}*, if corrected *{each['corrected']}*"
                    for each in entry["changes"]
                ],
            )
        )
    smaller = [
        Slower(
            entry["document"],
            entry["line"],
            _row(entry, about["names"]),
            entry["printed"],
            entry["times"],
            "{benchmark} (line {line})".format(**entry["than"]),
        )
        for entry in slower
    ]
    return Answer(about["name"], numbers, smaller)


def _row(entry: Mapping, names: Mapping) -> str:
    row = [names.get(entry["implementation"], entry["implementation"]), entry["phase"]]
    return ", ".join(filter(None, [entry["benchmark"], *row, entry["device"].upper()]))


GROUPS = {
    "verdict": "These numbers change what the document may conclude:",
    "either": "These contradict another number, and nothing shows which of the two is wrong:",
    "number": "These are wrong by more than rounding; no verdict changes:",
}


def write(answer: Answer) -> Iterator[Block]:
    for key, text in GROUPS.items():
        rows = [
            [
                each.cited,
                str(each.line),
                each.row,
                each.what,
                each.printed,
                digits(each.consistent),
                off(each.factor),
                each.because,
                "; ".join(each.changes),
            ]
            for each in answer.numbers[key]
        ]
        if rows:
            yield Text(text)
            heads = ["Document", "Line", "Result", "Number", "Printed", "Expected", "Difference"]
            yield Table([*heads, "From", "Verdict"], rows)
    if rounded := answer.numbers["rounding"]:
        largest = max(rounded, key=lambda each: abs(math.log(each.factor)))
        yield Text(
            f"{len(rounded)} more differ in the last digits, at most {off(largest.factor)} (document {largest.cited}, line "
            f"{largest.line}): lines {', '.join(dict.fromkeys(str(each.line) for each in rounded))}."
        )
    if answer.slower:
        worst = max(answer.slower, key=lambda each: each.times)
        count = len(answer.slower)
        yield Text(
            f"In {count} place{'s' * (count > 1)} a smaller problem takes longer than a larger one, which is no contradiction but a reason "
            f"for doubt: at most {three_digits(worst.times)} times as long (document {worst.cited}, line {worst.line}: {worst.row}, than "
            f"{worst.than}); lines {', '.join(str(each.line) for each in answer.slower)}."
        )
