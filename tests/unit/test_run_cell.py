"""`make cell`: what it refuses, what it writes, which stages it has, and when values leave float32."""

import argparse
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml

from commands import run_cell
from measurement import steps
from measurement.cells import BUILT_IN
from plan import own_cell
from plan.own_cell import Refused
from tests.conftest import ROOT

SHAPE = {"batch": 2, "length": 40, "features": 3, "hidden": 4, "layers": 2}


def asked(**options: object) -> argparse.Namespace:
    given = {"file": "mine.py", "shape": None, "phases": None, "frameworks": None, "config": []}
    return argparse.Namespace(**given | {"configfile": "config/cell/config.yaml"} | options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"config": ["corpus"]}, "SET: `corpus` is not KEY=VALUE"),
        ({"file": ""}, "CELL: name the file of your cell"),
        ({"shape": "{units: 3}"}, "SHAPE: there is no size `units`"),
        ({"phases": "train"}, "PHASES: there is no phase `train`; did you mean `training`"),
        ({"frameworks": "jaxx"}, "FRAMEWORKS: there is no framework `jaxx`; did you mean `jax`"),
    ],
)
def test_what_it_refuses(options: dict, said: str) -> None:
    with pytest.raises(Refused) as refused:
        run_cell.prepared(asked(**options))
    assert str(refused.value).startswith(said) and "\n" not in str(refused.value)


def test_an_example_is_asked_for_by_its_name() -> None:
    path, cell, _, _ = run_cell.prepared(asked(file="janet"))
    assert path == run_cell.EXAMPLES / "janet.py" and cell.name == "janet"


@pytest.mark.parametrize("name", ["binary.py", "computes.py"])
def test_a_file_that_is_no_cell_is_told_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """And is not run. packages/recurrent_cells/tests/test_cell_language.py has what no cell may have."""
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    (tmp_path / "computes.py").write_text("print('it ran')\n")
    monkeypatch.setattr(sys, "argv", ["run_cell", str(tmp_path / name)])
    monkeypatch.setattr(run_cell.run_workflow, "begin", lambda *_: pytest.fail("it went on"))
    with pytest.raises(SystemExit, match=rf"^{tmp_path / name}:\d+: .*$"):
        run_cell.main()
    assert capfd.readouterr() == ("", "")


def test_a_name_with_another_formula_is_another_benchmark(tmp_path: Path) -> None:
    """Else rows of two machines would stand side by side, each of a cell of its own."""

    def benchmarks(line: str) -> dict:
        file = tmp_path / "mine.py"
        head = "from recurrent_cells import cell, sigmoid, tanh\n\n\n"
        file.write_text(f'{head}@cell(gates="f g", states="h")\ndef mine(f, g, h):\n    {line}\n')
        return run_cell.prepared(asked(file=str(file)))[2]["benchmarks"]

    first, commented = map(benchmarks, ("return f * h + tanh(g)", "return f * h + tanh(g)  # so"))
    other = benchmarks("return f * h + sigmoid(g)")
    assert first == commented
    changed = {name for name in first if first[name] != other[name]}
    assert changed == {name for name, each in first.items() if each.get("cell") == "own.mine"}


def test_it_writes_any_letter_whatever_the_locale(tmp_path: Path) -> None:
    code = "import sys; from commands import run_cell; from pathlib import Path; "
    code += "run_cell.write(Path(sys.argv[1]), {'cell.py': '# \\u03c3\\n'})"
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    variables["PYTHONPATH"] = str(ROOT / "scripts")
    for _ in range(2):  # it reads what is there, too
        command = [sys.executable, "-c", code, str(tmp_path)]
        subprocess.run(command, env=os.environ | variables, check=True)
    assert (tmp_path / "cell.py").read_text(encoding="utf-8") == "# \u03c3\n"


@pytest.fixture
def exploding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell whose memory becomes a thousand times as large at each step."""

    def step(sums, vectors, states):
        (new,), _ = steps.gru(sums, vectors, states[:1])
        return (new, 1e3 * (states[1] + 1.0)), None

    def gradient(tape, *d_states):
        return (d_states[0],) * 4, (), tuple(d_states)

    module = types.ModuleType("own.boom.reference")
    module.step, module.gradient = step, gradient
    module.CELL = BUILT_IN["gru"]._replace(states=("h", "c"), starts=(0.0, 0.0))._asdict()
    for name in ("own", "own.boom"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "own.boom.reference", module)


def benchmark(cell: str, **changes: int) -> dict:
    around = yaml.safe_load((own_cell.CONFIG / "document.yaml").read_text())["around"]
    return {**SHAPE, **around, "cell": cell, **changes}


def test_a_cell_that_explodes_says_where(exploding: None) -> None:
    said = run_cell.untimeable(benchmark("own.boom"), ["training"])
    assert said == "state c of layer 1 overflows float32 at step 13 of 40"
    assert run_cell.untimeable(benchmark("gru"), ["training"]) == ""
    assert run_cell.untimeable(benchmark("own.boom", length=12), ["training"]) == ""


@pytest.mark.parametrize(
    ("scale", "more", "said"),
    [(0.0, 0.0, "all its gradients are 0"), (1.0, 1e200, "overflows float32 over 5 steps")],
)
def test_a_gradient_that_is_nothing_or_explodes(
    exploding: None, monkeypatch: pytest.MonkeyPatch, scale: float, more: float, said: str
) -> None:
    def gradient(tape, *d_states):
        return (more + scale * d_states[0],) * 4, (), tuple(scale * d for d in d_states)

    monkeypatch.setattr(sys.modules["own.boom.reference"], "gradient", gradient)
    with np.errstate(all="ignore"):
        found = run_cell.untimeable(benchmark("own.boom", length=5), ["forward", "training"])
        assert said in found and ("lstm." in found) == bool(more)
        if not scale:
            assert not run_cell.untimeable(benchmark("own.boom", length=5), ["forward"])
