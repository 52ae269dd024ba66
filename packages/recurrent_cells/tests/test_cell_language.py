"""The language of cells: its functions, what is no cell, and the sources that are generated."""

import math
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from given_cells import EXAMPLES, HEADS, MANY

from recurrent_cells.cell_file import load
from recurrent_cells.cells import CELLS, Cell, CellError, cell, language, reference
from recurrent_cells.cells.language import computed, named, outer
from recurrent_cells.sources import FRAMEWORKS, generate


def module(one: Cell, text: str | None = None) -> ModuleType:
    """What is generated for NumPy."""
    made = ModuleType(f"generated_{one.name}")
    exec(compile(text or generate(one, "numpy", "a test"), one.name, "exec"), made.__dict__)
    return made


@pytest.fixture(scope="module")
def many() -> Cell:
    return load(MANY)


FILES = {**EXAMPLES, "many": MANY, "heads": HEADS}


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


@pytest.fixture(params=[*(name for name in CELLS if name != "projected"), *FILES])
def any_cell(request: pytest.FixtureRequest) -> Cell:
    name = request.param
    return CELLS[name] if name in CELLS else load(FILES[name])


FUNCTIONS = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "relu": lambda x: x * (x > 0),
    "absolute": abs,
    "sign": np.sign,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_values_and_of_numbers(name: str) -> None:
    x = np.array([0.3, 1.0, 2.5] if name in ("log", "sqrt") else [-2.0, -0.3, 0.0, 0.3, 2.5])
    function = getattr(language, name)
    (found,) = computed([function(named("x"))], {"x": x}, reference.OPERATIONS)
    np.testing.assert_allclose(found, FUNCTIONS[name](x), rtol=1e-14)
    assert function(0.7).value == pytest.approx(FUNCTIONS[name](np.float64(0.7)), rel=1e-15)


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (lambda a, b: a > b, [0, 0, 1]),
        (lambda a, b: a >= b, [0, 1, 1]),
        (lambda a, b: a < b, [1, 0, 0]),
        (lambda a, b: a <= b, [1, 1, 0]),
        (lambda a, b: b > 0.5, [1, 0, 0]),
        (lambda a, b: language.where(a >= b, a, -b), [-1, 0, 1]),
        (lambda a, b: language.minimum(a, b), [0, 0, 0]),
        (lambda a, b: a**2 + abs(-b) ** 0.5, [1, 0, 1]),
        (lambda a, b: (2 + b) ** -1, [1 / 3, 1 / 2, 1 / 2]),
    ],
)
def test_comparisons_choices_and_powers(told, wanted: list[float]) -> None:
    a, b = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    root = told(named("a"), named("b"))
    (found,) = computed([root], {"a": a, "b": b}, reference.OPERATIONS)
    np.testing.assert_allclose(found, wanted)


@cell(gates="n", states="h v")
def spiking(n, h, v):
    between = (v > 0.5) * (v < 0.8)
    v = 0.9 * v + n
    chosen = language.where(between, 2, -0.5) + language.where(n < 0.5, 0, 1)
    return language.where(v > 1, 1, 0) + chosen, v


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_numbers_that_are_chosen_are_no_integers(framework: str) -> None:
    """They would be: `torch.where(v > 1, 1, 0)` is not multiplied by a matrix."""
    text = generate(spiking, framework, "-")
    assert not re.search(r"where\([^,]*, -?[\d.]+, -?\d+\)", text)
    random = np.random.default_rng(0)
    sums, states = (
        [random.uniform(0.2, 1, (3, 12)) for _ in names]
        for names in (spiking.declared_sums, spiking.states)
    )
    (h, v), _ = module(spiking).step(sums, (), states)
    given = dict(zip(("n", "h", "v"), (*sums, *states), strict=True))
    wanted = computed([spiking.outputs[name] for name in "hv"], given, reference.OPERATIONS)
    np.testing.assert_allclose([h, v], wanted)
    assert len(np.unique(h)) > 3


