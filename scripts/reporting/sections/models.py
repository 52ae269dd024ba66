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
class Answer:
    models: list[dict[str, str]]  # {heading: cell}


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
        outputs = shape.get("outputs", shape.get("vocabulary"))
        found.append(
            {
                "Benchmark": name,
                "Layers x units": f"{shape['layers']}x{shape['hidden']}{ways}",
                "Input (N x T x C)": f"{shape['batch']}x{shape['length']}x{features}",
                "Sequence length": f"{shortest}{shape['length']}",
                "Outputs": f"{outputs:,}" if outputs else DASH,
                "Loss": LOSSES.get(loss, ""),
                "Optimizer": by,
                "Parameters": f"{Workload(shape, None, seed=0).parameters():,}",
                "Published parameters": f"{published[name]:,.0f}" if name in published else DASH,
            }
        )
    return Answer(found) if found else None


def write(answer: Answer) -> Iterator[Block]:
    yield Table([*answer.models[0]], [[*model.values()] for model in answer.models])
