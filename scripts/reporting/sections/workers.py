"""Implementations that divide a batch among workers: how much of their number they gain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting.blocks import Block, Table, Text
from reporting.layout import brief
from reporting.sections import Tables

TITLE = "Two workers"


@dataclass(frozen=True)
class Answer:
    rows: list[tuple]  # by name: `scaling` with its interval, `undivided` as pages call it
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
    scaling = cells[["scaling", "scaling_low", "scaling_high"]].itertuples(index=False)
    cells = cells.assign(
        undivided=cells["undivided"].map(about["labels"]),
        scaling=[brief(*each) for each in scaling],
    )
    kept = ["label", "environment", "benchmark", "words_per_s", "undivided", "scaling"]
    return Answer([*cells[kept].itertuples(index=False)], published)


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
