"""Sections: what pages are made of. A section is one analysis.

`<section>.py` has `analyse(tables, about, **options)`, pure: JSON for its template, or None where there is nothing to
say; and, if it has a figure, `draw(data, tables, about, wide, **options)`, which returns the figure, for a wide screen or for
a narrow one, and its alternative text.
`<section>.md.j2` beside it is a page's part from that JSON, as `data`, with the figure where it has `figure`. A page is a list of sections with options
(config/documents, config/pages.yaml); `title` is the heading of one, unless its module has a `TITLE`.

`tables`: what was measured and what was published, of one document. `about`: about.json (reporting/tabulate.py) and
the document's own file, `document`; `claims`, config/claims.yaml's of the document; `names` and `labels`, what rows are
called in general and in the document, by implementation; `machine_names`; `cell_lines`, how long the files of cells are
(reporting/lines.py); `entries`, config/implementations.yaml
of the rows.
"""

import importlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from plan import matrix
from reporting import lines, marks, published, words
from stats.rounds import Look
from stats.samples import Prior, Times, with_prior

FOLDER = Path(__file__).parent
OK = "ok"
NARROW = "-narrow"


@dataclass(frozen=True)
class Tables:
    """cells: a row a cell and machine, as in cells.csv, with `label`, `name`, `family`, `flexibility`, `generation`, `mark`
    (reporting/marks.py) and `ratio_to_baseline_mark`, its own's or its baseline's. trainings: a row a training run. published: a row a printed number (reporting/published.py)."""

    cells: pd.DataFrame
    trainings: pd.DataFrame
    published: pd.DataFrame

    def measured(self, **equal: object) -> pd.DataFrame:
        """The cells with a number, of those whose columns are equal to these."""
        found = self.cells[self.cells["status"] == OK]
        for column, value in equal.items():
            found = found[found[column] == value]
        return found

    def following(self, about: Mapping) -> pd.DataFrame:
        """The cells that follow the protocol: those of benchmarks that depart from no other."""
        benchmarks = about["document"]["benchmarks"]
        departing = [name for name, shape in benchmarks.items() if "baseline" in shape]
        return self.cells[~self.cells["benchmark"].isin(departing)]


def in_half_precision(about: Mapping) -> list[str]:
    """The document's benchmarks that are."""
    shapes = about["document"]["benchmarks"]
    return [name for name, shape in shapes.items() if "data_type" in shape]


def on(cells: pd.DataFrame, benchmarks: Sequence[str]) -> pd.DataFrame:
    """The cells on benchmarks of these names, * as in file names."""
    return cells[
        cells["benchmark"].map(lambda name: matrix.takes_part(benchmarks, name)).astype(bool)
    ]


def took_part(cells: pd.DataFrame, about: Mapping) -> pd.Series:
    """Of each cell, whether its device took part on its machine."""
    devices = {each["machine"]: each["devices"] for each in about["machines"]}
    pairs = zip(cells["machine"], cells["device"], strict=True)
    found = [device in devices.get(machine, ()) for machine, device in pairs]
    return pd.Series(found, cells.index, dtype=bool)


def refused(cells: pd.DataFrame, about: Mapping) -> list[dict]:
    """[{"name", "reason", "machines"}] of rows that a device which took part does not run."""
    own = cells[(cells["status"] == "unsupported") & took_part(cells, about)]
    groups = own.groupby(["name", "reason"], sort=False)["machine"]
    return [
        {"name": name, "reason": reason, "machines": list(dict.fromkeys(machines))}
        for (name, reason), machines in groups
    ]


TRAINED = ("machine", "benchmark", "implementation", "environment", "phase", "device", "status")


