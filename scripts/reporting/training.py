"""Training runs: what perplexity each implementation comes to, and whether they all train the same model."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from stats.claims import FAILS, HOLDS, MISSING


def bound_at(batch: int, points: Sequence[Mapping]) -> float:
    """How far perplexities may be apart after a batch: what the document says of that point; between two of them the
    wider bound, as nobody knows when the one becomes the other; after all of them the last one's."""
    before = [point["within"] for point in points if point["batch"] <= batch][-1:]
    after = [point["within"] for point in points if point["batch"] >= batch][:1]
    at = [point["within"] for point in points if point["batch"] == batch]
    return max(at or before + after)


def agreement(rows: Iterable[dict], points: Sequence[Mapping]) -> dict:
    """Whether implementations that start from the same weights come to the same perplexity, with `points` as a document
    has them: {"verdict", "worst": {"batch", "spread": highest / lowest validation perplexity - 1, "within": its bound} of the point
    where they differ most for its bound, None if no two rows have one in common}."""
    values: dict[int, list[float]] = {}
    for each in rows:
        for point in each["curve"]:
            values.setdefault(point["batch"], []).append(point["valid_perplexity"])
    found = [
        {
            "batch": batch,
            "spread": max(those) / min(those) - 1,
            "within": bound_at(batch, points),
        }
        for batch, those in sorted(values.items())
        if len(those) > 1
    ]
    worst = max(found, key=lambda point: point["spread"] / point["within"], default=None)
    if not worst:
        return {"verdict": MISSING, "worst": None}
    return {"verdict": HOLDS if worst["spread"] <= worst["within"] else FAILS, "worst": worst}


def reached(rows: list[dict], known: Mapping | None) -> dict | None:
    """`known`, and whether every row that trained an epoch came to it: {"verdict", "known", "rows": how many did train one,
    "valid_perplexity" of theirs, the middle}. None where nothing is known."""
    if not known:
        return None
    values = [
        point["valid_perplexity"]
        for each in rows
        for point in each["curve"]
        if point["batch"] == each["epoch_batches"]
    ]
    found = {"verdict": MISSING, "rows": len(values), "known": known}
    if values:
        near = all(
            abs(value / known["valid_perplexity"] - 1) <= known["within"] for value in values
        )
        found["verdict"] = HOLDS if near else FAILS
        found["valid_perplexity"] = statistics.median(values)
    return found