def test_constants_have_defaults_and_may_be_others() -> None:
    one = load(EXAMPLES["janet"])
    assert one.constants == (("beta", 1.0),)
    other = one.with_constants(beta=0.0)
    assert other.outputs["h"] is not one.outputs["h"]
    assert "s - 1" in generate(one, "pytorch", "janet.py")
    with pytest.raises(CellError, match="no constant gamma; its constants are beta"):
        one.with_constants(gamma=1.0)


def test_states_and_vectors_begin_where_they_are_told_to(many: Cell) -> None:
    assert [many.start(name) for name in many.states] == [0.0, 0.0, 1.0, 0.0]
    assert module(many).CELL["starts"] == (0.0, 0.0, 1.0, 0.0)
    assert module(many).CELL["around"] == (1.0, 0.0)
    assert many.x_gates == ("f", "g", "z")
    assert many.h_gates == ("q", "z")
    assert many.declared_sums == ("f", "g", "z", "q")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_sources_are_of_readable_lines_in_old_pythons_syntax(
    any_cell: Cell, framework: str
) -> None:
    import ast

    text = generate(any_cell, framework, "cells/mine.py")
    assert "as cells/mine.py has it" in text
    assert max(map(len, text.splitlines())) <= 130
    ast.parse(text, feature_version=(3, 6))
    imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert imported <= {"typing", {"pytorch": "torch"}.get(framework, framework)}


def test_names_are_the_authors_and_common_values_computed_once() -> None:
    text = generate(CELLS["slstm"], "pytorch", "slstm.py")
    assert "h, c, n, m = states" in text and "new = torch.max(total, i)" in text
    assert text.count("f + m") == 1 and text.count("addmm") == 1
    assert "F.layer_norm(i, units, a_i, b_i)" in generate(CELLS["layer_norm"], "pytorch", "-")
    assert "n + z * (h - n)" in generate(CELLS["gru"], "jax", "-")


HEAD = (
    "from recurrent_cells import cell, sigmoid, tanh, where\n\n\n"  # a cell is declared in line 4
)
TWO, ONE = '@cell(gates="f g", states="h c")\n', '@cell(gates="f", states="h")\n'
SQUARE = '@cell(gates="f g", states="h c", squares="c", heads=2)\n'
MATRICES = '@cell(gates="f g", states="h c", matrices="u")\n'
VECTOR = '@cell(gates="f", states="h", vectors="v", matrices="u")\n'
OF_ONE = '@cell(gates="f", states="h c")\n'
GOOD = "def mine(f, g, h, c):\n    return sigmoid(f) * h + g, c\n"

