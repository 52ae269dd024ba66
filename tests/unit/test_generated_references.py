"""The float64 references that are generated of cells, against those by hand and against central differences."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from measurement import gradient_check, steps
from measurement import reference as harness
from measurement.cells import CELLS as KINDS
from measurement.cells import Cell as Kind
from measurement.workload import Workload
from recurrent_cells.cell_file import load
from recurrent_cells.cells import CELLS, Cell, cell, language, reference
from recurrent_cells.cells.derivative import PARTIALS
from recurrent_cells.sources import generate, numpy_source
from tests import tiny

PACKAGE = Path("packages/recurrent_cells")
EXAMPLES = {path.stem: path for path in sorted((PACKAGE / "examples/cells").glob("*.py"))}
KINDS_BY_HAND = ("lstm", "gru", "coupled", "peephole", "layer-norm", "slstm")
BY_HAND = {name: CELLS[name.replace("-", "_")] for name in KINDS_BY_HAND}


def module(one: Cell) -> ModuleType:
    """What is generated for NumPy."""
    made = ModuleType(f"generated_{one.name}")
    exec(compile(generate(one, "numpy", "a test"), one.name, "exec"), made.__dict__)
    return made


@pytest.fixture(scope="module")
def many() -> Cell:
    return load(PACKAGE / "tests/every_word.py")


@pytest.mark.parametrize("name", BY_HAND)
def test_generated_references_are_those_by_hand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their facts, and values and gradients through time."""
    random = np.random.default_rng(0)
    one = BY_HAND[name]
    made = module(one)
    facts = Kind(**made.CELL)
    for field in ("gates", "biases", "states", "vectors", "starts", "of_x", "of_h"):
        assert getattr(facts, field) == getattr(KINDS[name], field), field
    layer = [value.astype(np.float64) for value in reference.random_layer(one, 3, 5, random)]
    weights = [*layer[:3], *([np.concatenate(layer[3:])] if one.vectors else [])]
    x, d_y = random.uniform(-1, 1, (6, 2, 3)), random.uniform(-1, 1, (6, 2, 5))
    found = []
    for pair in (steps.STEPS[name], (made.step, made.gradient)):
        monkeypatch.setitem(steps.STEPS, name, pair)
        h, _, tape = harness.layer(name, x, weights)
        found.append([h, *harness.layer_gradient(name, x, weights, tape, d_y)])
    for own, by_hand in zip(*found, strict=True):
        np.testing.assert_allclose(own, by_hand, rtol=1e-9, atol=1e-13)


def registered(monkeypatch: pytest.MonkeyPatch, one: Cell) -> Workload:
    """A tiny workload of a cell whose reference is generated; heads have two units."""
    made = module(one)
    monkeypatch.setitem(KINDS, "own.mine", Kind(**made.CELL))
    monkeypatch.setitem(steps.STEPS, "own.mine", (made.step, made.gradient))
    return tiny.classifier("one-way", cell="own.mine", hidden=8 if one.heads != 3 else 6)


def witnessed(monkeypatch: pytest.MonkeyPatch, one: Cell) -> dict[str, float]:
    work = registered(monkeypatch, one)
    weights = {name: value.astype(np.float64) for name, value in work.weights().items()}
    return gradient_check.errors(weights, next(work.batches())[0], "own.mine")


@pytest.mark.parametrize("name", [*EXAMPLES, "many"])
def test_differences_agree_with_what_is_generated(name: str, many: Cell, monkeypatch) -> None:
    """Those of BY_HAND are what is held against differences in test_reference.py."""
    one = load(EXAMPLES[name]) if name in EXAMPLES else many
    errors = witnessed(monkeypatch, one)
    assert len(errors) == len(one.sums + one.vectors + one.matrices + one.states)
    assert max(errors.values()) < gradient_check.TOLERANCE / 10, errors


def test_vectors_are_drawn_around_what_the_cell_says(monkeypatch: pytest.MonkeyPatch) -> None:
    @cell(gates="f", states="h", vectors="period=8 nu=-3 plain")
    def mine(f, h, period, nu, plain):
        return language.tanh(f) * period * nu + plain * h

    drawn = registered(monkeypatch, mine).weights()["lstm.0.vectors"].reshape(3, -1)
    assert (abs(drawn - [[8.0], [-3.0], [0.0]]) <= 0.1).all()


def test_a_kink_where_a_state_begins_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """relu at 0 has every slope from 0 to 1: that of the rule is one of them."""

    @cell(gates="f", states="h")
    def mine(f, h):
        return language.tanh(f) + language.relu(h)

    assert max(witnessed(monkeypatch, mine).values()) < gradient_check.TOLERANCE


@pytest.mark.parametrize("operation", sorted(PARTIALS.keys() - {"sign", "at_least"}))  # all 0
def test_a_wrong_rule_of_the_derivative_is_witnessed(operation, many: Cell, monkeypatch) -> None:
    """Each gradient of an operation is twice what it should be."""
    right = PARTIALS[operation]

    def wrong(*given: language.Expression) -> tuple[language.Expression | None, ...]:
        return tuple(None if each is None else 2.0 * each for each in right(*given))

    monkeypatch.setitem(PARTIALS, operation, wrong)
    assert max(witnessed(monkeypatch, many).values()) > 100 * gradient_check.TOLERANCE


def not_transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_source, "OTHER", {name: name for name in language.PRODUCTS})


def half_of_an_outer_product(monkeypatch: pytest.MonkeyPatch) -> None:
    right = numpy_source._flows

    def wrong(one: language.Expression, own: language.Expression) -> list[language.Expression]:
        found = right(one, own)
        return [found[0], found[1] * 0.5, found[2]] if one.operation == "outer" else found

    monkeypatch.setattr(numpy_source, "_flows", wrong)


def another_heads_block(monkeypatch: pytest.MonkeyPatch) -> None:
    text = numpy_source._FUNCTIONS["weight_gradient"]
    monkeypatch.setitem(
        numpy_source._FUNCTIONS, "weight_gradient", text.replace("(x.swap", "(x[::-1].swap")
    )


@pytest.mark.parametrize(
    ("wrong", "file"),
    [
        (not_transposed, EXAMPLES["lem"]),
        (half_of_an_outer_product, EXAMPLES["mlstm"]),
        (another_heads_block, PACKAGE / "tests/every_product.py"),
    ],
)
def test_a_wrong_gradient_of_products_is_witnessed(
    wrong: Callable[[pytest.MonkeyPatch], None], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = load(file)
    assert max(witnessed(monkeypatch, one).values()) < gradient_check.TOLERANCE
    wrong(monkeypatch)
    assert max(witnessed(monkeypatch, one).values()) > 100 * gradient_check.TOLERANCE
