"""Published numbers that cannot be right if others are, by consequence."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plan import matrix
from reporting import consistency
from reporting.blocks import Block, Table, Text
from reporting.layout import digits, off
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
class Answer:
    numbers: dict[str, list[Number]]  # by consequence: verdict, either, number, rounding


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    paths = matrix.published_files(f"{about['name']}*")  # also of its earlier states
    found = verdicts.consequences(about["claims"], consistency.contradictions(paths))
    if not found:
        return None
    statements = {claim["name"]: claim["statement"] for claim in about["claims"]}
    numbers: dict[str, list[Number]] = {"verdict": [], "either": [], "number": [], "rounding": []}
    for entry in found:
        numbers[entry["consequence"]].append(
            Number(
                entry["document"],
                entry["line"],
                _row(entry, about["names"]),
                QUANTITIES[entry["quantity"]],
                entry["printed"],
                entry["consistent"],
                entry["factor"],
                entry["because"],
                [
                    f"{statements[each['claim']].rstrip('.')}: *{each['verdict']}*, if corrected *{each['corrected']}*"
                    for each in entry["changes"]
                ],
            )
        )
    return Answer(numbers)


def _row(entry: Mapping, names: Mapping) -> str:
    row = [names.get(entry["implementation"], entry["implementation"]), entry["phase"]]
    return ", ".join(filter(None, [entry["benchmark"], *row, entry["device"].upper()]))


GROUPS = {
    "verdict": "These numbers change what the document may conclude:",
    "either": "These contradict another number, and nothing shows which of the two is wrong:",
    "number": "These are wrong by more than rounding; no verdict changes:",
}


def write(answer: Answer) -> Iterator[Block]:
    columns = {"Document": "cited", "Line": "line", "Result": "row", "Number": "what"}
    columns |= {"Printed": "printed", "Expected": lambda each: digits(each.consistent)}
    columns |= {"Difference": lambda each: off(each.factor), "From": "because"}
    columns |= {"Verdict": lambda each: "; ".join(each.changes)}
    for key, text in GROUPS.items():
        if answer.numbers[key]:
            yield Text(text)
            yield Table.of(answer.numbers[key], columns)
    if rounded := answer.numbers["rounding"]:
        largest = max(rounded, key=lambda each: abs(math.log(each.factor)))
        yield Text(
            f"{len(rounded)} more differ in the last digits, at most {off(largest.factor)} (document {largest.cited}, line "
            f"{largest.line}): lines {', '.join(dict.fromkeys(str(each.line) for each in rounded))}."
        )
