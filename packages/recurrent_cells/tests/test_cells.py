"""Cells: their derivative against complex steps, what their simplification saves, and what a wrong one is told."""

from collections import Counter

import numpy as np
import pytest
from given_cells import EXAMPLES, HEADS, MATRICES

from recurrent_cells.cell_file import load
from recurrent_cells.cells import CELLS, Cell, cell, reference
from recurrent_cells.cells.derivative import backward
from recurrent_cells.cells.language import in_order
from recurrent_cells.cells.simplify import stages

LENGTH, BATCH, INPUTS, HIDDEN, DEPTH, PROJECTED = 3, 2, 3, 4, 2, 3
STEP = 1e-30
NAMES = [*CELLS, *EXAMPLES, "heads", "matrices"]


def found(name: str) -> Cell:
    return (
        CELLS[name]
        if name in CELLS
        else load({**EXAMPLES, "heads": HEADS, "matrices": MATRICES}[name])
    )


def drawn(one: Cell) -> tuple:
    """x, layers, initial states, and gradients of the output and of the final states; all at random."""
    random = np.random.default_rng(0)
    hidden = max(HIDDEN, 2 * one.heads)  # heads of two units
    output = PROJECTED if one.projected else hidden
    sizes = [INPUTS] + [output] * (DEPTH - 1)
    layers = [reference.random_layer(one, size, hidden, random, output) for size in sizes]

    def states() -> dict[str, np.ndarray]:
        shapes = {name: (hidden, hidden // one.heads) for name in one.squares}
        shapes = dict.fromkeys(one.states, (hidden,)) | {one.states[0]: (output,)} | shapes
        return {n: random.uniform(0.2, 1, (DEPTH, BATCH, *own)) for n, own in shapes.items()}

    x = random.uniform(-1, 1, (LENGTH, BATCH, INPUTS))
    exact = [[value.astype(np.float64) for value in layer] for layer in layers]
    return x, exact, states(), random.uniform(-1, 1, (LENGTH, BATCH, output)), states()


@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_complex_steps(name: str) -> None:
    """Of every element of x, of the initial states and of the weights, without the derivative's rules."""
    one = found(name)
    x, layers, initial, d_y, d_final = drawn(one)

    def loss() -> complex:
        y, final, _ = reference.forward(one, x, layers, initial)
        return (y * d_y).sum() + sum((final[n] * d_final[n]).sum() for n in one.states)

    _, _, tape = reference.forward(one, x, layers, initial)
    d_x, d_initial, d_layers = reference.gradients(one, layers, tape, d_y, d_final)
    x = x.astype(np.complex128)
    layers = [[value.astype(np.complex128) for value in layer] for layer in layers]
    initial = {n: value.astype(np.complex128) for n, value in initial.items()}
    pairs = [(x, d_x), *((initial[n], d_initial[n]) for n in one.states)]
    pairs += [pair for own in zip(layers, d_layers, strict=True) for pair in zip(*own, strict=True)]
    for value, gradient in pairs:
        assert value.shape == gradient.shape
        for place in np.ndindex(value.shape):
            value[place] += STEP * 1j
            assert loss().imag / STEP == pytest.approx(gradient[place], rel=1e-9, abs=1e-10)
            value[place] -= STEP * 1j


def operations(name: str, training: bool) -> Counter:
    one = CELLS[name]
    roots = [
        root
        for stage in stages(one, backward(one).kept if training else {})
        for root in stage.results.values()
    ]
    return Counter(each.operation for each in in_order(roots))


def test_an_lstm_costs_what_a_careful_hand_would_spend() -> None:
    """Two divisions and five exponentials, in training too, and six kept values."""
    for training in (False, True):
        found = operations("lstm", training)
        assert (found["divide"], found["exp2"], found["exp2_minus_1"]) == (2, 3, 2)
    assert len(backward(CELLS["lstm"]).kept) == 6


def test_backward_has_no_exponentials_and_no_divisions() -> None:
    for one in CELLS.values():
        used = {each.operation for each in in_order(backward(one).gradients.values())}
        assert used <= {"input", "constant", "add", "subtract", "multiply", "norm_gradient"}


def test_wrong_cells_are_told() -> None:
    with pytest.raises(ValueError, match="cell own: its output is projected"):
        _ = cell(gates="f", states="h", projected=True)(_named("own", lambda f, h: f * h)).outputs
    with pytest.raises(ValueError, match=r"\.py:\d+: cell apart: apart='n', but the gates are 'f'"):
        cell(gates="f", states="h", apart="n")(_named("apart", lambda f: f))
    for argument in ("gates", "states", "vectors", "matrices", "squares", "apart", "x_only"):
        with pytest.raises(ValueError, match=f"cell listed: {argument} must be a string"):
            cell(**{"gates": "f", "states": "h", argument: ["f"]})(_named("listed", lambda f: f))
    with pytest.raises(ValueError, match="TypeError"):
        cell(gates="f", states="h")(_named("foreign", lambda f: np.tanh(f)))
    with pytest.raises(ValueError, match="unknown name gelu"):
        cell(gates="f", states="h")(_named("foreign", lambda f: gelu(f)))  # noqa: F821
    with pytest.raises(ValueError, match="calls itself"):
        cell(gates="f", states="h")(_named("endless", _endless))
    with pytest.raises(ValueError, match="@cell"):
        cell(_named("bare", lambda f: f))
    with pytest.raises(ValueError, match="gate; it has gates, states"):
        cell(gate="f", states="h")


def test_functions_of_pytorch_are_told_where_the_cell_is_written() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="PyTorch's tanh"):
        cell(gates="f", states="h")(_named("foreign", lambda f: torch.tanh(f)))


def _endless(f):
    return _endless(f)


def _named(name: str, function):
    function.__name__ = name
    return function
