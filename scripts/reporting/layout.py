"""How numbers and tables look on every page: the one place that knows alignment, dashes, statuses and machines."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jinja2
import pandas as pd

from reporting import marks

DASH = "–"
UNDECIDED = f" {marks.UNDECIDED}"


def none(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA


def cell(text: object) -> str:
    """Text that a table's cell can hold."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def number(value: float | None, digits: int = 4) -> str:
    """A number with fixed decimals, as the documents print them; a dash where there is none."""
    return DASH if none(value) else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """Seconds, with decimals where they are few."""
    return DASH if none(value) else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def three_digits(value: float | None) -> str:
    if none(value):
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".removesuffix(".")


def time(value: float | None) -> str:
    """A time with three digits and its unit."""
    if none(value):
        return DASH
    unit, scale = ("s", 1) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
    return f"{three_digits(value * scale)} {unit}"


def percent(value: float | None) -> str:
    return DASH if none(value) else f"{100 * value:.0f} %"


def deviation(value: float | None) -> str:
    """A relative difference."""
    if none(value):
        return DASH
    return f"{100 * value:,.0f} %" if value >= 0.1 else f"{100 * value:.2g} %"


def off(value: float | None) -> str:
    """How much too large or too small a number is, that is `value` times what it should be: how many times, or in per cent of
    what it should be."""
    if none(value):
        return DASH
    times, way = (value, "large") if value >= 1 else (1 / value, "small")
    if times >= 1.5:
        return f"{times:.3g} times too {way}"
    return f"{100 * abs(value - 1):.2g} % too {way}"


def digits(value: float | None) -> str:
    """A number to compare with a printed one: whole where it is large."""
    if none(value):
        return DASH
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4f}"


def interval(low: float | None, high: float | None, decimals: int = 2) -> str:
    """An interval in brackets, marked where it is wide."""
    if none(low) or none(high):
        return ""
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]{marks.wide(low, high)}"


def within(value: float, low: float | None, high: float | None) -> str:
    """± half of a number's 95 % interval, relative to it; nothing where there is none."""
    if none(low) or none(high):
        return ""
    half = 50 * (high - low) / value
    printed = f"{half:.2g}" if half < 99.5 else f"{half:.0f}"
    return f"± {printed} %{marks.wide(low, high)}"


def at_most(numbers: Iterable[tuple[float, float | None, float | None]]) -> str:
    """± of the widest of some numbers' intervals, (value, low, high) each; nothing where one of them has none."""
    numbers = list(numbers)
    if any(none(low) for _, low, _ in numbers):
        return ""
    widest = max(numbers, key=lambda each: (each[2] - each[1]) / each[0])
    return within(*widest) + (" at most" if len(numbers) > 1 else "")


def ratio(
    value: float | None, low: float | None = None, high: float | None = None, decimals: int = 3
) -> str:
    """A ratio with its interval. One whose interval contains 1 is undecided, and one without interval is one look."""
    if none(value):
        return DASH
    found = f"{value:.{decimals}f}"
    if none(low):
        return found
    undecided = UNDECIDED if low <= 1 <= high and value != 1 else ""
    return f"{found} {interval(low, high, decimals)}{undecided}"


Format = Callable[..., str]
FORMATS: dict[str, tuple[Format, str]] = {
    "text": (lambda value: DASH if none(value) else cell(value), ":--"),
    "code": (lambda value: DASH if none(value) or value == "" else f"`{cell(value)}`", ":--"),
    "number": (number, "--:"),
    "two": (lambda value: number(value, 2), "--:"),
    "three": (lambda value: number(value, 3), "--:"),
    "ms": (lambda value: number(None if none(value) else value * 1e3, 3), "--:"),
    "us": (lambda value: number(None if none(value) else value * 1e6, 2), "--:"),
    "s": (seconds, "--:"),
    "time": (time, "--:"),
    "whole": (lambda value: DASH if none(value) else f"{value:,.0f}", "--:"),
    "percent": (percent, "--:"),
    "error": (lambda value: DASH if none(value) else f"{value:.1e}", "--:"),
    "mebibytes": (lambda value: DASH if none(value) else f"{value / 2**20:,.0f}", "--:"),
    "digits": (digits, "--:"),
    "deviation": (deviation, "--:"),
    "off": (off, ":--"),
    "factor": (lambda value: DASH if none(value) else f"{value:.2f}x", "--:"),
    # Of several keys:
    "ratio": (ratio, ":--"),
    "ratio2": (lambda value, low=None, high=None: ratio(value, low, high, 2), ":--"),
    "range": (lambda low, high: DASH if none(low) else f"{low:.4f} – {high:.4f}", "--:"),
    "range_ms": (
        lambda low, high: DASH if none(low) else f"{1e3 * low:.3f} – {1e3 * high:.3f}",
        "--:",
    ),
    "spread": (
        lambda mean, std: number(mean) + ("" if none(std) else f" ± {number(std)}"),
        "--:",
    ),
    "spread_ms": (
        lambda mean, std: (
            DASH
            if none(mean)
            else f"{1e3 * mean:.3f}" + ("" if none(std) else f" ({1e3 * std:.3f})")
        ),
        "--:",
    ),
    "within_ms": (
        lambda value, *ends: (
            DASH if none(value) else f"{1e3 * value:.3f} {within(value, *ends)}".strip()
        ),
        "--:",
    ),
    "sum": (lambda *parts: DASH if none(parts[0]) else " + ".join(map(seconds, parts)), "--:"),
    "of": (lambda count, each: DASH if none(count) else f"{count} x {each}", "--:"),
}
TEXTS = ("text", "code")
COUNTS = ("whole", "of")


