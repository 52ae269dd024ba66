"""The shapes that are timed, with their parameters counted."""

from measurement.workload import Workload

TITLE = "Model"
LOSSES = {
    "ce-last": "cross-entropy of the last step",
    "ctc": "CTC",
    "ce-sum": "cross-entropy, sum over steps",
    "ce": "cross-entropy, mean over tokens",
}


def analyse(
    tables, about, columns=("embedding", "layers", "input", "outputs", "loss", "parameters")
):
    """{"rows": a row a benchmark that departs from none, "columns": those to show}"""
    printed = tables.published[tables.published["quantity"] == "parameters"]
    published = dict(zip(printed["benchmark"], printed["value"], strict=True))
    found = []
    for name, shape in about["document"]["benchmarks"].items():
        if "baseline" in shape:
            continue
        width = shape.get("features") or shape.get("embedding")
        optimizer = shape.get("optimizer", {})
        clip = f", norm clipped at {optimizer['clip_norm']}" if "clip_norm" in optimizer else ""
        found.append(
            {
                "benchmark": name,
                "layers": f"{shape['layers']}x{shape['hidden']}"
                + (" bidirectional" if shape.get("bidirectional") else ""),
                "input": f"{shape['batch']}x{shape['length']}x{width}",
                "steps": (f"{shape['shortest']} to " if "shortest" in shape else "")
                + str(shape["length"]),
                "outputs": shape.get("outputs", shape.get("vocabulary")),
                "loss": LOSSES.get(shape.get("loss", "ce" if "vocabulary" in shape else None)),
                "optimizer": f"{optimizer['name']}, rate {optimizer['learning_rate']}{clip}"
                if optimizer
                else None,
                "dropout": shape.get("dropout"),
                "range": shape.get("weight_range"),
                "parameters": Workload(shape, None, seed=0).parameters(),
                "published": published.get(name),
            }
        )
    return {"rows": found} if found else None
