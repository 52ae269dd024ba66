"""`make bump SHAPE=...`: a benchmark of a shape and cell of one's own, as a document among the results."""

import yaml

from measurement.cells import BUILT_IN
from measurement.record import whole
from plan import configuration, own_cell
from plan.own import FOLDER_OF_SHAPES, SHAPE_DOCUMENT
from plan.own_cell import Refused

BENCHMARK = "flexible-"  # how the names of benchmarks begin that implementations of any cell have


def document(text: str) -> tuple[str, dict]:
    """The name and the document of a shape, such as `{cell: gru, batch: 1, length: 1, hidden: 256}`. Raises Refused where
    it is none."""
    template, asked = own_cell.template(), own_cell.given(text)
    cell = asked.pop("cell", "lstm")
    if cell not in list(BUILT_IN):  # it may be no name at all
        close = configuration.near(str(cell), BUILT_IN)
        raise Refused(f"SHAPE: there is no cell `{cell}`{close}; there are {', '.join(BUILT_IN)}")
    shape = own_cell.shape_of(asked, template["shape"])
    sizes = "{batch}x{length}x{features}x{hidden}-d{layers}".format(**shape)
    made = shape | template["around"] | ({} if cell == "lstm" else {"cell": cell})
    return f"{SHAPE_DOCUMENT}{sizes}-{cell}", {
        "title": f"{cell} {sizes}",
        "about": "A shape that make bump was asked for.",
        "benchmarks": {f"{BENCHMARK}{sizes}-{cell}": made},
        "phases": template["phases"],
        "rows": template["rows"],
        "sections": [{"section": "missing"}],
    }


def write(text: str) -> str:
    """Write the document of a shape; its name."""
    name, made = document(text)
    with whole(str(FOLDER_OF_SHAPES / f"{name}.yaml")) as stream:
        stream.write(yaml.safe_dump(made, sort_keys=False))
    return name
