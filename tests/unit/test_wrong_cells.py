"""`make cell` of files that are no cell: one line with the file and the line in it, and nothing is made. The tests of
`packages/recurrent_cells` have further mistakes."""

import sys
from pathlib import Path

import pytest

from commands import run_cell

HEAD = "from recurrent_cells import cell, sigmoid, tanh\n\n\n"  # a cell's function begins in line 4
LSTM = '@cell(gates="i f g o", states="h c")\ndef mine(i, f, g, o, c):\n'
BODY = "    c = sigmoid(f) * c + sigmoid(i) * tanh(g)\n    return sigmoid(o) * tanh(c), c\n"
RIGHT, LOOP = LSTM + BODY, "    for _ in range({}):\n        c = f * c\n"

# what is wrong: (the file, the line that has to be named)
WRONG = {
    "no text": (HEAD + RIGHT + "\x00", 1),
    "an import of the system": (HEAD + "import os\n\n" + RIGHT, 4),
    "an import of all": ("from recurrent_cells import *\n\n\n" + RIGHT, 1),
    "an import by another name": (HEAD + "import recurrent_cells as rc\n\n" + RIGHT, 4),
    "code that is run": (HEAD + RIGHT.replace('"h c"', '"h c" if print("x") is None else ""'), 4),
    "names between commas": (HEAD + RIGHT.replace("i f g o", "i,f,g,o"), 4),
    "numbers between commas": (HEAD + RIGHT.replace('h c"', 'h c=0,m=1"'), 4),
    "names in a list": (HEAD + RIGHT.replace('"i f g o"', '["i", "f", "g", "o"]'), 4),
    "a loop without end": (HEAD + LSTM + LOOP.format("10**9") + BODY, 6),
    "a long chain": (HEAD + LSTM + LOOP.format("300") + "    return o * c, c * i * g\n", 8),
    "a main of its own": (HEAD + RIGHT + '\n\nif __name__ == "__main__":\n    mine\n', 10),
}
RETURNED = {
    "too few arguments": "sigmoid(), c",
    "a gate is called": "o(sigmoid(f) * c), c * i",
    "& of comparisons": "((o > 0) & (c < 1)) * c, c",
    "a comparison in two": "(0 < o < 1) * c, c",
    "an if in a line": "(o if f > 0 else i), c",
    "a whole division": "o // f, c",
    "a large power": "o**1000, c",
    "a power without end": "o * 10**10**10, c",
    "a dictionary": '{"h": o, "c": c}',
}
WRONG |= {what: (f"{HEAD}{LSTM}    return {told}\n", 6) for what, told in RETURNED.items()}


@pytest.mark.parametrize("what", WRONG)
def test_one_line(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
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


@pytest.mark.parametrize("name", ["nothing.py", ".", "binary.py"])
def test_no_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "binary.py").write_bytes(bytes(range(256)))
    monkeypatch.chdir(tmp_path)
    Path("config").symlink_to(Path(__file__).parents[2] / "config")
    monkeypatch.setattr(sys, "argv", ["run_cell", name])
    with pytest.raises(SystemExit) as stopped:
        run_cell.main()
    assert name in stopped.value.code and "\n" not in stopped.value.code
