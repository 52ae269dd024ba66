"""Whether published numbers agree with each other, within what their rounding allows."""

from collections.abc import Collection, Iterable, Iterator, Mapping

import pandas as pd

from reporting import published

BATCHES = 50  # timed in documents 000 and 001
BATCH = 128  # sequences of theirs
PLAIN = 0.01  # a deviation above this is no slip of rounding

Interval = tuple[float, float]
# One of the printed numbers: a row of published.numbers, with its columns as attributes.
Published = dict[str, object]


def _gap(one: Interval, other: Interval) -> float:
    """Distance between two intervals relative to the second one's middle; 0 where they meet."""
    distance = max(one[0] - other[1], other[0] - one[1], 0.0)
    return distance / ((other[0] + other[1]) / 2)


def _over(one: Interval, other: Interval) -> Interval:
    return one[0] / other[1], one[1] / other[0]


def _interval(number) -> Interval:
    return number.low, number.high


def _contradiction(number, consistent: float, deviation: float, because: str) -> dict:
    return {
        **{key: getattr(number, key) for key in ("document", "line", *published.KEY, "quantity")},
        "printed": number.printed,
        "consistent": consistent,
        "factor": number.value / consistent,
        "plain": deviation > PLAIN,
        "either": False,
        "because": because,
    }


def _compared(number, expected: Interval, consistent: float, because: str) -> list[dict]:
    """The contradiction between a printed number and where others say that it lies, if there is one."""
    deviation = _gap(_interval(number), expected)
    return [_contradiction(number, consistent, deviation, because)] if deviation else []


def timings(cell: Published, copied: Collection[str] = ()) -> Iterator[dict]:
    """Documents 000 and 001: elapsed time = 50 x wall time, sequences per second = 128 / wall time. Of the three
    numbers, the one that differs from the two others; but digits that were copied from another row (`copied`: names of
    quantities) are no second voice: where the two others were, it is they that are wrong."""
    if not {"wall_s", "elapsed_s", "sequences_per_s"} <= cell.keys():
        return
    elapsed, rate = _interval(cell["elapsed_s"]), _interval(cell["sequences_per_s"])
    walls = {
        "wall_s": _interval(cell["wall_s"]),
        "elapsed_s": (elapsed[0] / BATCHES, elapsed[1] / BATCHES),
        "sequences_per_s": _over((BATCH, BATCH), rate),
    }
    gaps = {
        name: [_gap(walls[name], walls[other]) for other in walls if other != name]
        for name in walls
    }
    odd = max(gaps, key=lambda name: min(gaps[name]))
    if not max(gaps[odd]):
        return
    others = {*walls} - {odd}
    wrong, right = ({odd}, others) if not others <= {*copied} else (others, {odd})
    wall = sum(sum(walls[name]) / 2 for name in right) / len(right)
    printed = {"wall_s": wall, "elapsed_s": wall * BATCHES, "sequences_per_s": BATCH / wall}
    made = {
        "wall_s": {
            "elapsed_s": f"elapsed time / {BATCHES}",
            "sequences_per_s": f"{BATCH} / sequences per second",
        },
        "elapsed_s": {"wall_s": f"{BATCHES} x wall time"},
        "sequences_per_s": {"wall_s": f"{BATCH} / wall time"},
    }
    for name in walls:
        if name in wrong:
            because = ", ".join(made[name][other] for other in walls if other in made[name])
            deviation = max(_gap(walls[name], walls[other]) for other in right)
            yield _contradiction(cell[name], printed[name], deviation, because)


def summaries(cell: Published) -> Iterator[dict]:
    """Document 002: mean and median lie between minimum and maximum; the standard deviation is no less than
    the distance of mean and median, and no more than the range over the root of 2."""
    if not {"min_s", "max_s", "median_s", "std_s", "wall_s"} <= cell.keys():
        return
    low, high = cell["min_s"].low, cell["max_s"].high
    mean, median = cell["wall_s"], cell["median_s"]
    apart = max(mean.low - median.high, median.low - mean.high, 0.0)
    for name, bounds, because in (
        ("wall_s", (low, high), "between minimum and maximum"),
        ("median_s", (low, high), "between minimum and maximum"),
        ("std_s", (apart, (high - low) / 2**0.5), "from |mean - median| to range / root of 2"),
    ):
        nearest = min(max(cell[name].value, bounds[0]), bounds[1])
        if found := _compared(cell[name], bounds, nearest, because):
            yield from found
            return  # a wrong mean or median leaves the standard deviation nothing to be held against


