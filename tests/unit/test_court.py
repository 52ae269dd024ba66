"""`make court`: unusual shapes through the gate, and a page of what is wrong."""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from commands import court
from measurement import court as trial
from measurement import reference
from measurement.workload import Workload
from reporting import court as pages
from reporting import reproducers
from tests.plain.model import Model

FRAMEWORKS = ("torch", "tensorflow", "jax", "onnx", "onnxruntime", "openvino", "recurrent_cells")


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
    shown = {"program": "print(0.01)\n", "printed": "0.01", "shows": True}
    one, other = (place for place, each in enumerate(found) if each["status"] == "incorrect")
    found[one].update(shown)
    found[other].update(shown, shows=False)
    text = pages.rendered("plain", {"packages": {"numpy": "2.0"}}, found, 0)
    assert text.count("```python\nprint(0.01)\n```") == 1


@pytest.mark.parametrize("row", reproducers.PROGRAMS)
def test_programs_have_ten_lines_and_need_the_framework_alone(row: str) -> None:
    made = [reproducers.program(row, benchmark) for _, benchmark, _ in court.cases(0, 1)]
    assert any(made)
    for program in filter(None, made):
        names = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(program))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        assert len(program.splitlines()) <= 10
        assert names <= {*FRAMEWORKS, "numpy"}


@pytest.mark.parametrize("cell", court.CELLS)
def test_the_loop_of_a_program_is_the_reference(cell: str) -> None:
    program = reproducers.program("jax/scan", {**court.USUAL, "cell": cell, "layers": 1})
    assert program
    (function,) = (node for node in ast.parse(program).body if isinstance(node, ast.FunctionDef))
    sizes = {"K": 3, "H": 5, "L": 1}
    scope: dict = {"np": np, **sizes}
    exec(compile(ast.Module([function], []), "program", "exec"), scope)
    sums = reproducers.SUMS[cell]
    random = np.random.default_rng(0)
    shapes = (3, sums * 5), (5, sums * 5), (sums * 5,), (sums * 5,)
    w, r, b, d = weights = [random.uniform(-1, 1, shape) for shape in shapes]
    x = random.uniform(-1, 1, (7, 2, 3))
    begin = [(np.zeros((2, 5)),) * reproducers.STATES[cell]]
    found = scope["layers"](np, x, weights, begin)[0][0]
    bias = b + d if cell != "gru" else np.concatenate([b[:10] + d[:10], b[10:], d[10:]])
    np.testing.assert_allclose(found, reference.layer(cell, x, [w, r, bias])[0][-1], rtol=1e-12)


def test_only_numbers_above_the_tolerance_are_errors() -> None:
    assert not reproducers.shows("1e-7 2e-8\n")
    assert reproducers.shows("1e-7 0.3\n") and reproducers.shows("nan\n")


def test_what_float32_cannot_hold_is_left_out() -> None:
    drawn = {(name, phase): benchmark for name, benchmark, phase in court.cases(0, 0)}
    benchmark = drawn["a thousand steps, slstm", "forward"]
    assert trial.judged(build, benchmark, "forward", 1e-4)[0] == "left-out"


def test_a_program_is_run_elsewhere_by_a_relative_python(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(reproducers.PROGRAMS, "a/row", lambda cell, benchmark: ["print(0.5)"])
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    one = {"row": "a/row", "benchmark": court.USUAL, "status": "incorrect"}
    found = court.reproduced("./python", one)
    assert found["shows"] and found["printed"] == "0.5"


def test_an_environment_that_is_none(monkeypatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(court, "begin", lambda parent: None)
    monkeypatch.setattr("sys.argv", ["court", "pytroch", "--configfile", "config/quick.yaml"])
    with pytest.raises(SystemExit) as stopped:
        court.main()
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and "pytorch" in said and "-cuda" not in said
