"""What is compared: each implementation, what can be changed in it, and what it does."""

from collections.abc import Mapping

from reporting import words
from reporting.sections import Tables

TITLE = "What is compared"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"label", "implementation", "level", "does"}], "levels": {word: what can be changed}}"""
    found = [
        {
            "label": about["labels"][entry["implementation"]],
            "implementation": entry["implementation"],
            "level": words.LEVELS.get(entry.get("flexibility"), "no LSTM"),
            "does": entry["does"],
        }
        for entry in about["entries"]
    ]
    shown = {row["level"] for row in found}
    levels = {word: text for word, text in words.EXPLAINED.items() if word in shown}
    return {"rows": found, "levels": levels} if found else None
