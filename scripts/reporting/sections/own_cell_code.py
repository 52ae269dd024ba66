"""The lines that use a cell's fastest styles in a program of one's own."""

from collections.abc import Mapping

from measurement.cells import CELLS
from plan import own
from reporting import own_cell_lines
from reporting.sections import Tables
from reporting.sections.own_cell import answers, name, pairs


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"winners": [{"label", "for": [what for], "code", "file": the style's, "step": the generated one}], "folder",
    "weights"}"""
    said = [
        each
        for request in (False, True)
        for each in answers(pairs(tables, about, request), request)
    ]
    if not said:
        return None
    cell = own.name_of(name(about))
    folder = f"{own.FOLDER}/{cell}"
    shapes = about["document"]["benchmarks"]
    shape = next(each for each in shapes.values() if each.get("cell") == name(about))
    found: dict[str, dict] = {}
    for each in said:
        row = found.setdefault(
            each["implementation"],
            {
                "label": each["label"],
                "for": [],
                "code": "",
                "file": file_of(each["implementation"]),
            },
        )
        purpose = "one sequence" if each["request"] else each["phase"]
        row["for"] += [] if purpose in row["for"] else [purpose]
    for implementation, row in found.items():
        one = row["for"] == ["one sequence"]
        size = {**shape, "batch": 1 if one else shape["batch"]}
        if {"forward", "one sequence"} <= set(row["for"]):
            size["single"] = "; for one sequence batch=1"
        row["code"], more = own_cell_lines.of(implementation, cell, folder, size)
        row["more"] = more if {"forward", "one sequence"} & set(row["for"]) else ""
        framework = implementation.partition("/")[0]
        row["step"] = f"{folder}/{own.FRAMEWORKS.get(framework, framework)}.py"
    weights = weights_of(name(about))
    return {"winners": list(found.values()), "cell": cell, "folder": folder, "weights": weights}


def weights_of(cell: str) -> dict:
    """What the lines' arguments hold, by name."""
    kind = CELLS[cell]
    alone = [f"bias of {sum_}" for sum_ in kind.biases[len(kind.of_x) :]]
    return {
        "input": kind.of_x,
        "recurrent": kind.of_h,
        "own": [*alone, *kind.vectors],
        "states": dict(zip(kind.states, kind.starts, strict=True)),
    }


def file_of(implementation: str) -> str:
    return f"scripts/implementations/{implementation.replace('-', '_')}.py"
