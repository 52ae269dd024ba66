"""The shapes that are timed, with their parameters counted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from measurement.workload import Workload
from reporting.blocks import Block, Table
from reporting.layout import DASH
from reporting.sections import Tables

LOSSES = {
    "ce-last": "cross-entropy of the last step",
    "ctc": "CTC",
    "ce-sum": "cross-entropy, sum over steps",
    "ce": "cross-entropy, mean over tokens",
}


@dataclass(frozen=True)
class Model:
    benchmark: str
    layers: str
    input: str  # batch x steps x features
    steps: str
    outputs: int | None
    loss: str
    optimizer: str
    parameters: int
    published: float | None  # parameters


@dataclass(frozen=True)
class Answer:
    models: list[Model]


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    """Of benchmarks that are no variations of others."""
    printed = tables.published[tables.published["quantity"] == "parameters"]
    published = dict(zip(printed["benchmark"], printed["value"], strict=True))
    found = []
    for name, shape in about["document"]["benchmarks"].items():
        if "baseline" in shape:
            continue
        features = shape.get("features") or shape.get("embedding")
        optimizer = shape.get("optimizer", {})
        clip = f", norm clipped at {optimizer['clip_norm']}" if "clip_norm" in optimizer else ""
        ways = " bidirectional" if shape.get("bidirectional") else ""
        shortest = f"{shape['shortest']} to " if "shortest" in shape else ""
        loss = shape.get("loss", "ce" if "vocabulary" in shape else "")
        by = f"{optimizer['name']}, rate {optimizer['learning_rate']}{clip}" if optimizer else ""
        found.append(
            Model(
                benchmark=name,
                layers=f"{shape['layers']}x{shape['hidden']}{ways}",
                input=f"{shape['batch']}x{shape['length']}x{features}",
                steps=f"{shortest}{shape['length']}",
                outputs=shape.get("outputs", shape.get("vocabulary")),
                loss=LOSSES.get(loss, ""),
                optimizer=by,
                parameters=Workload(shape, None, seed=0).parameters(),
                published=published.get(name),
            )
        )
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    yield Table.of(
        answer.models,
        {
            "Benchmark": "benchmark",
            "Layers x units": "layers",
            "Input (N x T x C)": "input",
            "Sequence length": "steps",
            "Outputs": lambda each: f"{each.outputs:,}" if each.outputs else DASH,
            "Loss": "loss",
            "Optimizer": "optimizer",
            "Parameters": lambda each: f"{each.parameters:,}",
            "Published parameters": lambda each: (
                f"{each.published:,.0f}" if each.published else DASH
            ),
        },
    )
