"""`make court`: unusual shapes through the gate, and a page of what is wrong."""

import ast
from collections.abc import Mapping

import numpy as np

from commands import court
from measurement import court as trial
from measurement.workload import Workload
from reporting import court as pages
from tests.plain.model import Model


class OneRowWrong(Model):
    """Right, but for batches of one row."""

    def altered(self, found: dict) -> dict:
        if len(found.get("output", ())) == 1:
            found["output"] = found["output"] * 1.01
        return found


def build(workload: Workload, weights: Mapping[str, np.ndarray], device: str, phase: str) -> Model:
    return OneRowWrong(workload, weights, device, phase)


def test_an_error_of_one_shape_is_found_and_shown() -> None:
    drawn = [
        case for case in court.cases(0, 1) if case[0].endswith(", lstm") and case[2] == "forward"
    ]
    assert len(drawn) == len(court.NAMED) + 1
    found = []
    for name, benchmark, phase in drawn:
        status, reason, error = trial.judged(build, benchmark, phase, 1e-4)
        about = {"row": "plain/model", "case": name, "benchmark": benchmark, "phase": phase}
        found.append({**about, "status": status, "reason": reason, "error": error})
    wrong = [one["case"] for one in found if one["status"] == "incorrect"]
    assert wrong == ["one row, lstm", "one row, one step, lstm"]
    assert {one["status"] for one in found} == {"ok", "incorrect"}
    text = pages.rendered("plain", {"packages": {"numpy": "2.0"}}, found, 0)
    programs = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    assert len(programs) == 2
    for program in programs:
        ast.parse(program)
        assert len(program.splitlines()) <= 10


def test_what_float32_cannot_hold_is_left_out() -> None:
    drawn = {(name, phase): benchmark for name, benchmark, phase in court.cases(0, 0)}
    benchmark = drawn["a thousand steps, slstm", "forward"]
    assert trial.judged(build, benchmark, "forward", 1e-4)[0] == "left-out"