def _first(heading: str, form: str, text: str) -> bool:
    """Whether a row's mark may stand here: beside a time or rate of its own."""
    own = form not in (*TEXTS, *COUNTS) and not heading.startswith("Published")
    return own and text not in ("", DASH)


def _printed(row: Mapping, key: str | Sequence[str], form: str) -> str:
    keys = [key] if isinstance(key, str) else key
    text = FORMATS[form][0](*(row.get(each) for each in keys))
    return _marked(text, row.get(f"{keys[0]}_mark") or "") if text not in ("", DASH) else text


def _marked(text: str, mark: str) -> str:
    """A printed number with its mark, before what is said of it; once."""
    number, said, rest = text.partition(UNDECIDED)
    return number.removesuffix(mark) + mark + said + rest


@jinja2.pass_context
def table(context: Mapping, rows: Sequence[Mapping], columns: Sequence[Sequence]) -> str:
    """A markdown table of rows (dicts). A column is [heading, key] or [heading, key or keys, format], see FORMATS.

    Where several machines are reported and rows have one, theirs is the first column. A row with a `status` other
    than ok says so in the first column of its own numbers, and has none in the others; a column that begins with
    "Published" keeps its number. A row's `mark` stands beside its first time or rate, `<key>_mark` beside that of the key. Columns in which no row has anything are left out, and so is the device where all are
    the CPU's.
    """
    columns = [[*column, "text"][:3] for column in columns]
    machines = context["machines"]
    if len(machines) > 1 and any("machine" in row for row in rows):
        called = [{**row, "_machine": machines.get(row.get("machine"), "")} for row in rows]
        rows, columns = called, [["Machine", "_machine", "text"], *columns]
    lines = []
    for row in rows:
        status, mark, printed = row.get("status", "ok"), row.get("mark") or "", []
        for heading, key, form in columns:
            text = _printed(row, key, form)
            if status != "ok" and form not in TEXTS and not heading.startswith("Published"):
                text, status = (f"*{status}*", "") if status else ("", status)
            elif mark and _first(heading, form, text):
                text, mark = _marked(text, mark), ""
            printed.append(text)
        lines.append(printed)
    used = [
        place
        for place, (_, _, form) in enumerate(columns)
        if (form in TEXTS and place < 2) or any(line[place] not in ("", DASH) for line in lines)
        if columns[place][0] != "Device" or any(line[place] not in ("cpu", "CPU") for line in lines)
    ]
    columns = [columns[place] for place in used]
    head = [[heading for heading, _, _ in columns], [FORMATS[form][1] for _, _, form in columns]]
    body = [[line[place] for place in used] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*head, *body]) + "\n"


def folded(text: str, summary: str) -> str:
    """A part of a page that a reader opens."""
    return f"<details><summary>{summary}</summary>\n\n{text.strip()}\n\n</details>\n"


FILTERS: dict[str, Callable] = {
    "table": table,
    "folded": folded,
    "cell": cell,
    "number": number,
    "seconds": seconds,
    "time": time,
    "percent": percent,
    "deviation": deviation,
    "off": off,
    "digits": digits,
    "interval": interval,
    "whole": FORMATS["whole"][0],
    "error": FORMATS["error"][0],
}
