"""`make cell` of files that are no cell: one line with the file and the line in it, and nothing is made. The tests of
`packages/recurrent_cells` have further mistakes."""

import sys
from pathlib import Path

import pytest

from commands import run_cell

HEAD = "from recurrent_cells import cell, sigmoid, tanh\n\n\n"  # a cell's function begins in line 4
LSTM = '@cell(gates="i f g o", states="h c")\ndef mine(i, f, g, o, c):\n'
BODY = "    c = sigmoid(f) * c + sigmoid(i) * tanh(g)\n    return sigmoid(o) * tanh(c), c\n"

# what is wrong: (the file, the line that has to be named)
WRONG = {
    "no text": (HEAD + LSTM + BODY + "\x00", 1),
    "an import of the system": (HEAD + "import os\n\n" + LSTM + BODY, 4),
    "code that runs in the decorator": (
        HEAD + LSTM.replace('"h c"', '"h c" if print("x") is None else ""') + BODY,
        4,
    ),
    "too few arguments": (HEAD + LSTM + "    return sigmoid(), c\n", 6),
    "an import of all": ("from recurrent_cells import *\n\n\n" + LSTM + BODY, 1),
    "an import under a name of its own": (
        HEAD + "import recurrent_cells as rc\n\n" + LSTM + BODY,
        4,
    ),
    "names between commas": (HEAD + LSTM.replace("i f g o", "i,f,g,o") + BODY, 4),
    "numbers between commas": (HEAD + LSTM.replace('h c"', 'h c=0,m=1"') + BODY, 4),
    "names in a list": (HEAD + LSTM.replace('"i f g o"', '["i", "f", "g", "o"]') + BODY, 4),
    "a gate is called": (HEAD + LSTM + "    return o(sigmoid(f) * c), c * i\n", 6),
    "& of comparisons": (HEAD + LSTM + "    return ((o > 0) & (c < 1)) * c, c\n", 6),
    "a comparison in two": (HEAD + LSTM + "    return (0 < o < 1) * c, c\n", 6),
    "an if in a line": (HEAD + LSTM + "    return (o if f > 0 else i), c\n", 6),
    "a whole division": (HEAD + LSTM + "    return o // f, c\n", 6),
    "a large power": (HEAD + LSTM + "    return o**1000, c\n", 6),
    "a power without end": (HEAD + LSTM + "    return o * 10**10**10, c\n", 6),
    "a loop without end": (
        HEAD + LSTM + "    for _ in range(10**9):\n        c = f * c\n" + BODY,
        6,
    ),
    "a long chain": (
        HEAD + LSTM + "    for _ in range(300):\n        c = f * c\n    return o * c, c * i * g\n",
        8,
    ),
    "a dictionary is returned": (HEAD + LSTM + '    return {"h": o, "c": c}\n', 6),
    "a main of its own": (HEAD + LSTM + BODY + '\n\nif __name__ == "__main__":\n    mine\n', 10),
}


@pytest.mark.parametrize("what", WRONG)
def test_one_line(
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    text, line = WRONG[what]
    file = tmp_path / "mine.py"
    file.write_text(text)
    monkeypatch.setattr(sys, "argv", ["run_cell", str(file)])
    monkeypatch.setattr(run_cell.run_workflow, "begin", lambda *_: pytest.fail("it went on"))
    with pytest.raises(SystemExit) as stopped:
        run_cell.main()
    said = stopped.value.code
    assert isinstance(said, str) and "\n" not in said, said
    assert said.startswith(f"{file}:{line}: "), said
    assert len(said) > len(f"{file}:{line}: ") + 5
    assert capfd.readouterr() == ("", "")  # nothing of the file was run


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing.py", "nothing.py"), (".", "."), ("binary.py", "binary.py")],
)
def test_no_file(name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    monkeypatch.chdir(tmp_path)
    Path("config").symlink_to(Path(__file__).parents[2] / "config")
    monkeypatch.setattr(sys, "argv", ["run_cell", name])
    with pytest.raises(SystemExit) as stopped:
        run_cell.main()
    assert isinstance(stopped.value.code, str) and said in stopped.value.code
    assert "\n" not in stopped.value.code
