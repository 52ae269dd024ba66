"""What a run's numbers leave undecided, and how likely further processes are to decide it, so that time goes where it
decides most a second.

Chances are for ranking only: no verdict is made of them. That of an interval: its middle will move as its standard error
says, and its width is the one to expect of so many processes, as noisy as those that there are.
"""

import functools
import math
import statistics
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scipy import special

from plan.matrix import LEAST_PROCESSES
from stats import claims, estimates
from stats.claims import STOPPING
from stats.estimates import CONFIDENCE, EQUIVALENCE
from stats.quantities import Numbers
from stats.samples import Times

Key = tuple[str, ...]  # benchmark, implementation, phase, device
Interval = Callable[[float, int], tuple[float, float, float]]  # of a confidence and processes

ONE_ERROR = 0.6827  # confidence of an interval that reaches one standard error to either side
# What is less likely is left alone: on a machine whose processes differ by 10 % most that is undecided.
LEAST_CHANCE = 0.1
FAR = 10  # times the fastest row beside it, from which on nobody asks how far exactly
# So many cells' own numbers are worth as much: it needs up to sixteen cells, and is read first.
A_VERDICT = 100.0
# All ratios between two groups of rows, and verdicts on them, rest on what joins these.
A_JOINT = 10 * A_VERDICT
JOINING = 2  # rows of each side: of a single one all looks may be disturbed


class Statement(NamedTuple):
    """What is undecided, the cells that may decide it with so many processes each, and the chance that they do. One of the
    same name is another way to decide the same."""

    name: str
    processes: Mapping[Hashable, int]
    chance: float
    worth: float = 1.0


def inside(
    interval: Interval, ends: tuple[float, float], first: int, most: int, confidence: float
) -> float:
    """The chance that the interval of `most` processes will lie within two ends, after `first`."""
    (_, low, high), (_, below, above) = interval(confidence, most), interval(ONE_ERROR, 0)
    known = 0 < low <= high < math.inf and 0 < below <= above < math.inf
    if not known or ends[0] >= ends[1]:
        return 0.0
    middle, half = math.log(low * high) / 2, math.log(high / low) / 2
    move = max(math.log(above / below) / 2 * math.sqrt(1 - first / most), 1e-9)
    upper = (math.log(ends[1]) - half - middle) / move if ends[1] < math.inf else math.inf
    lower = (math.log(ends[0]) + half - middle) / move if ends[0] > 0 else -math.inf
    return max(0.0, float(special.ndtr(upper) - special.ndtr(lower)))


def _of_case(case: claims.Case, claim: Mapping, cases: int, most: int) -> tuple[float, float]:
    """(the chance that a case fails, that it holds), of a claim of so many cases."""
    above, below = claims.bounds(claim)
    first = min(len(case.found.numbers[key].processes) for key in case.found.keys)
    if first >= most:
        return 0.0, 0.0

    def within(low: float, high: float, confidence: float) -> float:
        return inside(case.found.interval, (low, high), first, most, confidence)

    corrected = 1 - (1 - CONFIDENCE) / cases
    fails = within(0, above, corrected) + within(below, math.inf, corrected)
    if 1 in (above, below):
        fails += within(1 / EQUIVALENCE, EQUIVALENCE, corrected)
    return min(fails, 1.0), within(above, below, CONFIDENCE)


def of_claims(
    document_claims: Iterable[Mapping], numbers: Numbers, most: int
) -> Iterator[Statement]:
    """Each undecided claim, by all its open cases, and by each alone: one that fails decides it."""
    for claim, cases, tested in claims.undecided(document_claims, numbers):
        chances = [_of_case(case, claim, tested, most) for case in cases]
        cells = [frozenset(key[:-1] for key in case.found.keys) for case in cases]
        none = math.prod(1 - fails for fails, _ in chances)
        whole = 1 - none + math.prod(holds for _, holds in chances)
        every = dict.fromkeys(frozenset().union(*cells), most)
        yield Statement(claim["name"], every, min(whole, 1.0), A_VERDICT)
        if len(cases) > 1:
            for own, (fails, _) in zip(cells, chances, strict=True):
                yield Statement(claim["name"], dict.fromkeys(own, most), fails, A_VERDICT)


