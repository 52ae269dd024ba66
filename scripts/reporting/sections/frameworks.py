"""One framework's row beside another's, of the pairs that the document compares."""

from collections.abc import Mapping

from reporting import relations
from reporting.sections import Tables


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": relations.frameworks', with names, "published": the document's}"""
    pairs = about["document"]["compared"]
    found = relations.frameworks(tables.cells, {about["name"]: pairs})
    for row in found:
        row["ratio_mark"] = row["mark_of"] or row["mark_to"]
        for side in ("of", "to"):
            row[f"name_{side}"] = (
                f"{about['names'][row[f'implementation_{side}']]}, {row[f'environment_{side}']}"
            )
    walls = tables.published[tables.published["quantity"] == "wall_s"]
    walls = walls.set_index("implementation")["value"]
    published = [
        {
            "name_of": about["labels"][pair["of"]],
            "of_s": walls[pair["of"]],
            "name_to": about["labels"][pair["to"]],
            "to_s": walls[pair["to"]],
        }
        for pair in pairs
        if pair["of"] in walls and pair["to"] in walls
    ]
    return {"rows": found, "published": published} if found or published else None
