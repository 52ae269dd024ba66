"""Can it be trusted: checks, statuses, verdicts decided; how to cite it."""

import statistics
from collections.abc import Iterable, Mapping

from reporting.claims import FAILS, HOLDS, MISSING, OPEN
from reporting.sections import Tables
from reporting.sections import claims as claims_section


def analyse(tables: Tables, about: Mapping) -> dict:
    """{"errors": of measured rows' checks, "tolerance", "counts": {status: rows}, "claims": {verdict: how many},
    "gpu": claims that a GPU has to decide, "flagged", "disturbed", "processes", "days", "commits"}"""
    cells = tables.measured()
    errors = [
        row["output_error"] if row["phase"] == "forward" else row["gradient_error"]
        for row in cells.to_dict("records")
    ]
    decided = claims_section.analyse(tables, about) or {"counts": {}}
    took = {device for machine in about["machines"] for device in machine["devices"]}
    gpu = 0
    if "gpu" not in took:
        gpu = sum(_needs_gpu(claim) for claim in about["claims"])
    return {
        "errors": [error for error in errors if error == error and error is not None],
        "tolerance": about["check"]["tolerance"],
        "counts": tables.cells["status"].value_counts().to_dict(),
        "claims": decided["counts"],
        "gpu": gpu,
        "flagged": int((cells["flags"] != "").sum()),
        "disturbed": int(cells["disturbed_processes"].fillna(0).sum()),
        "processes": [int(count) for count in cells["processes"]],
        "days": sorted({day for machine in about["machines"] for day in machine["days"]}),
        "commits": sorted({c for machine in about["machines"] for c in machine["commits"]}),
    }


def _needs_gpu(claim: Mapping) -> bool:
    """Whether a claim is about cells that only a GPU has."""
    text = str({key: claim[key] for key in ("for", "ratios", "at", "against") if key in claim})
    return "'gpu'" in text or "cudnn" in text or "data-parallel" in text


def merge(parts: Iterable[Mapping]) -> dict:
    parts = list(parts)
    errors = [error for part in parts for error in part["errors"]]

    def added(key: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in parts:
            for name, count in part[key].items():
                found[name] = found.get(name, 0) + count
        return found

    verdicts, processes = added("claims"), [n for part in parts for n in part["processes"]]
    total, gpu = sum(verdicts.values()), sum(part["gpu"] for part in parts)
    decided = verdicts.get(HOLDS, 0) + verdicts.get(FAILS, 0)
    return {
        "checked": len(errors),
        "worst": max(errors, default=None),
        "typical": statistics.median(errors) if errors else None,
        "tolerance": max((part["tolerance"] for part in parts), default=None),
        "counts": added("counts"),
        "total": total,
        "decided": decided,
        "open": verdicts.get(OPEN, 0),
        "gpu": min(gpu, verdicts.get(MISSING, 0)),
        "missing": max(0, verdicts.get(MISSING, 0) - gpu),
        "flagged": sum(part["flagged"] for part in parts),
        "disturbed": sum(part["disturbed"] for part in parts),
        "least": min(processes, default=0),
        "most": max(processes, default=0),
        "days": sorted({day for part in parts for day in part["days"]}),
        "commits": sorted({commit for part in parts for commit in part["commits"]}),
    }