def parameters(shape: Mapping[str, float], biases: int) -> int:
    """Weights of a stack of LSTM layers and a dense layer without bias, as document 003's scripts build them.

    A layer and direction has 4 H (D + H + biases): frameworks have one bias a gate or two.
    """
    hidden, directions = int(shape["hidden"]), int(shape["directions"])
    widths = [int(shape["features"])] + [directions * hidden] * (int(shape["layers"]) - 1)
    cells = sum(directions * 4 * hidden * (width + hidden + biases) for width in widths)
    return cells + directions * hidden * int(shape["outputs"])


def parameter_counts(benchmark: Published) -> Iterator[dict]:
    """Document 003: a model's weights follow from its shape, with one bias a gate or two."""
    if not {"parameters", "layers", "directions", "hidden", "features"} <= benchmark.keys():
        return
    shape = {name: number.value for name, number in benchmark.items()}
    one, two = (parameters(shape, biases) for biases in (1, 2))
    printed = benchmark["parameters"]
    nearest = min((one, two), key=lambda count: abs(count - printed.value))
    because = f"the shape: {one:,} with one bias a gate, {two:,} with two"
    yield from _compared(printed, (nearest, nearest), nearest, because)


def speedups(numbers: pd.DataFrame, cells: Mapping[tuple, Published]) -> Iterator[dict]:
    """Document 004: a speed-up is the ratio of two numbers of words per second."""
    for number in numbers[numbers["quantity"] == "speedup"].itertuples():
        other = number._replace(implementation=number.over)
        fast, slow = (cells.get(_key(each), {}).get("words_per_s") for each in (number, other))
        if fast and slow:
            ratio = _over(_interval(fast), _interval(slow))
            if fast is slow:
                ratio = (1.0, 1.0)
            because = f"{fast.printed} (line {fast.line}) / {slow.printed} (line {slow.line})"
            yield from _compared(number, ratio, fast.value / slow.value, because)


def words(cell: Published, benchmark: Published) -> Iterator[dict]:
    """Document 004: words per second = batch x steps / time of a batch. Of two numbers nothing shows which one is wrong."""
    if not ({"words_per_s", "wall_s"} <= cell.keys() and {"batch", "length"} <= benchmark.keys()):
        return
    batch, length = int(benchmark["batch"].value), int(benchmark["length"].value)
    rate = _over((batch * length, batch * length), _interval(cell["wall_s"]))
    wall = cell["wall_s"]
    because = f"{batch} x {length} words (line {benchmark['batch'].line}) in {wall.printed} s (line {wall.line}), if of the same model"
    for found in _compared(cell["words_per_s"], rate, batch * length / wall.value, because):
        yield found | {"either": True}


def _key(number) -> tuple:
    return tuple(getattr(number, name) for name in ("document", *published.KEY))


def _cells(numbers: pd.DataFrame) -> dict[tuple, Published]:
    """{(document, benchmark, implementation, phase, device): {quantity: printed number}}; what is printed of a
    benchmark itself has empty strings for the others."""
    found = {}
    for number in numbers[numbers["quantity"] != "speedup"].itertuples():
        found.setdefault(_key(number), {})[number.quantity] = number
    return found


def _copied(cell: Published, numbers: pd.DataFrame) -> list[str]:
    """Which of an elapsed time and a rate of a cell have digits that stand in another row too."""

    def rows(name: str) -> int:
        return ((numbers["quantity"] == name) & (numbers["printed"] == cell[name].printed)).sum()

    return [name for name in ("elapsed_s", "sequences_per_s") if name in cell and rows(name) > 1]


def contradictions(paths: Iterable[str]) -> list[dict]:
    """Published numbers that cannot be right if the others are, in the order of documents and lines.

    A dict has the number's cell, `document`, `line`, `quantity` and `printed`; `consistent`: what the others
    make of it, `because`: which others and how, `plain`: whether it is far off, `either`: whether the other number may as well be
    the wrong one.
    """
    numbers = published.numbers(paths)
    cells = _cells(numbers)
    found = list(speedups(numbers, cells))
    for key, cell in cells.items():
        found += timings(cell, _copied(cell, numbers))
        found += summaries(cell)
        found += parameter_counts(cell)
        found += words(cell, cells.get((*key[:2], "", "", ""), {}))
    return sorted(found, key=lambda entry: (entry["document"], entry["line"]))
