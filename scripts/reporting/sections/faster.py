"""What a user can set, with the factor measured here: departures that are settings, each over all rows."""

from collections.abc import Mapping

from reporting.sections import Tables, departures

MATTERS, SHOWN = 0.05, 6  # settings that change no row by more are on the document's page


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "departure", "phase", "device", "least": row and ratio, "most", "count"}]}"""
    found = departures.analyse(tables, about)
    if not found:
        return None
    groups: dict[tuple, list[dict]] = {}
    for row in found["rows"]:
        key = ("departure", "machine", "device", "phase")
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    rows = []
    for (departure, machine, device, phase), own in groups.items():
        ends = [min(own, key=_ratio), max(own, key=_ratio)]
        entry = {"departure": departure, "machine": machine, "device": device, "phase": phase}
        entry |= {"count": len(own), "size": max(abs(_ratio(each) - 1) for each in ends)}
        for side, end in zip(("least", "most"), ends, strict=True):
            entry |= {side: _ratio(end), f"{side}_name": end["name"]}
            entry |= {
                f"{side}_{edge}": end[f"ratio_to_baseline_{edge}"] for edge in ("low", "high")
            }
        rows.append(entry)
    rows.sort(key=lambda row: -row["size"])
    return {"rows": rows, "shown": [row for row in rows if row["size"] >= MATTERS][:SHOWN]}


def _ratio(row: Mapping) -> float:
    return row["ratio_to_baseline"]
