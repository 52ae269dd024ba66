"""Where the time of a batch goes on a GPU: what its kernels take, and how long it waits for the host to launch them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting.blocks import Block, Table, Text
from reporting.layout import DASH, none, percent, time
from reporting.sections import Tables

COLUMNS = ["name", "phase", "wall_median_s", "launched_s", "kernel_s", "kernels", "waiting"]


@dataclass(frozen=True)
class Answer:
    rows: list[tuple]  # COLUMNS by name, `waiting`: the share of a batch in which no kernel runs


def analyse(tables: Tables, about: Mapping, benchmark: str) -> Answer | None:
    """Of the rows of which a framework told it."""
    cells = tables.measured(device="gpu", benchmark=benchmark)
    cells = cells[cells["launched_s"].notna()].sort_values(["phase", "wall_median_s"])
    waiting = 1 - cells["kernel_s"] / cells["wall_median_s"]
    found = [*cells.assign(waiting=waiting.clip(lower=0))[COLUMNS].itertuples(index=False)]
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        "*Launched*: until the host has launched all of a batch. *Kernels*: the sum of kernels and copies on the GPU (CUPTI). Where "
        "launching takes as long as the batch, the GPU waits for the host."
    )
    columns = {"Implementation": "name", "Phase": "phase"}
    columns |= {"Batch": lambda each: time(each.wall_median_s)}
    columns |= {"Launched": lambda each: time(each.launched_s)}
    columns |= {"Kernels": lambda each: time(each.kernel_s)}
    columns |= {
        "Number of kernels": lambda each: DASH if none(each.kernels) else f"{each.kernels:.0f}"
    }
    yield Table.of(answer.rows, columns | {"GPU waits": lambda each: percent(each.waiting)})
