"""Can it be trusted: checks, statuses, verdicts decided; how to cite it."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from plan.matrix import NOW
from reporting import estimates
from reporting.claims import (
    FAILS,
    HOLDS,
    LIKELY,
    LIKELY_FAILS,
    LIKELY_PARTLY,
    LIKELY_SAME,
    OPEN,
    PARTLY,
    SAME,
)
from reporting.sections import OK, Tables, in_half_precision
from reporting.sections import claims as claims_section
from reporting.style import look

# Of a row, wherever it was asked for: nothing, that it cannot run, or a number.
KNOWN = ("", "unsupported", OK)


def analyse(tables: Tables, about: Mapping) -> dict:
    """{"errors": of measured rows' checks, "loose": {what is allowed more: of those}, "tolerance", "counts": {status: rows},
    "claims": {verdict: how many}, "gpu" and "lacking": claims without the rows that decide them, "ours": claims that no document makes, "styles": what _styles says, "flagged", "disturbed", "processes", "spreads": {machine: standard deviations of log times between a row's processes}, "days", "commits"}"""
    cells = tables.measured()
    # Products alone have an output and no gradient in training either.
    gradients = cells["gradient_error"].fillna(cells["output_error"])
    errors = cells["output_error"].where(cells["phase"] == "forward", gradients)
    shapes, half = about["document"]["benchmarks"], in_half_precision(about)
    loose = {
        "half precision": cells["benchmark"].isin(half),
        "CTC": cells["benchmark"].map(lambda name: shapes[name].get("loss") == "ctc").astype(bool),
    }
    decided = claims_section.analyse(tables, about) or dict.fromkeys(
        ("gpu", "lacking", "ours"), 0
    ) | {"counts": {}}
    return {
        "errors": errors[~np.logical_or.reduce([*loose.values()])].dropna().tolist(),
        "loose": {name: errors[those].dropna().tolist() for name, those in loose.items()},
        "tolerance": about["check"]["tolerance"],
        "counts": tables.cells["status"].value_counts().to_dict(),
        "claims": decided["counts"],
        "gpu": decided["gpu"],
        "lacking": decided["lacking"],
        "ours": decided["ours"],
        "styles": _styles(tables, about),
        "flagged": int((cells["flags"] != "").sum()),
        "disturbed": int(cells["disturbed_processes"].fillna(0).sum()),
        "processes": [int(count) for count in cells["processes"]],
        "spreads": {
            machine: [_spread(times) for times in own["process_medians_s"] if len(times) > 1]
            for machine, own in cells.groupby("machine", sort=False)
        },
        "days": sorted({day for machine in about["machines"] for day in machine["days"]}),
        "commits": sorted({c for machine in about["machines"] for c in machine["commits"]}),
    }


def _styles(tables: Tables, about: Mapping) -> dict[str, dict[str, int]]:
    """{framework: {row: what is known of it, a place in KNOWN}} of today's rows on devices that are here."""
    devices = {m["machine"]: m["devices"] for m in about["machines"]}
    cells = tables.cells
    cells = cells[(cells["generation"] == NOW) & cells["flexibility"].notna()]
    found: dict[str, dict[str, int]] = {}
    for row in cells.to_dict("records"):
        if row["device"] in devices.get(row["machine"], ()):
            own = found.setdefault(look(row["implementation"]).name, {})
            known = KNOWN.index(row["status"]) if row["status"] in KNOWN else 0
            own[row["name"]] = max(own.get(row["name"], 0), known)
    return found


def _spread(times: Sequence[float]) -> float:
    return estimates.Noise.of(times).variance ** 0.5


def merge(parts: Iterable[Mapping]) -> dict:
    parts = list(parts)
    errors = [error for part in parts for error in part["errors"]]

    def added(key: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in parts:
            for name, count in part[key].items():
                found[name] = found.get(name, 0) + count
        return found

    def joined(key: str) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for part in parts:
            for name, own in part[key].items():
                found.setdefault(name, []).extend(own)
        return found

    loose, spreads = joined("loose"), joined("spreads")
    styles: dict[str, dict[str, int]] = {}
    for part in parts:
        for framework, own in part["styles"].items():
            known = styles.setdefault(framework, {})
            known |= {name: max(known.get(name, 0), each) for name, each in own.items()}
    verdicts, processes = added("claims"), [n for part in parts for n in part["processes"]]
    return {
        "absent": [name for name, own in styles.items() if max(own.values()) < KNOWN.index(OK)],
        "without": [
            name
            for own in styles.values()
            if KNOWN.index(OK) in own.values()
            for name, known in own.items()
            if not known
        ],
        "checked": len(errors) + sum(map(len, loose.values())),
        "loose": [(name, max(own)) for name, own in loose.items() if own],
        "worst": max(errors, default=None),
        "typical": statistics.median(errors) if errors else None,
        "tolerance": max((part["tolerance"] for part in parts), default=None),
        "counts": added("counts"),
        "total": sum(verdicts.values()),
        "holds": verdicts.get(HOLDS, 0),
        "likely": verdicts.get(LIKELY, 0) + verdicts.get(LIKELY_PARTLY, 0),
        "likely_fails": verdicts.get(LIKELY_FAILS, 0) + verdicts.get(LIKELY_SAME, 0),
        "partly": verdicts.get(PARTLY, 0),
        "ours": sum(part["ours"] for part in parts),
        "fails": verdicts.get(FAILS, 0) + verdicts.get(SAME, 0),
        "open": verdicts.get(OPEN, 0),
        "gpu": sum(part["gpu"] for part in parts),
        "lacking": sum(part["lacking"] for part in parts),
        "flagged": sum(part["flagged"] for part in parts),
        "disturbed": sum(part["disturbed"] for part in parts),
        "spreads": {name: statistics.median(own) for name, own in spreads.items() if own},
        "all": sum(processes),
        "least": min(processes, default=0),
        "most": max(processes, default=0),
        "days": sorted({day for part in parts for day in part["days"]}),
        "commits": sorted({commit for part in parts for commit in part["commits"]}),
    }
