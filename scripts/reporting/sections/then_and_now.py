"""The same implementation in versions of the document's time and in today's."""

from collections.abc import Mapping

from reporting import relations
from reporting.sections import Tables

TITLE = "Then and now"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [relations.then_and_now's of the pairs that were both measured]}"""
    pairs = relations.then_and_now(tables.cells)
    both = [
        pair
        | {"name": about["names"][pair["implementation"]]}
        | {"ratio_mark": pair["mark_then"] or pair["mark_now"], "optimizer": _optimizer(pair)}
        for pair in pairs
        if pair["status_then"] == pair["status_now"] == "ok"
    ]
    return (
        {"rows": both, "several": len({pair["benchmark"] for pair in both}) > 1} if both else None
    )


def _optimizer(pair: Mapping) -> str:
    """What else differs than the version's kernels: how the optimizer runs, where both tell; empty where it is the same."""
    then, now = (pair[f"optimizer_form_{when}"] for when in ("then", "now"))
    return f"optimizer {then} then, {now} now" if then and now and then != now else ""
