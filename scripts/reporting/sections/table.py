"""A table of a document: its rows and columns in its order, this machine's numbers beside the published ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from plan.matrix import NOW
from reporting.blocks import Block, Table, Text
from reporting.consistency import BATCHES
from reporting.layout import DASH, three_digits, within
from reporting.sections import OK, Tables

PHASES = {"forward": "forward-only", "training": "entire-training"}
KEY = ("benchmark", "implementation", "phase")
SCALES = {"s": 1.0, "ms": 1e3, "": 1.0}
BOUNDS = {"wall_median_s": "wall", "words_per_s": "wall", "speedup": "speedup"}
OF_MEAN = {"elapsed_s": 1, "sequences_per_s": -1, "words_per_s": -1}  # powers of the mean batch


@dataclass(frozen=True)
class Value:
    """A measured number with its 95 % interval, or why there is none, and the digits that were published."""

    status: str
    value: float | None = None
    ends: tuple[float, float] | None = None  # of the interval
    published: str = ""


@dataclass(frozen=True)
class Answer:
    heads: list[str]
    rows: list[tuple[list[str], list[Value]]]  # names and values
    device: str
    there: bool  # whether the device took part


def analyse(
    tables: Tables,
    about: Mapping,
    device: str,
    columns: Sequence[Mapping],
    names: Sequence[Sequence[str]] = (("", "label"),),
    lines: Sequence[int] = (),
    rows: Sequence[Mapping] = (),
) -> Answer:
    """`lines`: the first and last line of the published table, a row each; `rows`: those without published numbers. `columns`: {"head", "quantity",
    "unit", "within": whether with interval, "published": a quantity that was printed, "as": whose, or what of the row's own is another there: "benchmark",
    "implementation", "environment", "generation"}. `names`: [heading, `label` or what of the benchmark's shape]."""
    printed = tables.published
    if lines:
        own = printed["document"] == about["document"]["origin"]["numbers"][0]
        printed = printed[own & printed["line"].between(*lines)]
        first = printed.drop_duplicates("line")[["line", *KEY]].to_dict("records")
        rows = sorted([*first, *rows], key=lambda row: row["line"])
    cells = tables.cells[tables.cells["device"] == device]
    found = []
    for row in rows:
        values = [_value(row, column, cells, printed) for column in columns]
        found.append(([_name(row, how, about) for _, how in names], values))
    there = any(device in machine["devices"] for machine in about["machines"])
    heads = [*(head for head, _ in names), *(column["head"] for column in columns)]
    return Answer(heads, found, device, there)


def _name(row: Mapping, how: str, about: Mapping) -> str:
    if how == "label":
        phase = len(about["document"]["phases"]) > 1 and PHASES[row["phase"]]
        old = f", {row['generation']}" if row.get("generation", NOW) != NOW else ""
        return about["labels"][row["implementation"]] + (f" ({phase})" if phase else old)
    shape = about["document"]["benchmarks"][row["benchmark"]]
    if how == "batch(layers)":
        return f"{shape['batch']}" + (f"({shape['layers']})" if shape["layers"] > 1 else "")
    return ", ".join(str(shape[key]) for key in how.split(", "))


def _value(row: Mapping, column: Mapping, cells: pd.DataFrame, printed: pd.DataFrame) -> Value:
    digits = _digits(row, column, printed) if "published" in column else ""
    if "quantity" not in column:
        return Value("", published=digits)
    same = cells["generation"] == (column.get("generation") or row.get("generation", NOW))
    for key in KEY:
        wanted = column.get(key) or row.get(key)
        if wanted:
            same &= cells[key] == wanted
    if not same.any():
        return Value("", published=digits)
    own = cells.iloc[same.to_numpy().argmax()]
    value = own[column["quantity"]]
    if column["quantity"] == "elapsed_s":  # as many as the document's, not as a process took
        value *= BATCHES / own["batches"]
    if own["status"] != OK or pd.isna(value):
        return Value("" if own["status"] == OK else own["status"], published=digits)
    scale = SCALES[column.get("unit", "")]
    power = OF_MEAN.get(column["quantity"], 0)
    shown = float(value) * scale * (own["wall_median_s"] / own["wall_s"]) ** power
    ends = _ends(own, column["quantity"]) if column.get("within", True) else None
    if ends and power:
        ends = tuple(sorted(shown * (end / own["wall_median_s"]) ** power for end in ends))
    elif ends:
        ends = tuple(end * scale for end in ends)
    return Value(OK, shown, ends, digits)


def _ends(row: Mapping, quantity: str) -> tuple[float, float] | None:
    of = BOUNDS.get(quantity)
    if of is None or row["interval"] != "confidence":
        return None
    ends = ("low_s", "high_s") if of == "wall" else ("low", "high")
    low, high = (float(row[f"{of}_{end}"]) for end in ends)
    return None if pd.isna(low) or low <= 0 else (low, high)


def _digits(row: Mapping, column: Mapping, printed: pd.DataFrame) -> str:
    """A published number with the digits and the unit of its document."""
    own, other = ({key: each[key] for key in KEY if key in each} for each in (row, column))
    wanted = own | other | column.get("as", {})
    same = printed["quantity"] == column["published"]
    for key, value in wanted.items():
        same &= printed[key] == value
    if "line" in row:
        same &= printed["line"] == row["line"]
    for each in printed[same].itertuples():
        mantissa, _, power = each.printed.partition("e")
        if column.get("unit") == "ms" or not power:
            return mantissa
        return f"{each.value:,.0f}"
    return ""


def _shown(value: Value, both: bool) -> str:
    text = DASH
    if value.value is not None:
        text = three_digits(value.value)
        if value.ends:
            text += f" {within(value.value, *value.ends)}"
    elif value.status and value.status not in ("not-run", "unsupported"):
        text = f"*{value.status}*"
    if not value.published:
        return text
    return f"{text} ({value.published})" if both else value.published


def write(answer: Answer) -> Iterator[Block]:
    device = answer.device.upper()
    if not answer.there:
        yield Text(f"Not measured: no {device} was used on this machine.")
        return
    rows = [
        [*names, *(_shown(value, bool(value.status)) for value in values)]
        for names, values in answer.rows
    ]
    if any(value.value is not None for _, values in answer.rows for value in values):
        yield Table(answer.heads, rows)
    elif rows:
        yield Text(f"Not measured on this machine: {len(rows)} results on the {device}.")