def of_fastest(numbers: Numbers, rows: Collection[str], most: int) -> Iterator[Statement]:
    """Which of each benchmark's two fastest of these rows to use, by phase and device, where that is undecided."""
    groups: dict[Key, list[Key]] = {}
    for key in numbers:
        if key[1] in rows and key[-1] == "wall_s":
            groups.setdefault((key[0], *key[2:]), []).append(key)
    for keys in groups.values():
        pair = sorted(keys, key=lambda key: numbers[key].value)[:2]
        times = [numbers[key].processes for key in pair]
        if len(pair) < 2 or not LEAST_PROCESSES <= min(map(len, times)) < most:
            continue
        interval = functools.partial(estimates.product, times, [1, -1])
        if estimates.compared(*interval(STOPPING, 0)[1:]) == "undecided":
            told = ((0.0, 1.0), (1.0, math.inf), (1 / EQUIVALENCE, EQUIVALENCE))
            first = min(map(len, times))
            chance = sum(inside(interval, ends, first, most, CONFIDENCE) for ends in told)
            name = f"{' '.join(pair[0])} or {pair[1][1]}"
            both = dict.fromkeys((key[:-1] for key in pair), most)
            yield Statement(name, both, min(chance, 1.0), A_VERDICT)


def of_wide(
    times: Mapping[Hashable, Sequence[float]],
    groups: Mapping[Hashable, Hashable],
    target: float,
    most: int,
) -> Iterator[Statement]:
    """Cells whose interval is wider than `target`, with as many processes as it is expected to need, and as the chance what
    share of the way these go, in logarithms. groups: what each cell is read beside; of a row that takes FAR times as long
    as the fastest there, nobody needs a narrow one."""
    fastest: dict[Hashable, float] = {}
    for key, own in times.items():
        group = groups[key]
        fastest[group] = min(statistics.median(own), fastest.get(group, math.inf))
    for key, own in times.items():
        count = estimates.processes_needed(own, target, most)
        if count > len(own) and statistics.median(own) < FAR * fastest[groups[key]]:
            width, expected = (estimates.width(own, each) for each in (len(own), count))
            share = math.log(width / expected) / math.log(width / target)
            yield Statement(f"{key} wide", {key: count}, min(share, 1.0))


def of_apart(
    times: Mapping[Hashable, Times], more: Mapping[Hashable, int], seconds: Mapping[Hashable, float]
) -> Iterator[Statement]:
    """Groups of rows that took turns with none of the others, as where some were measured again later: the JOINING quickest rows of
    each and of the largest group, whose next processes join them. more: with these, of the rows that may have another."""
    on_device = {id(own.place.rounds): own.place.rounds for own in times.values() if own.place}
    for rounds in on_device.values():
        *others, largest = [
            sorted((row for row in group if row in more), key=seconds.__getitem__)[:JOINING]
            for group in rounds.groups
        ]
        for rows in others:
            if rows and largest:
                both = {row: more[row] for row in (*rows, *largest)}
                yield Statement(f"{rows[0]} apart", both, 1.0, A_JOINT)


def chosen(
    statements: Collection[Statement],
    there: Mapping[Hashable, int],
    seconds: Mapping[Hashable, float],
    limit: float | None,
) -> dict[Hashable, int]:
    """{cell: processes} of the cells that are worth further ones: what is likely to decide most a second first, as long as
    all that is chosen keeps to `limit` seconds (None: there is none). there: processes that a cell has; seconds: of one more."""
    left = [each for each in statements if each.chance >= LEAST_CHANCE]
    found: dict[Hashable, int] = {}
    spent = 0.0

    def cost(statement: Statement) -> float:
        return sum(
            max(0, count - found.get(cell, there[cell])) * seconds[cell]
            for cell, count in statement.processes.items()
        )

    while left:
        best = max(left, key=lambda each: each.worth * each.chance / max(cost(each), 1e-9))
        left.remove(best)
        if limit is None or spent + cost(best) <= limit:
            spent += cost(best)
            for cell, count in best.processes.items():
                found[cell] = max(count, found.get(cell, 0))
            left = [each for each in left if each.name != best.name]  # other ways to decide it
    return found
