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
    has them: {"verdict", "worst": the point where they differ most for its bound, None if no two rows have one in
    common; "points": [{"batch", "lowest" and "highest" validation perplexity, "spread": highest / lowest - 1, "within":
    its bound, "rows": how many}]}."""
    values: dict[int, list[float]] = {}
    for each in rows:
        for point in each["curve"]:
            values.setdefault(point["batch"], []).append(point["valid_perplexity"])
    found = [
        {
            **{"batch": batch, "lowest": min(those), "highest": max(those), "rows": len(those)},
            **{"spread": max(those) / min(those) - 1, "within": bound_at(batch, points)},
        }
        for batch, those in sorted(values.items())
        if len(those) > 1
    ]
    if not found:
        return {"verdict": MISSING, "worst": None, "points": found}
    worst = max(found, key=lambda point: point["spread"] / point["within"])
    verdict = HOLDS if worst["spread"] <= worst["within"] else FAILS
    return {"verdict": verdict, "worst": worst, "points": found}


def reached(rows: list[dict], known: Mapping | None) -> dict | None:
    """`known`, and whether every row that trained an epoch came to it: {"verdict", "rows": how many did train one,
    "valid_perplexity" and "train_perplexity" of theirs, the middle}. None where nothing is known."""
    if not known:
        return None
    ends = [
        point for each in rows for point in each["curve"] if point["batch"] == each["epoch_batches"]
    ]
    found = {"verdict": MISSING, "rows": len(ends), "known": dict(known)}
    if ends:
        values = [point["valid_perplexity"] for point in ends]
        ratios = [value / known["valid_perplexity"] for value in values]
        near = all(abs(ratio - 1) <= known["within"] for ratio in ratios)
        found["verdict"] = HOLDS if near else FAILS
        for key in ("valid_perplexity", "train_perplexity"):
            found[key] = statistics.median(point[key] for point in ends)
    return found
