"""How rows compare with libraries and ceilings, over all shapes of a kind."""

from collections.abc import Mapping

from reporting import relations, words
from reporting.relations import COLUMNS
from reporting.sections import Tables

TITLE = "All shapes at once"
CALLED = {
    "ratio_to_torch": "nn.LSTM",
    "ratio_to_fastest": "a library",
    "ratio_to_gemm": "torch.mm",
    "ratio_to_peak": "the peak",
}


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": [{"machine", "name", "group", "shapes", "fewer": relations of fewer shapes, in words, and of each relation its mean and
    worst, with intervals}]}, of LSTMs: a ceiling is none."""
    cells, found = tables.cells, []
    ceilings = set(cells.loc[cells["family"] == "ceiling", "implementation"])
    for entry in relations.summary(cells):
        if entry["implementation"] in ceilings or not any(column in entry for column in COLUMNS):
            continue
        row = {key: entry[key] for key in ("machine", "device", "group", "shapes")}
        row["name"] = about["names"][entry["implementation"]]
        for column in COLUMNS:
            row |= {f"{column}_{key}": value for key, value in entry.get(column, {}).items()}
        # Of how many shapes the ratios are, where a library lacks some.
        lacking = [
            f"{entry[column]['shapes']} to {called}"
            for column, called in CALLED.items()
            if column in entry and entry[column]["shapes"] < entry["shapes"]
        ]
        row["fewer"] = words.listed(lacking) or None
        found.append(row)
    return {"rows": found} if found else None
