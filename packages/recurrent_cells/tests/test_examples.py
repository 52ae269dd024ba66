"""The examples run as they are called, and their few steps print nearly the same numbers for `Recurrent` and nn.LSTM (which has
two biases, so training differs a little)."""

import os
import re
import runpy
from pathlib import Path

import pytest

os.environ.setdefault("RECURRENT_CELLS_CFLAGS", "-march=native -O1")  # compiles faster
torch = pytest.importorskip("torch")

FOLDER = Path(__file__).resolve().parents[1] / "examples"
SMALL = {
    "word_language_model": "--size 8 --batch 2 --length 7 --epochs 1 --rate 0.01 --dropout 0",
    "ragged_classifier": "--size 8 --batch 3 --longest 9 --count 3 --epochs 1",
    "recurrent_policy": "--size 8 --batch 4 --steps 20 --updates 10",
}


def test_all_examples_are_here() -> None:
    assert SMALL.keys() == {path.stem for path in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name", SMALL)
def test_example(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = [str(tmp_path)] if name == "word_language_model" else []
    for part in ("train", "valid"):
        (tmp_path / f"ptb.{part}.txt").write_text("the cat sat on the mat \n the dog ran \n" * 5)
    numbers = {}
    try:
        for layers in ("lstm", "recurrent"):
            arguments = [*folder, "--layers", layers, *SMALL[name].split()]
            monkeypatch.setattr("sys.argv", [name, *arguments])
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
            *found, _ = map(float, re.findall(r"\d+\.\d+", capsys.readouterr().out))  # not the time
            numbers[layers] = found
    finally:
        torch.set_flush_denormal(False)
    assert numbers["lstm"]
    assert numbers["recurrent"] == pytest.approx(numbers["lstm"], rel=2e-3, abs=1e-4)
