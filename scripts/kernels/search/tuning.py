"""Search of the template's schedules by measurement, guided by a learned cost model."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..spec import KernelSpec, Schedule
from .database import ScheduleDatabase
from .measure import Measurer
from .space import default_schedule, mutations, random_schedules, unit_of
from .stored import set_aside

BATCH = 16
FINALISTS = 6
FINAL_ROUNDS = 4


@dataclass(frozen=True)
class TuningReport:
    """What a tuning run did. Wall seconds: start = workers importing TVM, which is not tuning;
    tuning = all the rest, of which search = proposing candidates, build and run = of candidates."""

    schedule: Schedule
    trials: int
    new_trials: int
    best_seconds: float
    start_seconds: float
    search_seconds: float
    build_seconds: float
    run_seconds: float
    tuning_seconds: float


def tune(
    spec: KernelSpec,
    target: dict[str, Any],
    trials: int,
    directory: Path,
    limit_seconds: float = float("inf"),
    seed: int = 0,
) -> TuningReport:
    """Measure schedules until the database in `directory` holds `trials` different ones.

    What the database already holds counts and is not measured again. At `limit_seconds` the
    search stops early; the last play-off among the best still takes place.
    """
    begin = time.perf_counter()
    unit_of(spec, target)  # candidates would all fail
    database = ScheduleDatabase(spec, target, directory)
    if len(database) and database.best() is None:  # a run that was killed may have left it so
        set_aside(directory, "failed")
        database = ScheduleDatabase(spec, target, directory)
    known, why = len(database), ""
    start_seconds = build_seconds = run_seconds = search_seconds = 0.0
    if known < trials:
        before = time.perf_counter()
        with Measurer(spec, target) as measurer:
            start_seconds = time.perf_counter() - before
            search = _Search(database, seed + known)
            while len(database) < trials and time.perf_counter() - begin < limit_seconds:
                before = time.perf_counter()
                batch = search.propose(min(BATCH, trials - len(database)))
                search_seconds += time.perf_counter() - before
                if not batch:
                    print(f"{spec.name}: all schedules of the space tried", file=sys.stderr)
                    break
                for schedule, seconds in zip(batch, measurer.measure(batch), strict=True):
                    database.commit(schedule, seconds)
            _play_off(database, measurer.measure)
            build_seconds, run_seconds = measurer.build_seconds, measurer.run_seconds
            why = measurer.failure
    best = database.best()
    if best is None:
        set_aside(directory, "failed")
        raise RuntimeError(
            f"{spec.name}: no schedule could be built and run ({why}); the next run tries all of them again"
        )
    return TuningReport(
        schedule=best,
        trials=len(database),
        new_trials=len(database) - known,
        best_seconds=database.medians()[best],
        start_seconds=start_seconds,
        search_seconds=search_seconds,
        build_seconds=build_seconds,
        run_seconds=run_seconds,
        tuning_seconds=time.perf_counter() - begin - start_seconds,
    )


def _play_off(
    database: ScheduleDatabase, measure: Callable[[list[Schedule], int], list[list[float]]]
) -> None:
    """Time the best few again, in turn: a single short measurement may have been lucky."""
    finalists = list(islice(database.medians(), FINALISTS))
    for schedule, seconds in zip(finalists, measure(finalists, FINAL_ROUNDS), strict=True):
        database.commit(schedule, seconds)


class _Search:
    """Proposes untried schedules: the default, random ones, then those the model ranks best."""

    def __init__(self, database: ScheduleDatabase, seed: int) -> None:
        self._database = database
        self._rng = random.Random(seed)
        self._seed = seed

    def propose(self, count: int) -> list[Schedule]:
        """Up to `count` different schedules that the database does not hold."""
        spec, target = self._database.spec, self._database.target
        chosen: dict[Schedule, None] = {}

        def take(candidates: list[Schedule], wanted: int) -> None:
            for candidate in candidates:
                if len(chosen) >= min(wanted, count):
                    return
                if candidate not in self._database:
                    chosen[candidate] = None

        self._seed += 1
        pool = list(islice(random_schedules(spec, target, self._seed), 1024))
        measured = self._database.medians()
        if len(measured) < BATCH:
            default = default_schedule(spec, target)
            take([default, *mutations(default, spec, target)], count // 2)
        else:
            near = [m for s in islice(measured, 8) for m in mutations(s, spec, target)]
            take(self._ranked(list({*near, *pool}), measured), count - max(1, count // 5))
        take(pool, count)
        return list(chosen)

    def _ranked(
        self, candidates: list[Schedule], measured: dict[Schedule, float]
    ) -> list[Schedule]:
        """Candidates by predicted time, least first."""
        import xgboost

        data = xgboost.DMatrix(_features(list(measured)), np.log(list(measured.values())))
        settings = {"max_depth": 5, "eta": 0.15, "nthread": 1, "seed": self._seed, "verbosity": 0}
        model = xgboost.train(settings, data, num_boost_round=120)
        predicted = model.predict(xgboost.DMatrix(_features(candidates)))
        order = np.argsort(predicted, kind="stable")
        return [candidates[index] for index in order]


def _features(schedules: list[Schedule]) -> np.ndarray:
    return np.array([astuple(schedule) for schedule in schedules], dtype=np.float32)
