"""How numbers and tables look on every page: the one place that knows alignment, dashes, statuses and machines."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from stats.estimates import Ratio

DASH = "–"
# Ends of an interval are printed where one is farther off than 5 %, and than 1.3 times half of the interval.
LOPSIDED_LEAST, LOPSIDED = 0.05, 1.3


def none(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA


def cell(text: object) -> str:
    """Text that a table's cell can hold."""
    return str(text).replace("|", "\\|").replace("\n", " ")


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


def scientific(value: float) -> str:
    """One digit of an error."""
    return f"{value:.0e}".replace("e-0", "e-")


def percent(value: float | None) -> str:
    return DASH if none(value) else f"{100 * value:.0f} %"


def deviation(value: float) -> str:
    """A relative difference."""
    return f"{100 * value:,.0f} %" if value >= 0.1 else f"{100 * value:.2g} %"


def off(value: float) -> str:
    """How much too large or too small a number is, that is `value` times what it should be: how many times, or in per cent of
    what it should be."""
    times, way = (value, "large") if value >= 1 else (1 / value, "small")
    if times >= 1.5:
        return f"{times:.3g} times too {way}"
    return f"{100 * abs(value - 1):.2g} % too {way}"


def digits(value: float | None) -> str:
    """A number to compare with a printed one: whole where it is large."""
    if none(value):
        return DASH
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4f}"


def within(
    value: float,
    low: float | None,
    high: float | None,
    ends: Callable[[float | None], str] = three_digits,
) -> str:
    """Half of a number's 95 % interval in per cent; both ends where one lies much farther from it than the other; nothing
    where there is no interval."""
    if none(low) or none(high) or low <= 0:
        return ""
    half, farther = math.sqrt(high / low) - 1, max(high / value, value / low) - 1
    if farther > LOPSIDED_LEAST and farther > LOPSIDED * half:
        return f"[{ends(low)}, {ends(high)}]"
    return f"±{100 * half:.2g} %"


def brief(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A ratio with two decimals, and its interval where there is one."""
    if none(value):
        return DASH
    decimals = 2 if value < 10 else 1
    ends = "" if none(low) or none(high) else f" [{low:.{decimals}f}, {high:.{decimals}f}]"
    return f"{value:.{decimals}f}{ends}"


def thousandths(row: Mapping) -> str:
    """A row's ratio with three decimals, and its interval where there is one."""
    ends = "" if none(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
    return f"{row['ratio']:.3f}{ends}"


def times(found: Ratio | None) -> str:
    """The same of an estimate."""
    return DASH if found is None else brief(found.ratio, found.low, found.high)


def time_within(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A time with its unit, and its interval."""
    return time(value) if none(value) else f"{time(value)} {within(value, low, high, time)}".strip()


def time_of(row: Mapping) -> str:
    """A row's time, and its interval where it has one."""
    ends = ("wall_low_s", "wall_high_s") if row["interval"] == "confidence" else ()
    return time_within(row["wall_median_s"], *(row[end] for end in ends))


FORMATS: dict[str, tuple[Callable[[Any], str], str]] = {
    "text": (lambda value: DASH if none(value) else cell(value), ":--"),
    "code": (lambda value: DASH if none(value) or value == "" else f"`{cell(value)}`", ":--"),
    "time": (time, "--:"),
    "whole": (lambda value: DASH if none(value) else f"{value:,.0f}", "--:"),
    "error": (lambda value: DASH if none(value) else f"{value:.1e}", "--:"),
    "digits": (digits, "--:"),
}


def table(rows: Sequence[Mapping], columns: Sequence[Sequence[str]]) -> str:
    """A Markdown table of rows (dicts). A column is [heading, key] or [heading, key, format], see FORMATS."""
    columns = [[*column, "text"][:3] for column in columns]
    lines = [
        [heading for heading, _, _ in columns],
        [FORMATS[form][1] for _, _, form in columns],
        *([FORMATS[form][0](row.get(key)) for _, key, form in columns] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


FILTERS: dict[str, Callable] = {"table": table, "cell": cell, "error": FORMATS["error"][0]}
