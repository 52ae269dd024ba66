"""Published numbers that cannot be right if others are, by consequence."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from reporting import consistency, published, words
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


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": verdicts.consequences', with "row" and "what" in words; "slower": consistency.inversions', likewise}"""
    paths = consistency.files_of(about["name"])
    found = verdicts.consequences(about["claims"], consistency.contradictions(paths))
    numbers = published.numbers(paths)
    slower = consistency.inversions(numbers, about["document"]["benchmarks"])
    if not found and not slower:
        return None
    statements = {claim["name"]: claim["statement"] for claim in about["claims"]}
    origin = about["document"].get("origin", {})
    return {
        "rows": [
            _described(entry, about["names"], statements) | _cited(entry, origin) for entry in found
        ],
        "slower": [
            entry
            | {"row": _row(entry, about["names"])}
            | _cited(entry, origin)
            | {"than": "{benchmark} (line {line})".format(**entry["than"])}
            | {
                "spread": _spread(entry, numbers),
                "others": _spread({**entry, **entry["than"]}, numbers),
            }
            for entry in slower
        ],
    }


def _spread(entry: Mapping, numbers: pd.DataFrame) -> float | None:
    """The printed standard deviation over the printed time; None where there is none."""
    same = numbers["quantity"] == "std_s"
    for key in ("document", "line", *published.KEY):
        same &= numbers[key] == entry[key]
    return float(numbers.loc[same, "value"].iloc[0] / entry["value"]) if same.any() else None


def _row(entry: Mapping, names: Mapping) -> str:
    row = [names.get(entry["implementation"], entry["implementation"]), entry["phase"]]
    return ", ".join(filter(None, [entry["benchmark"], *row, entry["device"].upper()]))


def _cited(entry: Mapping, origin: Mapping) -> dict:
    return {"cited": words.cited(entry["document"], origin)}


def _described(entry: Mapping, names: Mapping, statements: Mapping) -> dict:
    explained = f"; {entry['explained']}" if entry["explained"] else ""
    return {
        **entry,
        "row": _row(entry, names),
        "what": QUANTITIES[entry["quantity"]],
        **{
            key: "; ".join(_changed(each, statements, page) for each in entry["changes"])
            for key, page in (("changed", ""), ("changed_of_all", "claims.md"))
        },
        "because": entry["because"] + explained,
        "elsewhere": "; ".join(entry["also"]),
        "size": abs(math.log(entry["factor"])),  # too large and too small alike
    }


def _changed(change: Mapping, statements: Mapping, page: str) -> str:
    """The claim whose verdict a number changes, with the page that has it, and both verdicts."""
    statement = statements[change["claim"]].rstrip(".")
    name, printed, corrected = (change[key] for key in ("claim", "verdict", "corrected"))
    return f"[{statement}]({page}#{name}): *{printed}* as printed, *{corrected}* if corrected"


def merge(parts: Iterable[Mapping]) -> dict:
    parts = list(parts)
    return {key: [row for part in parts for row in part[key]] for key in ("rows", "slower")}
