"""From each year to the next: which rows became slower."""

from collections.abc import Mapping

from reporting import timeline
from reporting.sections import Tables, rows


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"slower": steps from a year to the next that made a row slower, the worst first, "steps": how many there are,
    "faster", "same", "undecided": how many of them}"""
    found = list(timeline.lines(tables.measured(), about))
    if not found:
        return None
    judged = timeline.releases(found)
    judged = judged.assign(
        name=judged["name"].where(
            judged["level"] != timeline.CEILING, judged["name"] + " (products)"
        )
    )
    slower = judged[judged["verdict"] == "regression"].sort_values("ratio", ascending=False)
    columns = ["machine", "name", "benchmark", "phase", "device", "from", "to", "versions"]
    counts = judged["verdict"].value_counts()
    return {
        "slower": rows(
            slower, *columns, "before_s", "after_s", "ratio", "ratio_mark", "low", "high"
        ),
        "steps": len(judged),
        "faster": counts.get("improvement", 0),
        "same": counts.get("same", 0),
        "undecided": counts.get("undecided", 0),
        "relevant": timeline.RELEVANT,
    }
