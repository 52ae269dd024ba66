"""What a step costs beside its arithmetic, fitted over shapes."""

from collections.abc import Mapping

from reporting import tradeoff
from reporting.sections import Tables

TITLE = "What a step costs beside its arithmetic"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [tradeoff.overheads' with "name"]}, of implementations with enough shapes"""
    found = [
        entry | {"name": about["names"][entry["implementation"]]}
        for entry in tradeoff.overheads(tables.following(about), about["document"]["benchmarks"])
    ]
    fitted = [entry for entry in found if "overhead_s" in entry]
    few = list(dict.fromkeys(entry["name"] for entry in found if "overhead_s" not in entry))
    return {"rows": fitted, "few": few} if fitted else None
