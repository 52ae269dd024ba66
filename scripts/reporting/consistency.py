"""Whether published numbers agree with each other, within what their rounding allows."""

import itertools
from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

import matrix
from reporting import published

BATCHES = 50  # timed in documents 000 and 001
BATCH = 128  # sequences of theirs
PLAIN = 0.01  # a deviation above this is no slip of rounding

Interval = tuple[float, float]
# One of the printed numbers: a row of published.numbers, with its columns as attributes.
Cell = dict[str, object]


def files_of(document: str) -> list[str]:
    """The published files of a document, and of its earlier states."""
    return matrix.published_files(f"{document}*")


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
        "deviation": deviation,
        "plain": deviation > PLAIN,
        "because": because,
        "also": [],
        "corrects": True,
    }


def _compared(number, expected: Interval, consistent: float, because: str) -> Iterator[dict]:
    """The contradiction between a printed number and where others say that it lies, if there is one."""
    if deviation := _gap(_interval(number), expected):
        yield _contradiction(number, consistent, deviation, because)


def timings(cell: Cell, copied: Mapping[str, list[str]]) -> Iterator[dict]:
    """Documents 000 and 001: elapsed time = 50 x wall time, sequences per second = 128 / wall time. Of the three
    numbers, the one that differs from the two others; but two whose digits both stand elsewhere (`copied`: where, by
    quantity) are one witness, and not of this row: they do not outvote a third."""
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
    others = [name for name in walls if name != odd]
    wrong = others if all(copied.get(name) for name in others) else [odd]
    right = [name for name in walls if name not in wrong]
    wall = sum(sum(walls[name]) / 2 for name in right) / len(right)
    consistent = {"wall_s": wall, "elapsed_s": wall * BATCHES, "sequences_per_s": BATCH / wall}
    because = {
        "wall_s": f"elapsed time / {BATCHES}, {BATCH} / sequences per second",
        "elapsed_s": f"{BATCHES} x wall time",
        "sequences_per_s": f"{BATCH} / wall time",
    }
    for name in wrong:
        deviation = max(_gap(walls[name], walls[other]) for other in right)
        why = because[name] + ("; both others are copies" if len(wrong) > 1 else "")
        yield _contradiction(cell[name], consistent[name], deviation, why)


def summaries(cell: Cell) -> Iterator[dict]:
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
        if found := list(_compared(cell[name], bounds, nearest, because)):
            yield from found
            return  # a wrong mean or median leaves the standard deviation nothing to be held against


def parameters(shape: dict[str, float], biases: int) -> int:
    """Weights of a stack of LSTM layers and a dense layer without bias, as document 003's scripts build them.

    A layer and direction has 4 H (D + H + biases): frameworks have one bias a gate or two.
    """
    hidden, directions = int(shape["hidden"]), int(shape["directions"])
    widths = [int(shape["features"])] + [directions * hidden] * (int(shape["layers"]) - 1)
    lstm = sum(directions * 4 * hidden * (width + hidden + biases) for width in widths)
    return lstm + directions * hidden * int(shape["outputs"])


def explained(shape: dict[str, float], printed) -> str:
    """What model has as many weights as are printed, its digits cut or rounded: an LSTM or a GRU, with one bias a gate or
    two, whose dense layer takes one direction's outputs or two; empty where none has."""
    unit = printed.high - printed.low
    for name, gates in (("an LSTM", 4), ("a GRU", 3)):
        for biases, widths in itertools.product((1, 2), (1, 2)):
            width = widths * int(shape["directions"]) * int(shape["hidden"])
            dense = width * int(shape["outputs"])
            layers = parameters({**shape, "outputs": 0}, biases) * gates // 4
            if printed.value <= layers + dense < printed.value + unit:
                if (gates, widths) == (4, 1):
                    return "the shape's own, its digits cut"
                many = "a bias" if biases == 1 else "two biases"
                return f"that of {name} with {many} a gate, whose last layer takes {width} inputs"
    return ""


def orders(numbers: pd.DataFrame) -> Iterator[dict]:
    """Document 002: a layer or stack that is smaller in some sizes and larger in none takes no more time. Which of the
    two numbers is wrong it does not tell."""
    walls = numbers[(numbers["quantity"] == "wall_s") & (numbers["document"] == "002")]
    shapes = matrix.document("tvm-lstm")["benchmarks"]
    sizes = ("batch", "length", "hidden", "layers")
    known = [row for row in walls.itertuples() if row.benchmark in shapes]
    for small in known:
        larger = [
            row
            for row in known
            if (row.implementation, row.device) == (small.implementation, small.device)
            and row.benchmark != small.benchmark
            and all(shapes[row.benchmark][size] >= shapes[small.benchmark][size] for size in sizes)
            and row.high < small.low
        ]
        if larger:
            fast = min(larger, key=lambda row: row.value)
            because = f"no more than {fast.benchmark}, a larger problem: {fast.printed} s (line {fast.line})"
            deviation = _gap(_interval(small), _interval(fast))
            yield _contradiction(small, fast.value, deviation, because) | {"corrects": False}


