"""What a step costs beside its arithmetic, fitted over shapes."""

from collections.abc import Mapping

from reporting import tradeoff
from reporting.sections import Tables

TITLE = "What a step costs beside its arithmetic"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [tradeoff.overheads' with "name"], of implementations with enough shapes; "few": {machine: names of the others}}"""
    found = [
        entry | {"name": about["names"][entry["implementation"]]}
        for entry in tradeoff.overheads(tables.following(about), about["document"]["benchmarks"])
    ]
    fitted = [entry for entry in found if "overhead_s" in entry]
    few: dict[str, dict[str, None]] = {}
    for entry in found:
        if "overhead_s" not in entry:
            few.setdefault(entry["machine"], {})[entry["name"]] = None
    few_names = {machine: list(names) for machine, names in few.items()}
    return {"rows": fitted, "few": few_names} if fitted else None
