"""Sections: what pages are made of. A section is one analysis and the sentences about it.

`<section>.py` has a dataclass `Answer`; `analyse(tables, about, **options)`, pure, which returns one, or None where there is
nothing to say; `write(answer)`, which yields the blocks of it (reporting/blocks.py); and, if it has a figure, `draw(answer,
tables, about, **options)`: the figure and its alternative text. A page is a list of
sections with options (config/documents, config/pages.yaml); `title` is the heading of one, `level` that heading's, `line` that of
the published heading which it mirrors.

`tables`: what was measured on one machine and what was published, of one document. `about`: about.json (reporting/tabulate.py) and
the document's own file, `document`; `claims`, config/claims.yaml's of the document; `names` and `labels`, what rows are
called in general and in the document, by implementation; `machine_names`; `entries`, config/implementations.yaml of the rows.
"""

import dataclasses
import importlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from plan import matrix
from reporting import blocks, published, words
from stats.rounds import Look
from stats.samples import Prior, Times, with_prior

OK = "ok"


@dataclass(frozen=True)
class Tables:
    """cells: a row a cell and machine, as in cells.csv, with `label`, `name`, `family`, `flexibility`, `generation`.
    published: a row a printed number (reporting/published.py)."""

    cells: pd.DataFrame
    published: pd.DataFrame

    def measured(self, **equal: object) -> pd.DataFrame:
        """The cells with a number, of those whose columns are equal to these."""
        return those(self.cells, status=OK, **equal)


def those(cells: pd.DataFrame, **equal: object) -> pd.DataFrame:
    """The cells whose columns are equal to these."""
    for column, value in equal.items():
        cells = cells[cells[column] == value]
    return cells


def error(row: Mapping) -> float | None:
    """The largest error against float64 that a row's check found, of outputs or gradients."""
    found = [row[key] for key in ("output_error", "gradient_error") if pd.notna(row[key])]
    return max(found, default=None)


def on_one_device(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells on the CPU, or where there are none those on the GPU."""
    on_cpu = cells[cells["device"] == "cpu"]
    return cells if on_cpu.empty else on_cpu


def on(cells: pd.DataFrame, benchmarks: Sequence[str]) -> pd.DataFrame:
    """The cells on benchmarks of these names, * as in file names."""
    taking = [matrix.takes_part(benchmarks, name) for name in cells["benchmark"]]
    return cells[np.array(taking, bool)]


def took_part(cells: pd.DataFrame, about: Mapping) -> pd.Series:
    """Of each cell, whether its device took part on its machine."""
    devices = {each["machine"]: each["devices"] for each in about["machines"]}
    pairs = zip(cells["machine"], cells["device"], strict=True)
    found = [device in devices.get(machine, ()) for machine, device in pairs]
    return pd.Series(found, cells.index, dtype=bool)


def read(cells: pd.DataFrame, about: Mapping, machine: str = "") -> tuple[Tables, dict]:
    """(tables, about) of a document on one machine, on all unless given, from its tables and what stands beside them, with
    what config/ says of it."""
    if machine:
        cells = cells[cells["machine"] == machine].reset_index(drop=True)
        about = {**about} | {
            key: [each for each in about[key] if each["machine"] == machine]
            for key in ("machines", "trainings")
        }
    name = about["name"]
    document = matrix.document(name)
    entries = matrix.implementations()
    names = words.names(entries)
    labels = {entry["implementation"]: entry["label"] for entry in entries}
    labels |= document.get("labels", {})

    columns = ["implementation", "family", "flexibility"]
    known = pd.DataFrame(entries).reindex(columns=columns)
    cells = with_noise(cells).merge(known, on="implementation", how="left")
    cells = cells.assign(
        label=cells["implementation"].map(labels),
        name=cells["implementation"].map(names),
        generation=cells["environment"].map(matrix.generation),
    )
    shown = set(cells["implementation"])
    context = {
        "document": document,
        "claims": [claim for claim in matrix.claims() if claim["document"] == name],
        "names": names,
        "labels": labels,
        "machine_names": words.machines((m["machine"], m["facts"]) for m in about["machines"]),
        "entries": [entry for entry in entries if entry["implementation"] in shown],
    }
    return Tables(cells, published.numbers(matrix.published_files(name))), {**about, **context}


def with_noise(cells: pd.DataFrame) -> pd.DataFrame:
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


def load(section: str) -> ModuleType:
    return importlib.import_module(f"reporting.sections.{section}")


def plain(value: Any) -> Any:
    """JSON of what an analysis returns: no number is None, NumPy's are Python's, tuples are lists."""
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).strip().replace(" ", "-")


# Of an entry, what is not an option of its section.
HEADING = ("section", "title", "level", "line")


def analysed(
    entries: Sequence[Mapping], tables: Tables, about: Mapping, save: Callable[[str, Any], None]
) -> Iterator[dict]:
    """Every section of a list that has something to say: {"section", "title", "data": its answer, "blocks"}.
    `save` writes a figure below a file's name."""
    for entry in entries:
        options = {key: value for key, value in entry.items() if key not in HEADING}
        module = load(entry["section"])
        if (answer := module.analyse(tables, about, **options)) is None:
            continue
        title = entry.get("title", getattr(module, "TITLE", ""))
        written = [blocks.Heading(title, entry.get("level", 2))] if title else []
        if hasattr(module, "draw"):
            figure, text = module.draw(answer, tables, about, **options)
            name = "-".join(filter(None, [entry["section"], slug(entry.get("title", ""))]))
            save(f"{name}.svg", figure)
            written.append(blocks.Figure(f"{name}.svg", text))
        written += module.write(answer)
        found = {"section": entry["section"], "title": title, "data": plain(answer)}
        yield found | {"blocks": blocks.as_data(written)}
