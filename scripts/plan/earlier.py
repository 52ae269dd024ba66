"""What earlier jobs took, and what others like them are likely to."""

import functools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from measurement import shapes
from plan import matrix

# Seconds, on the examples' machine.
A_PROCESS = 0.7  # of a process beside import, building and steps: its start, the yardstick, a look at the machine
# Of a weight, in training, in a check: the reference's gradients and updates are compared, all of them and in float64. Of models with
# 4.6 to 141 million weights checks took 0.5 to 0.8 microseconds a weight where one core takes 1.6 times as long.
A_WEIGHT = 4e-7
# What else a check takes grows with what shapes compute to this power: it has few sequences and steps, and starts a framework.
# Of 85 pairs of a row's checks, 0.27 to 70 times the work, 0.51.
CHECKS_GROW = 0.5
VERIFYING = 2.0  # batches that a timed process is verified on


@functools.cache
def parameters(benchmark: str) -> dict:
    """Empty of a benchmark that no document has."""
    return matrix.benchmarks(matrix.documents()).get(benchmark, {})


def comparing(name: str) -> float:
    """Seconds that the weights of a cell's model take in its check, on the examples' machine."""
    _, benchmark, *_, phase = name.split("/")
    known = parameters(benchmark)
    return A_WEIGHT * shapes.Shapes(known).parameters() if known and "training" in phase else 0.0


@functools.cache
def _work(benchmark: str) -> float | None:
    """Floating-point operations of a forward pass's products, where they are known."""
    known = parameters(benchmark)
    return shapes.forward_flops(known) if known else None


def _times_the_work(benchmark: str, other: str) -> float:
    """How many times as much a benchmark computes as another; 1 where that is not known."""
    own, others = _work(benchmark), _work(other)
    return own / others if own and others else 1.0


@dataclass
class Earlier:
    """What earlier jobs of a kind took, by the name of their cell: some numbers each, of which the one at `growing` grows
    with what the benchmark computes, to a power, but for comparing weights, which takes `comparing` times as long as on the
    examples' machine."""

    growing: int = 0
    power: float = 1.0
    comparing: float = 0.0
    took: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)

    def note(self, name: str, *seconds: float) -> None:
        """Seconds beside batches, and of a batch; of a check those of its own, and of its process."""
        self.took.setdefault(name, []).append(seconds)

    def _grown(self, seconds: Sequence[float], more: float, known: str, name: str) -> list[float]:
        """What was noted of one cell as another's, which computes so many times as much."""
        grown = list(seconds)
        before, after = (self.comparing * comparing(each) for each in (known, name))
        own = max(grown[self.growing] - before, 0.0)
        grown[self.growing] = own * more**self.power + after
        if self.growing == 1:  # a start has a first batch, and those to verify
            longer = (1 + VERIFYING) * (grown[1] - seconds[1])
            grown[0] = max(grown[0] + longer, min(grown[0], A_PROCESS))
        return grown

    def _nearest(self, name: str, but: int) -> list[float] | None:
        """The medians of what was noted of cells whose names are the same from part `but` on, of those whose benchmark
        computes most nearly as much, as if they computed what this one does; None where there are none."""
        if "/" not in name:  # an environment's
            return None
        environment, benchmark, *_ = name.split("/")
        own = name.split("/")[but:]
        found = defaultdict(list)
        for each, took in self.took.items():
            parts = each.split("/")
            if parts[but:] == own and (but > 2 or parts[0] == environment):
                more = _times_the_work(benchmark, parts[1])
                found[abs(math.log(more))] += [
                    self._grown(seconds, more, each, name) for seconds in took
                ]
        return medians(found[min(found)]) if found else None

    def own(self, name: str) -> list[float] | None:
        """The medians of what was noted of a cell."""
        return medians(self.took[name]) if name in self.took else None

    def like(self, name: str) -> list[float] | None:
        """Of the same implementation in the same environment and phase, elsewhere."""
        return self._nearest(name, but=2)

    def any(self, name: str) -> list[float] | None:
        """Of all implementations, in the same phase on the same device."""
        return self._nearest(name, but=4)


def medians(rows: Iterable[Sequence[float]]) -> list[float]:
    return [statistics.median(each) for each in zip(*rows, strict=True)]


def building(builds: Mapping[tuple[str, str], float], variant: str, benchmark: str) -> float | None:
    """Seconds that a kernel takes to build, beside starting TVM. builds: {(variant, benchmark): seconds}; of one that was
    never built, on the line through the logarithms of others' seconds and steps."""
    if own := builds.get((variant, benchmark)):
        return own
    steps, took = [], []
    for (each, shape), seconds in builds.items():
        if each == variant and (known := _steps(shape)):
            steps.append(math.log(known))
            took.append(math.log(seconds))
    wanted = _steps(benchmark)
    if not wanted or len({*steps}) < 2:
        return math.exp(statistics.median(took)) if took else None
    slope, there = statistics.linear_regression(steps, took)
    return math.exp(there + slope * math.log(wanted))


def _steps(benchmark: str) -> int:
    """Of all layers; 0 of a benchmark that no document has."""
    known = parameters(benchmark)
    return known["length"] * known["layers"] if known else 0


def name_of(identity: dict) -> str:
    return "{environment}/{benchmark}/{implementation}/{phase}-{device}".format(**identity)


def _of_any_shape(name: str) -> str:
    environment, _, *row = name.split("/")
    return "/".join((environment, *row))


class Refused:
    """Rows that were found to be of a status where others of their device were measured: on a shape, or on all that were tried."""

    def __init__(self, rows: Iterable[dict[str, str]], statuses: Iterable[str]) -> None:
        found = defaultdict(set)
        for row in rows:
            found[row["status"]].add((row.get("machine", ""), row["device"], name_of(row)))
        measured = {(machine, device) for machine, device, _ in found["ok"]}
        refused = set().union(*(found[status] for status in statuses))
        tried = {name for *place, name in refused if tuple(place) in measured}
        timed = {name for *_, name in found["ok"]}
        self._names = tried - timed
        self._rows = {*map(_of_any_shape, tried)} - {*map(_of_any_shape, timed)}

    def seconds(self, name: str) -> list[float] | None:
        """Of such a row, as `Earlier` tells them: none at all."""
        has = name in self._names or ("/" in name and _of_any_shape(name) in self._rows)
        return [0.0, 0.0] if has else None
