"""Implementations that divide a batch among workers: how much of their number they gain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting.blocks import Block, Table, Text
from reporting.layout import brief
from reporting.sections import Tables

TITLE = "Two workers"


@dataclass(frozen=True)
class Row:
    label: str
    environment: str
    benchmark: str
    words_per_s: float
    undivided: str
    scaling: str  # with its interval


@dataclass(frozen=True)
class Answer:
    rows: list[Row]
    published: dict[str, float]  # what the document's two GPUs reached


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    cells = tables.measured()
    cells = cells[cells["workers"].notna()]
    if cells.empty:
        return None
    printed = tables.published[tables.published["implementation"] == "tensorflow/data-parallel"]
    # Over one GPU by another row is no scaling.
    printed = printed[printed["over"].isin(["", *cells["undivided"]])]
    published = dict(zip(printed["quantity"], printed["value"], strict=True))
    kept = ("label", "environment", "benchmark", "words_per_s")
    rows = []
    for row in cells.to_dict("records"):
        scaling = brief(*(row[f"scaling{end}"] for end in ("", "_low", "_high")))
        rows.append(Row(*(row[key] for key in kept), about["labels"][row["undivided"]], scaling))
    return Answer(rows, published)


def write(answer: Answer) -> Iterator[Block]:
    text = (
        "Each worker takes half of a batch; gradients are averaged before they are clipped. *Efficiency*: words per second over "
        "those of the undivided computation, divided by the number of workers. On one CPU the workers share its cores, so "
        "50 % means that dividing costs nothing."
    )
    if "words_per_s" in answer.published:
        text += f" The document: {answer.published['words_per_s']:,.0f} words per second"
        if "speedup" in answer.published:
            text += f", {answer.published['speedup']:.2g} times one GPU"
        text += "."
    yield Text(text)
    columns = {"Implementation": "label", "Versions": "environment", "Benchmark": "benchmark"}
    columns |= {"Words per second": lambda each: f"{each.words_per_s:,.0f}"}
    yield Table.of(answer.rows, columns | {"Undivided": "undivided", "Efficiency": "scaling"})
