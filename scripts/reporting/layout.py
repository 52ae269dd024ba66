"""How numbers and tables look on every page: the one place that knows alignment, dashes, statuses and machines."""

import math
from collections.abc import Callable, Mapping, Sequence
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
    """An interval in brackets."""
    if none(low) or none(high):
        return ""
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def within(value: float, low: float | None, high: float | None) -> str:
    """± half of a number's 95 % interval, relative to it; nothing where there is none."""
    if none(low) or none(high):
        return ""
    half = 50 * (high - low) / value
    printed = f"{half:.2g}" if half < 99.5 else f"{half:.0f}"
    return f"± {printed} %"


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


def brief(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A ratio with two decimals, and its interval where there is one."""
    if none(value):
        return DASH
    decimals = 2 if value < 10 else 1
    ends = "" if none(low) or none(high) else f" [{low:.{decimals}f}, {high:.{decimals}f}]"
    return f"{value:.{decimals}f}{ends}"


def time_within(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A time with its unit, and half of its interval in per cent."""
    if none(value) or none(low) or none(high):
        return time(value)
    return f"{time(value)} ± {100 * (math.sqrt(high / low) - 1):.2g} %"


Format = Callable[..., str]
FORMATS: dict[str, tuple[Format, str]] = {
    "text": (lambda value: DASH if none(value) else cell(value), ":--"),
    "code": (lambda value: DASH if none(value) or value == "" else f"`{cell(value)}`", ":--"),
    "number": (number, "--:"),
    "s": (seconds, "--:"),
    "time": (time, "--:"),
    "whole": (lambda value: DASH if none(value) else f"{value:,.0f}", "--:"),
    "error": (lambda value: DASH if none(value) else f"{value:.1e}", "--:"),
    "mebibytes": (lambda value: DASH if none(value) else f"{value / 2**20:,.0f}", "--:"),
    "digits": (digits, "--:"),
    "deviation": (deviation, "--:"),
    # Of several keys:
    "ratio": (ratio, ":--"),
    "ratio2": (lambda value, low=None, high=None: ratio(value, low, high, 2), ":--"),
    "spread": (
        lambda mean, std: number(mean) + ("" if none(std) else f" ± {number(std)}"),
        "--:",
    ),
    "of": (lambda count, each: DASH if none(count) else f"{count} x {each}", "--:"),
}
TEXTS = ("text", "code")


def _printed(row: Mapping, key: str | Sequence[str], form: str) -> str:
    keys = [key] if isinstance(key, str) else key
    return FORMATS[form][0](*(row.get(each) for each in keys))


@jinja2.pass_context
def table(context: Mapping, rows: Sequence[Mapping], columns: Sequence[Sequence]) -> str:
    """A markdown table of rows (dicts). A column is [heading, key] or [heading, key or keys, format], see FORMATS.

    Where several machines are reported and rows have one, theirs is the first column. A row with a `status` other
    than ok says so in the first column of its own numbers, and has none in the others; a column that begins with
    "Published" keeps its number. Columns in which no row has anything are left out, and so is the device where all are
    the CPU's.
    """
    columns = [[*column, "text"][:3] for column in columns]
    machines = context["machines"]
    if len(machines) > 1 and any("machine" in row for row in rows):
        called = [{**row, "_machine": machines.get(row.get("machine"), "")} for row in rows]
        rows, columns = called, [["Machine", "_machine", "text"], *columns]
    lines = []
    for row in rows:
        status, printed = row.get("status", "ok"), []
        for heading, key, form in columns:
            text = _printed(row, key, form)
            if status != "ok" and form not in TEXTS and not heading.startswith("Published"):
                text, status = (f"*{status}*", "") if status else ("", status)
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


FILTERS: dict[str, Callable] = {
    "table": table,
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
