"""How far a number is to be trusted, as marks beside it: whether enough of its processes were clean, whether its interval is
wide, and the one word for what an interval does not decide. They are few, and a page explains those that it has where the
first one stands."""

import re
from collections.abc import Mapping

import pandas as pd

from plan.matrix import LEAST_PROCESSES

NOISY, WIDE, UNDECIDED = "°", "≈", "undecided"
ONE_LOOK = "one look"  # what has no interval, of one process or two
ALIKE = "no difference"  # of an interval that lies within the margin of equivalence
WIDE_LIMIT = 1.5  # the upper end of an interval over its lower one
MEANINGS = {
    NOISY: f"fewer than {LEAST_PROCESSES} of its processes were clean, that is have quiet batches (known work around them had its full speed, and others took little of the machine); its number is of all of them",
    WIDE: f"a wide interval, whose upper end is more than {WIDE_LIMIT:g} times the lower",
    UNDECIDED: "the 95 % interval contains 1 (of a claim: its bound), or there is none, so that this run does not tell",
}
# A mark stands behind a number, a bracket or a unit: nothing else of a page is one.
MARKED = re.compile(rf"(?<=[\w\]%*])[{NOISY}{WIDE}]+|\b{UNDECIDED}\b", re.IGNORECASE)


def clean(row: Mapping) -> int:
    """How many of a cell's processes ran while the machine was itself, as far as the yardstick tells."""
    off = row.get("disturbed_processes")
    return int(row["processes"]) - (0 if off is None or pd.isna(off) else int(off))


def noisy(*rows: Mapping) -> bool:
    """Whether one of these cells, which has processes enough for an interval, has too few clean ones."""
    return any(clean(row) < LEAST_PROCESSES <= row["processes"] for row in rows)


def mark(*rows: Mapping) -> str:
    """The mark of a number made of these cells."""
    return NOISY if noisy(*rows) else ""


def counted(*rows: Mapping) -> str:
    """`1 of 5 processes clean`, of the one that has fewest."""
    least = min(rows, key=clean)
    return f"{clean(least)} of {int(least['processes'])} processes clean"


def wide(low: float, high: float) -> str:
    """The mark of an interval whose ends lie far apart."""
    return WIDE if high > WIDE_LIMIT * low > 0 else ""


def beside(*rows: Mapping) -> str:
    """The mark of a number made of these rows of a section's tables, which have theirs as `mark`."""
    return NOISY if any(row.get("mark") for row in rows) else ""


def explained(text: str) -> str:
    """A page whose first marked number has the meaning of all marks of the page below it: in sight, if one is that is
    not folded."""
    used = "".join(MARKED.findall(text)).lower()
    if not used:
        return text
    meant = ((mark, said) for mark, said in MEANINGS.items() if mark in used)
    words = "; ".join(
        f"*{mark}*: {said}" if mark.isalpha() else f"{mark} {said}" for mark, said in meant
    )
    blocks, depth, places = text.split("\n\n"), 0, []
    for number, block in enumerate(blocks):
        depth += block.count("<details>") - block.count("</details>")
        if MARKED.search(block):
            places.append((depth > 0, number))
    place = min(places)[1]
    after = [*blocks[1:], ""]
    # A list is one, and has it below its end.
    while blocks[place].lstrip().startswith("- ") and after[place].startswith("- "):
        place += 1
    if after[place].startswith("!["):
        place += 1  # a figure stands beside what it shows
    return "\n\n".join(
        [
            *blocks[: place + 1],
            f"Marks: {words}. A ratio without brackets is one look.",
            *blocks[place + 1 :],
        ]
    )
