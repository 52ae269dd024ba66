"""Which implementation runs which cell in which number format, and how fast; where it does not, why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from measurement.precision import BITS, FLOAT32
from plan.matrix import NOT_RUN
from reporting import words
from reporting.blocks import Block, Heading, Points, Table, Text
from reporting.layout import scientific, time, within
from reporting.sections import OK, Tables


@dataclass(frozen=True)
class Entry:
    """A time with its 95 % interval, or the number of the reason why there is none."""

    seconds: float | None = None
    ends: tuple[float, float] | None = None
    error: float | None = None
    status: str = OK
    reason: int = 0


@dataclass(frozen=True)
class Answer:
    formats: list[str]
    cells: dict[str, dict[str, dict[str, Entry]]]  # cell: implementation: format
    reasons: list[str]


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    benchmarks = about["document"]["benchmarks"]
    found: dict[str, dict[str, dict[str, Entry]]] = {}
    reasons: dict[str, int] = {}
    own = tables.cells[tables.cells["status"] != NOT_RUN]
    for row in own.to_dict("records"):
        shape = benchmarks[row["benchmark"]]
        if row["status"] == OK:
            ends = (row["wall_low_s"], row["wall_high_s"])
            known = row["interval"] == "confidence"
            entry = Entry(row["wall_median_s"], ends if known else None, row["output_error"])
        else:
            number = reasons.setdefault(row["reason"], len(reasons) + 1)
            entry = Entry(status=row["status"], reason=number)
        styles = found.setdefault(shape.get("cell", "lstm"), {})
        styles.setdefault(row["label"], {})[shape.get("data_type", FLOAT32)] = entry
    return Answer([*BITS], found, [*reasons]) if found else None


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "Time of a batch, with half of its 95 % interval, and the largest error of the output relative to its largest value. "
        "Numbers in brackets: why there is no time. Empty: not measured."
    )
    for cell, styles in answer.cells.items():
        yield Heading(words.cell(cell), 2)
        rows = [
            [label, *(_shown(own.get(kind)) for kind in answer.formats)]
            for label, own in styles.items()
        ]
        yield Table(["Implementation", *answer.formats], rows, numbers=True)
    if answer.reasons:
        yield Heading("Why not", 2)
        yield Points([f"[{n}] {reason.rstrip('.')}." for n, reason in enumerate(answer.reasons, 1)])


def _shown(entry: Entry | None) -> str:
    if entry is None:
        return ""
    if entry.seconds is None:
        return f"{'no' if entry.status == 'unsupported' else entry.status} [{entry.reason}]"
    text = time(entry.seconds)
    if entry.ends:
        text += f" {within(entry.seconds, *entry.ends)}"
    return f"{text}, error {scientific(entry.error)}"