# What is wrong: (how the cell is declared, its arguments, what it returns in line 6, what is told).
RETURNED = {
    "syntax": (TWO, "f, g", "f +", "invalid syntax"),
    "unknown name": (TWO, "f, g", "k * f, g", "unknown name k"),
    "not imported": (TWO, "f, g", "softplus(f), g", "softplus is not imported"),
    "too many are": (TWO, "f, g, c", "f, g, c", "returns 3 values for 2 states"),
    "a text is": (TWO, "f, g", 'f + g, "c"', "'c' is no value"),
    "a function is": (TWO, "f, g", "f + g, tanh", "tanh, which is not called,"),
    "one within another": (TWO, "f, g", "(f, g),", "a tuple within another"),
    "a method": (TWO, "f, g", "f.sigmoid(), g", "write sigmoid(f)"),
    "an index": (TWO, "f, g", "f, [f, g][g]", "Python needs a number here, and g"),
    "beyond float32": (TWO, "f, g", "f * 1e39, g", "not a number of float32"),
    "a dictionary is": (TWO, "f, g", '{"h": f, "c": g}', "no dict in it"),
    "too few arguments": (TWO, "f, g", "sigmoid(), f * g", "sigmoid() missing 1 required"),
    "a gate is called": (TWO, "f, g", "f(g), g", "f is a value, and none can be called"),
    "an unused gate": (TWO, "f, c", "f, c", "depends on g"),
    "not a matrix": (TWO, "f, g, h", "f @ h, g", "matrices=..."),
    "a matrix as a value": (MATRICES, "f, g, h, u", "f * u + g, h", "u is a matrix"),
    "a product of a number": (MATRICES, "f, g, h, u", "f + 2 @ u + g, h", "@"),
    "a product of a vector": (VECTOR, "f, v, u", "f + v @ u", "the same in every row"),
    "a matrix state as a value": (SQUARE, "f, g, c", "f * g, c * c + f", "two matrix states"),
    "a value added to it": (SQUARE, "f, g, c", "f * g, c + f", "only another one can be added"),
    "a value as the new one": (SQUARE, "f, g, c", "c @ f * g, f", "the new c is no matrix"),
    "a part": (TWO, "f, g, h", "f[0] + g, h", "it has no parts"),
    "not apart": (TWO, "f, g, h", "f.x + g, h", 'has no .x: apart="f"'),
    "&": (TWO, "f, g, h", "((f > 0) & (g < 1)) * f, h", "no //, %, ~, &, | and ^"),
    "==": (TWO, "f, g, h", "where(f == 0, f, g), h", "== and != compare nothing"),
    "a power": (TWO, "f, g, h", "f ** 0.3, g + h", "a whole number or 0.5"),
    "a large power": (TWO, "f, g, h", "f ** 1000, g + h", "64 is the most"),
    "a power without end": (TWO, "f, g, h", "f * 10**10**10, g + h", "OverflowError"),
    "eval": (TWO, "f, g", "eval('f'), g", "the language has no eval"),
    "underscores": (TWO, "f, g", "f.__class__, g", "has no .__class__"),
    "the same in every row": (OF_ONE, "f", "f, 1.0", "the new c is the same"),
}
# What is wrong: (what stands in @cell(...), what is told).
DECLARED = {
    "a square": ('gates="f", states="h", squares="h"', "the output cannot be a matrix"),
    "no head": ('gates="f", states="h", heads=0', "heads must be"),
    "two": ('gates="f", states="h", heads=2, projected=True', "neither heads nor matrices"),
    "a weight's name": ('gates="f", states="h", vectors="bias"', "cannot be called bias"),
    "twice": ('gates="f f", states="h"', "f is declared twice"),
    "no such keyword": ('gates="f", state="h"', "state"),
    "taken": ('gates="f", states="y"', "a state cannot be called y"),
    "no gate of x": ('gates="f", h_only="f", states="h"', "no gate reads x"),
    "no number": ('gates="f", states="h=x"', "is no number"),
    "spaces": ('gates="f", states="h = 1"', "without spaces"),
    "too large": ('gates="f", states="h=1e39"', "is no number"),
    "commas": ('gates="f,g", states="h"', "separate names with spaces"),
    "run": ('gates="f", states="h" if print("x") is None else ""', "names in strings"),
}
MINE = "def mine(f, g, h, c):\n"
LOOP = f"{MINE}    for _ in range({{}}):\n        c = f * c\n    return h + g, c\n"
# What is wrong: (what follows HEAD, the line that is named, what is told).
WHOLE = {
    "nothing is": (f"{TWO}{MINE}    c = f * g\n", 6, "returns nothing for 2 states"),
    "no gate": (f"{TWO}def mine(f, g, k):\n    return f + g, k\n", 4, "k is not declared"),
    "apart as one": (
        '@cell(gates="f", apart="f", states="h")\ndef mine(f):\n    a = 1\n    return a + f\n',
        *(7, "f is kept apart: f.x and f.h"),
    ),
    "if": (f"{TWO}{MINE}    if f > 0:\n        f = g\n    return f + g, h\n", 6, "where(a >= b"),
    "if ==": (f"{TWO}{MINE}    if f != 0:\n        f = g\n    return f, h\n", 6, "== and !="),
    "== of a matrix state": (f"{SQUARE}{MINE}    if c == 0:\n        f = g\n", 6, "a matrix state"),
    "a loop": (f"{TWO}{MINE}    while True:\n        pass\n", 6, "no while in it"),
    "a loop without end": (TWO + LOOP.format("10**9"), 6, "more than 1000 times"),
    "a long chain": (TWO + LOOP.format("300"), 8, "200 are the most"),
    "code": (f"{TWO}{GOOD}print(mine)\n", 7, "would be run by an import"),
    "two cells": (f"{TWO}{GOOD}\n\n{ONE}def two(f):\n    return f\n", 10, "a second cell"),
    "a default": (f'{ONE}def mine(f, a="b"):\n    return f\n', 5, "a number"),
    "a name": (f"{ONE}def Mine(f):\n    return f\n", 5, "lower-case letters"),
    "a call as a number": (f"N = open('x')\n{ONE}{GOOD}", 4, "can stand for a number only"),
    "no cell": (GOOD, 4, "no function with @cell"),
    "decorated otherwise": (f"@tanh\n{GOOD}", 4, "declared by @cell("),
    "an import of the system": (f"import os\n{TWO}{GOOD}", 4, "os cannot be used in a cell"),
    "torch": (f"from torch import tanh\n{TWO}{GOOD}", 4, "torch cannot be used in a cell"),
    "nothing of the package's": (
        f"import recurrent_cells as rc\n{ONE}def mine(f):\n    return f + rc.load\n",
        *(7, "the language has no load"),
    ),
    "what is decorated by another": (
        f"import recurrent_cells as rc\n@rc.tanh\n{GOOD}",
        *(5, "declared by @cell("),
    ),
    "a module is changed": (
        f"import math\n{TWO}{MINE}    math.pi = 3\n    return f, g\n",
        7,
        ".pi",
    ),
    "a constant": (f"{ONE}def mine(f, a=1e39):\n    return f * a\n", 4, "no number of float32"),
    "an import of all": (f"from recurrent_cells import *\n{TWO}{GOOD}", 4, "import each name"),
    "what is not there": ("from recurrent_cells import gelu\n", 4, "the language has no gelu"),
    "log of nothing": (
        f"from recurrent_cells import log\n{ONE}def mine(f):\n    return f * log(0)\n",
        *(7, "log(0.0)"),
    ),
    "no text": (f"{TWO}{GOOD}\x00", 1, "null bytes"),
}
WRONG_FILES = {
    **{
        what: (f"{HEAD}{declared}def mine({arguments}):\n    return {returned}\n", 6, told)
        for what, (declared, arguments, returned, told) in RETURNED.items()
    },
    **{
        f"declared: {what}": (f"{HEAD}@cell({declared})\ndef mine(f):\n    return f\n", 4, told)
        for what, (declared, told) in DECLARED.items()
    },
    **{what: (HEAD + text, line, told) for what, (text, line, told) in WHOLE.items()},
    "empty": ("", 1, "no function with @cell"),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_what_is_no_cell_is_told_with_file_and_line(case: str, tmp_path: Path) -> None:
    text, line, told = WRONG_FILES[case]
    path = written(tmp_path, text)
    with pytest.raises(CellError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}:{line}: "), error.value
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, told in ((tmp_path / "none.py", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(CellError, match=f"{re.escape(str(path))}:1: {told}"):
            load(path)
    path = tmp_path / "latin.py"
    path.write_bytes(b'"""A"""\n# \xe4\n')
    with pytest.raises(CellError, match=r"latin\.py:2: not in UTF-8"):
        load(path)


def test_nothing_of_a_file_is_run_before_it_was_held_against_the_list(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    with pytest.raises(CellError):
        load(written(tmp_path, f"{HEAD}{TWO}{GOOD}open({str(mark)!r}, 'w')\n"))
    assert not mark.exists()


def test_the_package_may_have_another_name_in_a_file(tmp_path: Path) -> None:
    text = "import recurrent_cells as rc\n@rc.cell('f g', 'h')\ndef mine(f, g):\n    return rc.tanh(f) * g\n"
    assert load(written(tmp_path, text)) == load(
        written(tmp_path, f"{HEAD}@cell('f g', 'h')\ndef mine(f, g):\n    return tanh(f) * g\n")
    )


def test_a_matrix_state_may_be_divided() -> None:
    made = cell("f g", "h c", squares="c", heads=2)
    halves = made(lambda f, g, c: (c @ f, c / 2 + outer(f, g) / g))
    assert halves == made(lambda f, g, c: (c @ f, c * 0.5 + outer(f, g) * (1 / g)))


def test_a_function_of_ones_own_may_be_called(many: Cell) -> None:
    assert math.isclose(many.constants[1][1], 2.5)
    assert cell(gates="f", states="h")(lambda f: f).outputs["h"] is named("f")
