"""Can it be trusted: checks, statuses, verdicts decided; how to cite it."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from plan.matrix import NOW
from reporting import words
from reporting.sections import OK, Tables, in_half_precision, took_part
from reporting.sections import claims as claims_section
from reporting.style import OTHER, look
from stats import samples
from stats.claims import (
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

# Of a row, wherever it was asked for: nothing, that it cannot run, or a number.
KNOWN = ("", "unsupported", OK)


def analyse(tables: Tables, about: Mapping) -> dict:
    """{"errors": of measured rows' checks, "loose": {what is allowed more: of those}, "tolerance", "counts": {status: rows},
    "total": claims, "claims": {machine: {verdict: how many}}, "gpu" and "lacking": claims without the rows that decide them, "ours": claims that no document makes, "styles": what _styles says, "flagged", "disturbed", "processes", "spreads": {machine: standard deviations of log times between a row's processes}, "days", "commits"}"""
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
        ("total", "gpu", "lacking", "ours"), 0
    ) | {"counts": {}}
    return {
        "errors": errors[~np.logical_or.reduce([*loose.values()])].dropna().tolist(),
        "loose": {name: errors[those].dropna().tolist() for name, those in loose.items()},
        "tolerance": about["check"]["tolerance"],
        "counts": tables.cells["status"].value_counts().to_dict(),
        "total": decided["total"],
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
    cells = tables.cells
    cells = cells[(cells["generation"] == NOW) & cells["flexibility"].notna()]
    cells = cells[took_part(cells, about)]
    found: dict[str, dict[str, int]] = {}
    for row in cells.to_dict("records"):
        own = found.setdefault(look(row["implementation"]).name, {})
        known = KNOWN.index(row["status"]) if row["status"] in KNOWN else 0
        own[row["name"]] = max(own.get(row["name"], 0), known)
    return found


def _spread(times: Sequence[float]) -> float:
    return samples.Noise.of(times).variance ** 0.5


def _sums(counts: Mapping[str, int]) -> dict[str, int]:
    """Of one machine's verdicts: {"holds", "fails", "likely", "likely_fails", "partly", "open"}"""
    of = {
        **{"holds": (HOLDS,), "fails": (FAILS, SAME), "partly": (PARTLY,), "open": (OPEN,)},
        **{"likely": (LIKELY, LIKELY_PARTLY), "likely_fails": (LIKELY_FAILS, LIKELY_SAME)},
    }
    return {name: sum(counts.get(each, 0) for each in those) for name, those in of.items()}


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
    processes = [n for part in parts for n in part["processes"]]
    verdicts: dict[str, Counter] = {}
    for part in parts:
        for machine, counts in part["claims"].items():
            verdicts.setdefault(machine, Counter()).update(counts)
    return {
        "absent": [
            words.listed(own) if name == OTHER.name else name
            for name, own in styles.items()
            if max(own.values()) < KNOWN.index(OK)
        ],
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
        "total": sum(part["total"] for part in parts),
        "verdicts": {machine: _sums(counts) for machine, counts in verdicts.items()},
        "ours": sum(part["ours"] for part in parts),
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
