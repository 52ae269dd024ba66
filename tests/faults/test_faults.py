"""Faults, injected for real into runs of the workflow: see trial.py for what has to hold, and the other files for them.

`make test-faults` tries all of them, each as often as it says; `make test` some, once.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from . import data, frameworks, measurement, processes, resources  # noqa: F401  their faults
from .trial import FAULTS, Fault, Lab, Missed, Outcome

ATTEMPTS = 3  # to meet a run before it has ended


def parameter(fault: Fault) -> object:
    marks = () if fault.quick else pytest.mark.long
    return pytest.param(fault, id=f"{fault.group}-{fault.lab}: {fault.name}", marks=marks)


@pytest.mark.parametrize("fault", [parameter(each) for each in FAULTS])
def test_nothing_is_lost_nothing_is_wrong_and_the_next_run_completes(
    fault: Fault,
    labs: Callable[[str], Lab],
    seed: int,
    outcomes: list[Outcome],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    lab, outcome = labs(fault.lab), Outcome(fault)
    for number in range(min(fault.times, request.config.getoption("--times"))):
        for attempt in range(ATTEMPTS):
            name = f"{number}-{attempt}"
            trial = lab.trial(tmp_path / name, Random(f"{seed} {fault.name} {name}"))
            with trial.end:
                try:
                    outcome.judge(trial, lab)
                    break
                except Missed:
                    trial.wait()
                    trial.undo.close()
        else:
            outcome.problems.append(
                f"the run had always ended before it met its fault:\n{trial.printed}"
            )
            break
    outcomes.append(outcome)
    assert not outcome.problems, "\n".join(outcome.problems)
