"""From each year to the next: which rows became slower."""

from collections.abc import Mapping

from reporting import profiles, timeline
from reporting.sections import Tables, rows


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"slower": steps from a year to the next that made a row slower, the worst first, "spent": where the time of some of
    their batches went before and after, "pattern": what `make profile` calls both sides of the worst, "steps": how many there
    are, "faster", "same", "undecided": how many of them}"""
    found = list(timeline.lines(tables.measured(), about))
    if not found:
        return None
    judged = timeline.releases(found)
    slower = judged[judged["verdict"] == "regression"].sort_values("ratio", ascending=False)
    columns = ["machine", "name", "benchmark", "phase", "device", "from", "to", "versions"]
    counts = judged["verdict"].value_counts()
    steps = [_step(row, about["profiles"]) for row in slower.to_dict("records")]
    return {
        "slower": rows(
            slower, *columns, "before_s", "after_s", "ratio", "ratio_mark", "low", "high"
        ),
        "spent": [step for step in steps if step["before"] or step["after"]],
        "pattern": steps[0]["pattern"] if steps else "",
        "steps": len(judged),
        "faster": counts.get("improvement", 0),
        "same": counts.get("same", 0),
        "undecided": counts.get("undecided", 0),
        "relevant": timeline.RELEVANT,
    }


def _step(row: Mapping, found: Mapping) -> dict:
    """{"machine", "name", "benchmark", "phase", "old" and "new": versions, "before" and "after": profiles in words, "pattern"}"""
    old, new = row["points"]
    sides = [row | {"environment": point["environment"]} for point in (old, new)]
    return {
        **{key: row[key] for key in ("machine", "name", "benchmark", "phase")},
        **{"old": old["version"], "new": new["version"]},
        "before": profiles.of_cell(found, old["records"]),
        "after": profiles.of_cell(found, new["records"]),
        "pattern": ",".join(profiles.pattern(side) for side in sides),
    }
