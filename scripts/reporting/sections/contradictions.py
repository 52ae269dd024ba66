"""Published numbers that cannot be right if others are, by consequence."""

from collections.abc import Iterable, Mapping

from reporting import claims, consistency
from reporting.sections import Tables

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
CONSEQUENCES = {
    "verdict": "They change what the document may conclude",
    "plain": "Wrong by more than rounding, without a claim that rests on them",
    "rounding": "Off in the last digits",
}


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": consistency.contradictions', with "consequence", a key of CONSEQUENCES, and "row" in words}"""
    found = consistency.contradictions(consistency.files_of(about["name"]))
    if not found:
        return None
    touched = _touched(tables, about, found)
    return {"rows": [_described(entry, touched) for entry in found]}


def _described(entry: Mapping, touched: set[tuple[str, str]]) -> dict:
    names = ("benchmark", "implementation", "phase", "device")
    matters = (entry["document"], str(entry["line"])) in touched
    consequence = "verdict" if matters else "plain" if entry["plain"] else "rounding"
    return {
        **entry,
        "row": " ".join(entry[name] for name in names if entry[name]),
        "what": QUANTITIES[entry["quantity"]],
        "consequence": consequence,
        "elsewhere": "; ".join(entry["also"]),
    }


def _touched(tables: Tables, about: Mapping, found: list[dict]) -> set[tuple[str, str]]:
    """(document, line) of contradictions that a verdict on published numbers would change with."""
    touched = set()
    for group in claims.by_document(
        about["claims"], tables.cells, [entry for entry in found if entry["corrects"]]
    ):
        for claim in group["claims"]:
            for source, verdict in claim["verdicts"].items():
                for case in verdict["cases"]:
                    if "corrected" in case:
                        for entry in found:
                            if (
                                entry["document"] == source
                                and f"line {entry['line']}" in case["corrected"]["figures"]
                            ):
                                touched.add((source, str(entry["line"])))
    return touched


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
