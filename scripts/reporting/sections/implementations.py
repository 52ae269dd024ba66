"""What is compared: each implementation, what can be changed in it, and what it does."""

from collections.abc import Mapping

from reporting import words
from reporting.sections import Tables

TITLE = "What is compared"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"label", "implementation", "level", "does"}] of what was measured, "others": of the other rows, "levels":
    {word: what can be changed}}"""
    found = [
        {
            "label": about["labels"][entry["implementation"]],
            "implementation": entry["implementation"],
            "level": entry.get("flexibility", "no LSTM"),
            "does": entry["does"],
        }
        for entry in about["entries"]
    ]
    shown = {row["level"] for row in found}
    levels = {word: text for word, text in words.LEVELS.items() if word in shown}
    measured = set(tables.measured()["implementation"])
    parts = {True: [], False: []}
    for row in found:
        parts[row["implementation"] in measured].append(row)
    return {"rows": parts[True], "others": parts[False], "levels": levels} if found else None
