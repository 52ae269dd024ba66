"""When compiling pays off, in a row a compiled row and phase, over all shapes."""

from collections.abc import Iterable, Mapping

from plan import matrix
from plan.matrix import NOW
from reporting import marks
from reporting.layout import at_most, interval, seconds
from reporting.sections import Tables, break_even


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "other_name", "device", "document", "start" in words, and of each phase by its name "0.62x: after 5 batches"}]}"""
    found = break_even.analyse(tables, about)
    groups: dict[tuple, dict[str, list[dict]]] = {}
    for row in (found or {"rows": []})["rows"]:
        if matrix.generation(row["environment"]) == NOW:
            key = tuple(row[name] for name in ("machine", "name", "other_name", "device"))
            groups.setdefault(key, {}).setdefault(row["phase"], []).append(row)
    rows = []
    for (machine, name, other, device), phases in groups.items():
        row = {"machine": machine, "name": name, "other_name": other, "device": device}
        row |= {
            "document": about["name"],
            "start": _start([each for own in phases.values() for each in own]),
        }
        rows.append(row | {phase: f"{_gain(own)}: {words(own)}" for phase, own in phases.items()})
    return {"rows": rows} if rows else None


def _gain(own: list[dict]) -> str:
    """Time over that of the row replaced, with its interval; of several shapes from where to where."""
    gains = sorted(row["gain"] for row in own)
    if len(own) > 1:
        return f"{_times(gains[0])} to {_times(gains[-1])}{max(row['gain_mark'] for row in own)}"
    return (
        f"{_times(gains[0])} {interval(own[0]['low'], own[0]['high'])}".strip()
        + own[0]["gain_mark"]
    )


def _start(own: list[dict]) -> str:
    """What precedes its second batch with its interval, and what of that is tuned once, which is one look; of several
    shapes and phases from where to where."""

    def span(key: str) -> str:
        ends = sorted(row[key] for row in own)
        return " to ".join(dict.fromkeys(f"{seconds(end)} s" for end in (ends[0], ends[-1])))

    tuned = any(row["once_s"] for row in own)
    around = at_most((row["start_s"], row["start_low_s"], row["start_high_s"]) for row in own)
    once = f", {span('once_s')} of it tuned once (one look)" if tuned else ""
    return f"{span('start_s')} {around}".strip() + once


def _times(gain: float) -> str:
    return f"{gain:.2f}x" if gain >= 0.1 else f"{gain:.1g}x"


def words(own: list[dict]) -> str:
    """`after 3 batches`; of several shapes `after 68 to 241 batches`, and how many never or not decided."""
    if len(own) == 1 and own[0]["verdict"] == "never":
        return f"{'likely ' * bool(own[0]['gain_mark'])}never, it is slower"
    found = []
    if paid := sorted(row["batches"] for row in own if row["verdict"] == "pays"):
        ends = " to ".join(f"{each:,}" for each in dict.fromkeys((paid[0], paid[-1])))
        many = f" ({len(paid)} of {len(own)} shapes)" if len(own) > 1 else ""
        ends += f" {break_even.between(own[0])}".rstrip() if len(own) == 1 else ""
        found.append(f"after {ends} batch{'es' * (paid[-1] > 1)}{many}")
    rest = [row["verdict"] for row in own]
    for verdict, words in (
        ("never", "never"),
        ("same", marks.ALIKE),
        ("undecided", marks.UNDECIDED),
    ):
        if verdict in rest:
            found.append(words + (f" on {rest.count(verdict)}" if len(own) > 1 else ""))
    return "; ".join(found)


def merge(parts: Iterable[Mapping]) -> dict:
    return {"rows": [row for part in parts for row in part["rows"]]}