def read(cells: pd.DataFrame, about: Mapping) -> tuple[Tables, dict]:
    """(tables, about) of a document, from its tables and what stands beside them, with what config/ says of it."""
    name = about["name"]
    document = matrix.document(name)
    entries = matrix.implementations()
    names = words.names(entries)
    labels = {entry["implementation"]: entry["label"] for entry in entries}
    labels |= document.get("labels", {})

    def described(table: pd.DataFrame) -> pd.DataFrame:
        columns = ["implementation", "family", "flexibility"]
        known = pd.DataFrame(entries).reindex(columns=columns)
        found = table.merge(known, on="implementation", how="left")
        return found.assign(
            label=found["implementation"].map(labels),
            name=found["implementation"].map(names),
            mark=[
                marks.mark(row) if row["status"] == OK else "" for row in found.to_dict("records")
            ]
            if "processes" in found
            else "",
            generation=found["environment"].map(matrix.generation),
        )

    trainings = pd.DataFrame(about["trainings"], columns=[*TRAINED, *_more(about["trainings"])])
    tables = Tables(
        _with_baseline_marks(described(_with_noise(cells)), document["benchmarks"]),
        described(trainings),
        published.numbers(matrix.published_files(name)),
    )
    shown = set(tables.cells["implementation"])
    more = {
        "cell_lines": lines.of_cells("lstm"),
        "document": document,
        "claims": [claim for claim in matrix.claims() if claim["document"] == name],
        "names": names,
        "labels": labels,
        "machine_names": words.machines((m["machine"], m["facts"]) for m in about["machines"]),
        "entries": [entry for entry in entries if entry["implementation"] in shown],
    }
    return tables, {**about, **more}


def _with_noise(cells: pd.DataFrame) -> pd.DataFrame:
    """The times of each row with what it has beside them of the others' noise, or of the rounds that they took turns in."""
    columns = ["process_medians_s", "noise_freedom", "noise_sd"]
    found = {
        label: Times(times, None if pd.isna(freedom) else Prior(freedom, deviation))
        for label, times, freedom, deviation in cells[columns].itertuples(name=None)
        if times is not None
    }
    if "looks" in cells:
        looked = cells[cells["looks"].notna()]
        for _, own in looked.groupby(["machine", "device"]):
            looks = {label: [*map(Look.read, each)] for label, each in own["looks"].items()}
            found |= with_prior({label: Times(found[label], looks=looks[label]) for label in looks})
    return cells.assign(process_medians_s=pd.Series(found, dtype=object).reindex(cells.index))


def _with_baseline_marks(cells: pd.DataFrame, benchmarks: Mapping[str, Mapping]) -> pd.DataFrame:
    keys = ["machine", "implementation", "environment", "phase", "device"]
    found = cells.set_index(["benchmark", *keys])["mark"].to_dict()
    bases = [benchmarks.get(name, {}).get("baseline") for name in cells["benchmark"]]
    places = zip(bases, *(cells[key] for key in keys), strict=True)
    pairs = zip(cells["mark"], (found.get(place, "") for place in places), strict=True)
    return cells.assign(ratio_to_baseline_mark=[one or other for one, other in pairs])


def _more(rows: Sequence[Mapping]) -> list[str]:
    return [key for key in dict.fromkeys(key for row in rows for key in row) if key not in TRAINED]


def load(section: str) -> ModuleType:
    return importlib.import_module(f"reporting.sections.{section}")


def plain(value: Any) -> Any:
    """JSON of what an analysis returns: no number is None, NumPy's are Python's, tuples are lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value


def rows(table: pd.DataFrame, *columns: str) -> list[dict]:
    """A table as JSON, of these columns or of all; with the rows' marks, where the table has them."""
    marked = [name for name in ("mark", *(f"{name}_mark" for name in columns)) if name in table]
    marked = [name for name in marked if name not in columns]
    return plain(table[[*columns, *marked] if columns else list(table)].to_dict("records"))


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).strip().replace(" ", "-")


def analysed(
    entries: Sequence[Mapping],
    tables: Tables,
    about: Mapping,
    save: Callable[[str, Any], None],
) -> Iterator[dict]:
    """Every section of a list that has something to say: {"section", "title", "data", "figure": {"file", "text"}}.
    `save` writes a figure below a file's name; the one for narrow screens has NARROW behind it."""
    for entry in entries:
        options = {key: value for key, value in entry.items() if key not in ("section", "title")}
        module = load(entry["section"])
        if (data := module.analyse(tables, about, **options)) is None:
            continue
        title = entry.get("title", getattr(module, "TITLE", ""))
        found = {"section": entry["section"], "title": title, "data": plain(data), "figure": None}
        drawn = module.draw(data, tables, about, True, **options) if hasattr(module, "draw") else 0
        if drawn:
            figure, text = drawn
            name = "-".join(filter(None, [entry["section"], slug(entry.get("title", ""))]))
            save(f"{name}.svg", figure)
            save(f"{name}{NARROW}.svg", module.draw(data, tables, about, False, **options)[0])
            found["figure"] = {"file": f"{name}.svg", "text": text}
        yield found
