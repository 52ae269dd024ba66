"""Which batches and processes a row's number is made of: those that ran while the machine was itself, as its records tell
(measurement/quiet.py)."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from measurement import quiet
from plan.matrix import LEAST_PROCESSES
from stats.rounds import LEAST_ROUNDS


def quiet_mask(record: Mapping, best: dict) -> list[bool]:
    """Which stretches of a process's batches, or which of its looks, are quiet, by the best of the run's readings
    (`quiet.of_run`)."""
    cores = record["machine"]["cores"]
    return [not quiet.reasons(stretch, best, cores) for stretch in quiet.stretches(record)]


def disturbed(records: Sequence[Mapping], best: dict) -> list[bool]:
    """Which processes have no quiet batch; none of those that took turns: their intervals say how noisy they are."""
    return ["looks" not in record and not any(quiet_mask(record, best)) for record in records]


def quiet_share(records: Sequence[Mapping], best: dict) -> float:
    """The share of some processes' batches that is in quiet stretches."""
    batches = [stretch["batches"] for record in records for stretch in quiet.stretches(record)]
    which = [one for record in records for one in quiet_mask(record, best)]
    return sum(itertools.compress(batches, which)) / sum(batches)


def quiet_only(record: dict, best: dict) -> dict:
    """A process's record with the batches that count: those of its quiet stretches, or looks; all where none is."""
    which = quiet_mask(record, best)
    return _kept(record, which) if any(which) else record


def _kept(record: dict, which: Sequence[bool]) -> dict:
    """A process's record with these of its stretches, or looks."""
    if all(which):
        return record
    if "looks" in record:
        return record | quiet.of_looks([*itertools.compress(record["looks"], which)])
    stretches = quiet.stretches(record)
    of_batch = np.repeat(which, [one["batches"] for one in stretches])
    lists = {
        name: list(itertools.compress(record[name], of_batch)) for name in ("samples", "faults")
    }
    chosen = list(itertools.compress(stretches, which))
    meanwhile = quiet.together([stretch["interference"] for stretch in chosen])
    return record | lists | {"stretches": chosen, "interference": meanwhile}


def usable_mask(off: Sequence[bool]) -> list[bool]:
    """Which of a cell's processes its number is made of: those with quiet batches (measurement/quiet.py), if
    they are enough for an interval; else all, as on a machine that is slow all the time. The others stay in the records
    and are counted. It is the yardstick that tells, never the process's own time: to leave out a process because it took
    long would make every cell faster than it is."""
    clean = [not each for each in off]
    return clean if sum(clean) >= LEAST_PROCESSES else [True] * len(clean)


def _taken(look: Mapping, cores: int) -> float:
    """The share of the machine that others took during a look; of one in which its process was stopped, infinite."""
    if (look["interference"] or {}).get("suspensions"):
        return math.inf
    return quiet.interference(look["interference"], cores) or 0.0


def _least_disturbed(records: Sequence[dict]) -> list[list[bool]]:
    """In which looks others took little more of the machine than in the best ones, which are enough for an interval."""
    taken = [[_taken(look, each["machine"]["cores"]) for look in each["looks"]] for each in records]
    best = sorted(itertools.chain(*taken))[:LEAST_ROUNDS]
    most = best[-1] + quiet.INTERFERENCE_LIMIT
    return [[share <= most for share in shares] for shares in taken]


def joins(records: Sequence[dict], best: dict) -> bool:
    """Whether a block has enough quiet looks of a row for it to join the rows of another one (stats/rounds.py): disturbed looks that
    count for want of others will not, once there are some."""
    blocks = Counter(
        look["block"]
        for record in records
        for look in itertools.compress(record.get("looks", ()), quiet_mask(record, best))
    )
    return max(blocks.values(), default=0) >= LEAST_ROUNDS


def usable_records(records: Sequence[dict], best: dict) -> list[dict]:
    """The `ok` records of a cell that its number is made of, each with the batches that count. Of processes that took turns
    their quiet looks; if these are too few for an interval, the least disturbed ones, however slow hand-overs between threads
    were: they can be so for minutes."""
    if records and all("looks" in record for record in records):
        masks = [quiet_mask(record, best) for record in records]
        if sum(map(sum, masks)) < LEAST_ROUNDS:
            masks = _least_disturbed(records)
        both = zip(records, masks, strict=True)
        return [_kept(record, which) for record, which in both if any(which)]
    which = usable_mask(disturbed(records, best))
    return [quiet_only(record, best) for record in itertools.compress(records, which)]
