"""Which configuration would explain published numbers whose document names none."""

from collections.abc import Mapping

from reporting import configurations
from reporting.sections import Tables

TITLE = "Which configuration explains the published numbers"


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"entries": configurations.explained's, "rows": the same as a table, "heads": its published columns}"""
    found = configurations.explained(about["name"], tables.cells)
    if not found:
        return None
    labels, heads, table = about["labels"], [], []
    for entry in found:
        row = {"benchmark": entry["benchmark"], "words": entry["words"]}
        heads = []
        for each in entry["rates"]:
            heads.append(f"{labels[each['implementation']]}, {each['words_per_s']:,.0f} words/s")
            row[f"c{len(heads)}"] = f"{1e3 * each['wall_s']:.3f} ms ({100 * each['share']:.0f} %)"
        published = tables.published.set_index(["quantity", "implementation"])["value"]
        for each in entry["walls"]:
            wall = published["wall_s", each["implementation"]]
            wall = wall if isinstance(wall, float) else wall.iloc[0]
            heads.append(f"{labels[each['implementation']]}, {1e3 * wall:.0f} ms")
            row[f"c{len(heads)}"] = (
                f"{each['words_per_s']:,.0f} words/s ({100 * each['share']:.0f} %)"
            )
        table.append(row)
    held = [
        speedup | {"benchmark": entry["benchmark"], "label": labels[speedup["implementation"]]}
        for entry in found
        for speedup in entry["speedups"]
    ]
    factors = [entry["factor"] for entry in found]
    return {
        "rows": table,
        "heads": heads,
        "held": held,
        "least": min(factors),
        "most": max(factors),
        "large": next(entry for entry in found if entry["benchmark"] == "ptb-large"),
    }