def parameter_counts(benchmark: Cell) -> Iterator[dict]:
    """Document 003: a model's weights follow from its shape, with one bias a gate or two."""
    if not {"parameters", "layers", "directions", "hidden", "features"} <= benchmark.keys():
        return
    shape = {name: number.value for name, number in benchmark.items()}
    one, two = (parameters(shape, biases) for biases in (1, 2))
    printed = benchmark["parameters"]
    nearest = min((one, two), key=lambda count: abs(count - printed.value))
    if not any(printed.low <= count <= printed.high for count in (one, two)):
        because = f"the shape: {one:,} with one bias a gate, {two:,} with two"
        if found := explained(shape, printed):
            because += f"; the printed number is {found}"
        yield from _compared(printed, (nearest, nearest), nearest, because)


def speedups(numbers: pd.DataFrame) -> Iterator[dict]:
    """Document 004: a speed-up is the ratio of two numbers of words per second."""
    key = ["document", *published.KEY]
    rates = {
        tuple(getattr(number, name) for name in key): number
        for number in numbers[numbers["quantity"] == "words_per_s"].itertuples()
    }
    for number in numbers[numbers["quantity"] == "speedup"].itertuples():
        cell = {name: getattr(number, name) for name in key}
        fast = rates.get(tuple(cell.values()))
        slow = rates.get(tuple((cell | {"implementation": number.over}).values()))
        if fast and slow:
            ratio = _over(_interval(fast), _interval(slow))
            if fast is slow:
                ratio = (1.0, 1.0)
            because = f"{fast.printed} (line {fast.line}) / {slow.printed} (line {slow.line})"
            yield from _compared(number, ratio, fast.value / slow.value, because)


def words(cell: Cell, benchmark: Cell) -> Iterator[dict]:
    """Document 004: words per second = batch x steps / time of a batch."""
    if not ({"words_per_s", "wall_s"} <= cell.keys() and {"batch", "length"} <= benchmark.keys()):
        return
    batch, length = int(benchmark["batch"].value), int(benchmark["length"].value)
    rate = _over((batch * length, batch * length), _interval(cell["wall_s"]))
    wall = cell["wall_s"]
    because = f"{batch} x {length} words (line {benchmark['batch'].line}) in {wall.printed} s (line {wall.line})"
    yield from _compared(cell["words_per_s"], rate, batch * length / wall.value, because)


def _cells(numbers: pd.DataFrame) -> dict[tuple, Cell]:
    """{(document, benchmark, implementation, phase, device): {quantity: printed number}}; what is printed of a
    benchmark itself has empty strings for the others."""
    found = {}
    for number in numbers[numbers["quantity"] != "speedup"].itertuples():
        key = tuple(getattr(number, name) for name in ("document", *published.KEY))
        found.setdefault(key, {})[number.quantity] = number
    return found


def _elsewhere(cell: Cell, numbers: pd.DataFrame) -> dict[str, list[str]]:
    """{quantity: where an elapsed time or a rate of a cell stands a second time}: where it may have been copied from."""
    found = {}
    for name in {"elapsed_s", "sequences_per_s"} & cell.keys():
        same = numbers[
            (numbers["quantity"] == name) & (numbers["printed"] == cell[name].printed)
        ].drop(index=cell[name].Index)
        found[name] = [
            f"{row.printed}: {row.document}, line {row.line}" for row in same.itertuples()
        ]
    return found


def contradictions(paths: Iterable[str]) -> list[dict]:
    """Published numbers that cannot be right if the others are, in the order of documents and lines.

    A dict has the number's cell, `document`, `line`, `quantity` and `printed`; `consistent`: what the others
    make of it, `because`: which others and how, `deviation`: relative, `plain`: whether it is a large one, `also`:
    where the same digits stand again; `corrects`: whether `consistent` is what the number has to be, and no bound.
    """
    numbers = published.numbers(paths)
    found = [*speedups(numbers), *orders(numbers)]
    cells = _cells(numbers)
    for key, cell in cells.items():
        copied = _elsewhere(cell, numbers)
        also = [
            place for name in ("elapsed_s", "sequences_per_s") for place in copied.get(name, [])
        ]
        found += [contradiction | {"also": also} for contradiction in timings(cell, copied)]
        found += summaries(cell)
        found += parameter_counts(cell)
        found += words(cell, cells.get((*key[:2], "", "", ""), {}))
    return sorted(found, key=lambda entry: (entry["document"], entry["line"]))
