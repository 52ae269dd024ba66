"""After how many batches a row that compiles or tunes has overtaken the row whose place it takes."""

from collections.abc import Mapping

from reporting import marks, tradeoff
from reporting.sections import Tables
from stats import estimates

TITLE = "When a compile pays off"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [tradeoff.break_even's of rows that were measured, with "name", "other_name", "pays" in words, "gain"]}"""
    cells = tables.following(about)
    known = {_key(row): row for row in cells.to_dict("records")}
    found = []
    for entry in tradeoff.break_even(cells):
        if entry["status"] != "ok":
            continue
        names = {side: about["names"][entry[side]] for side in ("implementation", "other")}
        other = entry | {
            "implementation": entry["other"],
            "environment": entry["other_environment"],
        }
        both = known[_key(entry)], known[_key(other)]
        gain = estimates.ratio(*([row["process_medians_s"]] for row in both))
        faster = {
            "faster": 1 / gain.ratio,
            "faster_low": 1 / gain.high,
            "faster_high": 1 / gain.low,
        }
        found.append(
            entry
            | {"name": names["implementation"], "other_name": names["other"], "gain": gain.ratio}
            | {"low": gain.low, "high": gain.high, "pays": words(entry)}
            | {"gain_mark": marks.beside(*both)}
            | faster
        )
    return (
        {"rows": found, "several": len({row["benchmark"] for row in found}) > 1} if found else None
    )


def _key(row):
    names = ("machine", "benchmark", "implementation", "environment", "phase", "device")
    return tuple(row[name] for name in names)


def words(entry):
    """When, with its interval, if it is decided: a number that may as well be none is not printed."""
    if entry["verdict"] == "pays":
        return f"{entry['batches']:,} {between(entry)}".strip()
    return {"never": "never", "same": marks.ALIKE}.get(entry["verdict"], marks.UNDECIDED)


def between(entry: Mapping) -> str:
    """The interval of the batches that it takes; empty where both ends are the same."""
    low, high = entry["batches_low"], entry["batches_high"]
    return f"[{low:,}, {high:,}]" if low < high else ""
