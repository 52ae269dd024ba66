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
        | {"ratio_mark": pair["mark_then"] or pair["mark_now"]}
        for pair in pairs
        if pair["status_then"] == pair["status_now"] == "ok"
    ]
    return (
        {"rows": both, "several": len({pair["benchmark"] for pair in both}) > 1} if both else None
    )
