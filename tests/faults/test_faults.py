"""Faults, injected for real into runs of the workflow: see verdict.py for what has to hold, and the other files for them.

`make test-faults` tries all of them, each as often as it says; `make test` some, once.
"""

from collections.abc import Callable

import pytest

from . import (  # noqa: F401  their faults
    company,
    data,
    derived,
    frameworks,
    identity,
    measurement,
    processes,
    resources,
)
from .trial import FAULTS, Fault
from .verdict import Verdict


def parameter(fault: Fault) -> object:
    marks = () if fault.quick else pytest.mark.long
    return pytest.param(fault, id=f"{fault.group}-{fault.lab}: {fault.name}", marks=marks)


@pytest.mark.parametrize("fault", [parameter(each) for each in FAULTS])
def test_nothing_is_lost_nothing_is_wrong_and_the_next_run_completes(
    fault: Fault, seed: int, verdicts: Callable[[Fault], list[Verdict]]
) -> None:
    problems = [problem for verdict in verdicts(fault) for problem in verdict.problems]
    assert not problems, "\n".join([f"seed {seed}", *problems])
