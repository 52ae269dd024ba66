"""`Recurrent` against nn.LSTM and nn.GRU, and against its own operators in float64; its manners; its refusals."""

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

os.environ.setdefault("RECURRENT_CELLS_CFLAGS", "-march=native -O1")  # compiles faster
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait leave the cores to others
torch = pytest.importorskip("torch")

from given_cells import EXAMPLES, HEADS, MANY, MATRICES  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.nn.utils import parametrize, rnn  # noqa: E402

from recurrent_cells import (  # noqa: E402
    CELLS,
    Recurrent,
    cell,
    cell_file,
    memory,
    steps,
    tanh,
    tensors,
)

INPUTS, HIDDEN = 5, 19  # hidden units: no multiple of a vector
STEPS, BATCH = 6, 4


@cell(gates="g", states="h")
def elman(g):
    return tanh(g)


def kinds_of_cells() -> dict[str, Any]:
    """One of each structure; test_kernel.py has every cell."""
    files = {"many": MANY, "heads": HEADS, "matrices": MATRICES, "sru": EXAMPLES["sru"]}
    return {**CELLS, **{name: cell_file.load(path) for name, path in files.items()}}


def error(found: Any, exact: Any) -> float:
    """The largest difference between two lists of tensors, over the largest value of each, at least 0.1."""
    worst = 0.0
    for a, b in zip(found, exact, strict=True):
        assert a.shape == b.shape
        if b.numel():
            scale = max(b.abs().max().item(), 0.1)
            worst = max(worst, (a.double() - b.double()).abs().max().item() / scale)
    return worst


def flat(y: Any, states: Any) -> list[Tensor]:
    return [y, *([states] if isinstance(states, Tensor) else states)]


@contextmanager
def dropout_masks() -> Iterator[list[Tensor]]:
    """What dropout multiplies by, call by call."""
    usual, found = functional.dropout, []

    def recorded(x: Tensor, p: float, training: bool) -> Tensor:
        before = torch.get_rng_state()
        y = usual(x, p, training)
        torch.set_rng_state(before)
        found.append(usual(torch.ones_like(x), p, training))
        return y

    with mock.patch.object(functional, "dropout", recorded):
        yield found


def exact(
    layer: Recurrent,
    x: Tensor,
    states: Any,
    weights: dict[str, Tensor],
    lengths: Any,
    resets: Any,
    masks: Sequence[Tensor] = (),
) -> list[Tensor]:
    """y and the final states, by PyTorch's operators in the precision of what is given. x [T, B, K]; states: a list; masks: of
    dropout."""
    directions, final = 1 + layer.bidirectional, []
    ends = layer._ends()
    for number in range(layer.num_layers):
        own = range(number * directions, (number + 1) * directions)
        values = []
        for place in own:
            found = [weights.get(name + ends[place]) for name in layer._names()]
            if not layer.bias:
                found.insert(2, x.new_zeros(len(layer.cell.sums) * layer.hidden_size))
            values += found
        begin = [one[place] for place in own for one in states]
        x, *new = steps.both(layer.cell, x, begin, values, lengths, resets, directions)
        x = x * masks[number] if number < len(masks) else x
        count = len(states)
        final += [new[n * count : (n + 1) * count] for n in range(directions)]
    return [x, *(torch.stack(each) for each in zip(*final, strict=True))]


def drawn_states(layer: Recurrent, batch: int) -> list[Tensor]:
    places = layer.num_layers * (1 + layer.bidirectional)
    shapes = layer.cell.state_shapes(layer.hidden_size, layer.output_size)
    return [torch.rand(places, batch, *own) * 0.6 + 0.2 for own in shapes]


def errors(
    layer: Recurrent, steps_: int, batch: int, lengths: Any = None, resets: Any = None
) -> tuple[float, float]:
    """Errors of y and final states, and of all gradients, in training; y in inference is the same."""
    x, states = torch.rand(steps_, batch, layer.input_size) * 2 - 1, drawn_states(layer, batch)
    first = layer.batch_first
    own_x = (x.transpose(0, 1) if first else x).clone().requires_grad_()
    own = [one.clone().requires_grad_() for one in states]
    given_resets = resets.t() if resets is not None and first else resets
    given_states = own[0] if len(own) == 1 else tuple(own)
    torch.manual_seed(1)
    with dropout_masks() as masks:
        y, final = layer(own_x, given_states, lengths=lengths, resets=given_resets)
    weights = dict(layer.named_parameters())
    found = flat(y.transpose(0, 1) if first else y, final)
    torch.manual_seed(1)
    with torch.no_grad():
        again = flat(*layer(own_x, given_states, lengths=lengths, resets=given_resets))
    assert error([again[0].transpose(0, 1) if first else again[0], *again[1:]], found) < 5e-6
    factors = [torch.rand_like(one) for one in found]
    layer.zero_grad()
    sum((a * b).sum() for a, b in zip(found, factors, strict=True)).backward()
    doubles = {name: one.detach().double().requires_grad_() for name, one in weights.items()}
    other_x = x.double().requires_grad_()
    other = [one.double().requires_grad_() for one in states]
    wanted = exact(layer, other_x, other, doubles, lengths, resets, masks)
    sum((a * b).sum() for a, b in zip(wanted, factors, strict=True)).backward()
    d_x = own_x.grad.transpose(0, 1) if first else own_x.grad
    pairs = [(d_x, other_x.grad), *((a.grad, b.grad) for a, b in zip(own, other, strict=True))]
    pairs += [(weights[name].grad, doubles[name].grad) for name in weights]
    pairs = [(a, torch.zeros_like(a) if b is None else b) for a, b in pairs if a is not None]
    if lengths is not None:
        for row, length in enumerate(lengths.tolist()):
            assert not found[0][length:, row].any() and not d_x[length:, row].any()
    return error(found, wanted), error(*zip(*pairs, strict=True))


# Numbers


@pytest.mark.parametrize("name", kinds_of_cells())
def test_cells_agree_with_float64(name: str) -> None:
    torch.manual_seed(0)
    one = kinds_of_cells()[name]
    hidden = -(-HIDDEN // one.heads) * one.heads
    layer = Recurrent(
        one, INPUTS, hidden, 2, proj_size=7 if one.projected else 0, bidirectional=True
    )
    lengths = torch.tensor([3, 6, 1, 4])
    values, gradients = errors(layer, STEPS, BATCH, lengths, torch.rand(STEPS, BATCH) < 0.2)
    assert values < 1e-5 and gradients < 5e-5


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_drawn_shapes_and_options_agree_with_float64(data: st.DataObject) -> None:
    draw = data.draw
    one = CELLS[draw(st.sampled_from(sorted(CELLS)))]
    torch.manual_seed(draw(st.integers(0, 99)))
    sizes = st.integers(1, 40)
    layers = draw(st.integers(1, 3))
    layer = Recurrent(
        one,
        draw(sizes),
        draw(st.integers(8 if one.norms else 1, 40)),  # a norm over two units magnifies rounding
        layers,
        dropout=draw(st.sampled_from([0.0, 0.3, 0.8])) if layers > 1 else 0.0,
        bias=draw(st.booleans()),
        batch_first=draw(st.booleans()),
        bidirectional=draw(st.booleans()),
        proj_size=draw(st.integers(1, 9)) if one.projected else 0,
    )
    length, batch = draw(st.integers(1, 12)), draw(st.integers(1, 20))
    lengths = torch.randint(0, length + 1, (batch,)) if draw(st.booleans()) else None
    resets = torch.rand(length, batch) < 0.2 if draw(st.booleans()) else None
    torch.set_num_threads(draw(st.integers(1, 2)))
    values, gradients = errors(layer, length, batch, lengths, resets)
    assert values < 1e-5 and gradients < 1e-4


KINDS = {
    "lstm": (nn.LSTM, {}),
    "without bias": (nn.LSTM, {"bias": False, "num_layers": 2}),
    "batch first": (nn.LSTM, {"batch_first": True}),
    "projected": (nn.LSTM, {"proj_size": 3, "num_layers": 2, "bidirectional": True}),
    "gru": (nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "dropout": (nn.LSTM, {"num_layers": 3, "dropout": 0.4}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_pytorchs_layers_are(kind: str) -> None:
    """Also dropout's masks, and the weights there and back."""
    torch.manual_seed(0)
    made, options = KINDS[kind]
    other = made(INPUTS, HIDDEN, **options)
    own = getattr(Recurrent, f"from_{made.__name__.lower()}")(other)
    back = getattr(own, f"to_{made.__name__.lower()}")()
    x, found = torch.rand(STEPS, BATCH, INPUTS), []
    for layer in (own, other, back):
        torch.manual_seed(1)
        mine = x.clone().requires_grad_()
        results = flat(*layer(mine))
        sum(one.square().sum() for one in results).backward()
        found.append([one.detach() for one in results] + [mine.grad])
    assert error(found[0], found[1]) < 1e-5 and error(found[2], found[1]) < 1e-5
    loaded = Recurrent(own.cell, INPUTS, HIDDEN, **options)
    loaded.load_state_dict(other.state_dict())
    torch.manual_seed(1)
    assert error(flat(*loaded(x)), found[0][:-1]) < 1e-6


# bfloat16


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("kind", ["lstm", "projected", "gru"])
def test_bfloat16_is_as_near_to_float64_as_pytorchs(kind: str, autocast: bool) -> None:
    """Outputs, states and gradients, in the types that nn.LSTM gives; under autocast those of weights are float32."""
    torch.manual_seed(0)
    made, options = KINDS[kind]
    exactly = made(33, 64, **options).double()
    x, found = torch.rand(20, 7, 33).bfloat16(), []
    with torch.no_grad():
        for one in exactly.parameters():
            one.copy_(one.bfloat16())
    other = made(33, 64, **options).float() if autocast else made(33, 64, **options).bfloat16()
    other.load_state_dict(exactly.state_dict())
    own = getattr(Recurrent, f"from_{made.__name__.lower()}")(other)
    assert own.weight_input_l0.dtype == (torch.float32 if autocast else torch.bfloat16)
    for layer in (exactly, own, other):
        mine = x.double() if layer is exactly else x.float() if autocast else x.clone()
        mine.requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast and layer is not exactly):
            try:
                results = flat(*layer(mine))
            except RuntimeError as refused:  # oneDNN trains no LSTM under autocast without AVX-512
                if layer is not other or "primitive descriptor" not in str(refused):
                    raise
                layer.bfloat16()
                mine = x.clone().requires_grad_()
                with torch.autocast("cpu", enabled=False):
                    results = flat(*layer(mine))
        if layer is own:
            assert {one.dtype for one in results} == {torch.bfloat16}
        sum(one.double().square().sum() for one in results).backward()
        weights = [layer.weight_input_l0.grad] if layer is own else [layer.weight_ih_l0.grad.t()]
        found.append([one.detach() for one in results] + [mine.grad, *weights])
    assert [one.dtype for one in found[1][-2:]] == [own.weight_input_l0.dtype] * 2
    for right, mine, theirs in zip(*found, strict=True):
        assert error([mine], [right]) < max(1.5 * error([theirs], [right]), 0.004)


def test_bfloat16_does_what_float32_does() -> None:
    """Lengths, both directions, streams, torch.compile and gradients of gradients."""
    layer = Recurrent("gru", INPUTS, HIDDEN, 2, bidirectional=True)
    half = copy.deepcopy(layer).bfloat16()
    x, lengths = torch.rand(STEPS, BATCH, INPUTS), torch.tensor([3, 6, 0, 4])
    compiled = torch.compile(half, fullgraph=True, backend="aot_eager")
    for one in (half, compiled):
        own = x.bfloat16().requires_grad_()
        y, h = one(own, lengths=lengths)
        assert error(flat(y, h), flat(*layer(x, lengths=lengths))) < 0.02
        y.sum().backward()
        assert own.grad.dtype == torch.bfloat16 and not own.grad[3:, 0].any()
    own = x.bfloat16().requires_grad_()
    (d_x,) = torch.autograd.grad(half(own)[0].square().sum(), own, create_graph=True)
    d_x.square().sum().backward()
    assert own.grad.isfinite().all()
    single = Recurrent("lstm", INPUTS, HIDDEN, 2, dtype=torch.bfloat16)
    stream, x = single.stream(BATCH), x.bfloat16()
    found = torch.stack([stream.step(one).clone() for one in x])
    assert found.dtype == torch.bfloat16 and error([found], [single(x)[0]]) < 0.004


# int8


def steps_of(*shape: int) -> Tensor:
    """Values that int8 holds exactly: each row's largest one is 127 steps."""
    whole = torch.randint(-127, 128, shape)
    whole[..., 0] = 127
    return whole * torch.rand(*shape[:-1], 1)


@pytest.mark.parametrize("name", ["lstm", "projected", "sru"])
def test_int8_is_exact_where_rounding_changes_nothing(name: str) -> None:
    torch.manual_seed(0)
    size = {"proj_size": 7} if name == "projected" else {}
    layer = Recurrent(kinds_of_cells()[name], INPUTS, HIDDEN, bidirectional=True, **size)
    with torch.no_grad():
        for one in layer.parameters():
            if one.dim() == 2:
                one.copy_(steps_of(one.shape[1], one.shape[0]).t())
        states = drawn_states(layer, BATCH)
        states[0] = steps_of(*states[0].shape)
        given = states[0] if len(states) == 1 else tuple(states)
        x, own = steps_of(1, BATCH, INPUTS), layer.int8()
        found, wanted = flat(*own(x, given)), flat(*layer(x, given))
    if name == "projected":  # what is projected is rounded, to within half a step
        assert error(found[2:], wanted[2:]) < 1e-5
        largest = max(
            one.abs().amax(0).max() for n, one in own.state_dict().items() if n.endswith("scale")
        )
        assert (found[0] - wanted[0]).abs().max() < HIDDEN * 127 * largest / 254
    else:
        assert error(found, wanted) < 1e-5


def test_int8_layers_keep_their_types() -> None:
    layer, x = Recurrent("lstm", INPUTS, HIDDEN), torch.randn(STEPS, BATCH, INPUTS)
    own = layer.int8()
    assert torch.equal(layer.int8().bfloat16()(x)[0], own(x)[0])
    with pytest.raises(RuntimeError, match="int8 layer"):
        layer.load_state_dict(own.state_dict(), strict=False)
    with pytest.raises(RuntimeError, match="int8 layers"):
        torch.export.export(own, (x,))


@pytest.mark.parametrize("change", ["in place", "another", "tied"])
def test_an_int8_layer_that_changes_is_noticed(change: str) -> None:
    layer = Recurrent("lstm", INPUTS, HIDDEN, bidirectional=True).int8()
    x = torch.randn(STEPS, BATCH, INPUTS)
    before = layer(x)[0]
    if change == "in place":
        layer.weight_input_l0.clamp_(0)
    elif change == "tied":
        layer.bias_l0_reverse = layer.bias_l0
    else:
        layer.bias_l0 = torch.ones(4 * HIDDEN)
    after = layer(x)[0]
    assert not torch.equal(after, before) and torch.equal(after, copy.deepcopy(layer)(x)[0])


def test_int8_does_what_float32_does() -> None:
    """Rows of any lengths are what each is alone; streams, copies, pickles and checkpoints compute the same."""
    layer = Recurrent("gru", INPUTS, HIDDEN, 2, bidirectional=True, bias=False).requires_grad_(
        False
    )
    x, own, lengths = torch.randn(STEPS, BATCH, INPUTS), layer.int8(), [3, 6, 1, 4]
    y = own(x, lengths=lengths)[0]
    for row, length in enumerate(lengths):
        assert torch.equal(y[:length, row], own(x[:length, row])[0]) and not y[length:, row].any()
    loaded = Recurrent("gru", INPUTS, HIDDEN, 2, bidirectional=True, bias=False).int8()
    loaded(x)
    loaded.load_state_dict(own.state_dict())
    for other in (copy.deepcopy(own), pickle.loads(pickle.dumps(own)), loaded):
        assert torch.equal(other(x, lengths=lengths)[0], y)
    with pytest.raises(RuntimeError, match=r"torch\.int8"):
        loaded.load_state_dict(layer.state_dict(), strict=False)
    single = Recurrent("lstm", INPUTS, HIDDEN, 2).int8()
    stream = single.stream(BATCH)
    assert torch.equal(torch.stack([stream.step(one).clone() for one in x]), single(x)[0])
    spoiled = x.clone()
    spoiled[2, 1, 3] = float("inf")
    wrong = single(spoiled)[0].isnan()
    assert wrong[2:, 1].all() and wrong.sum() == wrong[2:, 1].numel()


@pytest.mark.parametrize("sort", [False, True])
def test_packed_sequences(sort: bool) -> None:
    lstm = nn.LSTM(INPUTS, HIDDEN, 2, bidirectional=True)
    own = Recurrent.from_lstm(lstm)
    lengths = torch.tensor([6, 4, 3, 1] if sort else [3, 6, 1, 4])
    found = []
    for layer in (own, lstm):
        x = torch.rand(STEPS, BATCH, INPUTS, generator=torch.manual_seed(0)).requires_grad_()
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=sort)
        states = tuple(torch.ones(4, BATCH, HIDDEN) * torch.arange(4).view(1, 4, 1) for _ in "hc")
        y, final = layer(packed, states)
        (y.data.square().sum() + final[0].sum()).backward()
        found.append([y.data, *final, rnn.pad_packed_sequence(y)[0], x.grad])
    assert error(*found) < 1e-5


@pytest.mark.parametrize("kind", ["lstm", "projected", "heads", "matrices"])
def test_each_gradient_is_what_it_is_among_all(kind: str) -> None:
    """Others are not computed."""
    size = {"proj_size": 7} if kind == "projected" else {}
    layer = Recurrent(kinds_of_cells()[kind], INPUTS, 24, bidirectional=True, **size)
    x = torch.randn(STEPS, BATCH, INPUTS)
    shapes = [one.shape for one in flat(None, layer(x)[1])[1:]]
    given = [x, *(torch.randn(shape) for shape in shapes), *layer.parameters()]
    states = given[1 : 1 + len(shapes)]

    def gradients(wanted: list[Tensor]) -> list[Tensor]:
        for one in given:
            one.requires_grad_(any(one is each for each in wanted))
        found = flat(*layer(x, states[0] if len(states) == 1 else tuple(states)))
        return list(torch.autograd.grad(sum(one.square().sum() for one in found), wanted))

    every = gradients(given)
    for one, expected in zip(given, every, strict=True):
        torch.testing.assert_close(gradients([one])[0], expected, rtol=0, atol=0)


def test_dropout_is_off_where_nothing_is_trained() -> None:
    layer = Recurrent("lstm", INPUTS, HIDDEN, 2, dropout=0.9)
    x = torch.randn(STEPS, BATCH, INPUTS)
    assert not torch.equal(layer(x)[0], layer(x)[0])
    assert torch.equal(layer.eval()(x)[0], layer(x)[0])


def test_initial_values_are_drawn_as_in_nn_lstm_and_around_those_of_the_cell() -> None:
    @cell(gates="f", states="h", vectors="bias_f=3")
    def moved(f, h, bias_f):  # type: ignore[no-untyped-def]
        return tanh(f + bias_f) + h

    hidden = 100
    layer, bound = Recurrent(moved, INPUTS, hidden), hidden**-0.5
    for name, value in layer.named_parameters():
        off = (value - 3 if name.startswith("bias_f") else value).abs()
        assert 0.9 * bound < off.max() <= bound + 1e-6, name


def test_one_sequence_and_an_empty_batch() -> None:
    lstm = nn.LSTM(INPUTS, HIDDEN, 2)
    own = Recurrent.from_lstm(lstm)
    x, states = torch.rand(STEPS, INPUTS), (torch.rand(2, HIDDEN), torch.rand(2, HIDDEN))
    assert error(flat(*own(input=x, hx=states)), flat(*lstm(input=x, hx=states))) < 1e-5
    y, (h, c) = own(torch.rand(STEPS, 0, INPUTS))
    assert y.shape == (STEPS, 0, HIDDEN) and h.shape == c.shape == (2, 0, HIDDEN)
    y.sum().backward()
    assert not own.weight_input_l0.grad.any()


@pytest.mark.parametrize(
    "strange",
    ["transposed", "every second", "expanded", "last axis", "negated", "negated, too", "nowhere"],
)
def test_x_may_lie_in_memory_as_it_likes(strange: str) -> None:
    x = {
        "transposed": torch.rand(BATCH, STEPS, INPUTS).transpose(0, 1),
        "every second": torch.rand(STEPS, 2 * BATCH, INPUTS)[:, ::2],
        "expanded": torch.rand(STEPS, 1, INPUTS).expand(STEPS, BATCH, INPUTS),
        "last axis": torch.rand(INPUTS, STEPS, BATCH).permute(1, 2, 0),
        "negated": torch._neg_view(torch.rand(STEPS, BATCH, INPUTS)),
        "negated, too": torch._neg_view(torch.rand(INPUTS, STEPS, BATCH).permute(1, 2, 0)),
        "nowhere": torch._efficientzerotensor((STEPS, BATCH, INPUTS)),
    }[strange]
    layer = Recurrent("gru", INPUTS, HIDDEN, bidirectional=True)
    assert error(flat(*layer(x)), flat(*layer(x.clone().contiguous()))) == 0.0


def test_a_stream_is_the_same_step_by_step() -> None:
    layer = Recurrent("slstm", INPUTS, HIDDEN, 2)
    x, stream = torch.rand(STEPS, BATCH, INPUTS), layer.stream(BATCH)
    y, final = layer(x)
    for _ in range(2):
        found = torch.stack([stream.step(one).clone() for one in x])
        assert error([found, *stream.states], [y, *final]) < 1e-6
        stream.reset()
    stream.step(x[0])
    stream.reset(torch.tensor([1]))
    assert error([stream.step(x[0])[1], stream.y[0]], [y[0, 1], layer(x[[0, 0]])[0][1, 0]]) < 1e-6
    stream.reset()
    for one in x[:3]:
        stream.step(one)
    other = layer.stream(BATCH)
    other.states = stream.states
    assert error([other.step(x[3])], [y[3]]) < 1e-6
    with pytest.raises(TypeError):
        other.states[0] = torch.zeros(2, BATCH, HIDDEN)
    two = Recurrent("lstm", INPUTS, HIDDEN)
    with torch.inference_mode():
        stream = two.stream(BATCH)
    stream.step(x[0])
    h, c = (one.clone() for one in stream.states)
    stream.states = reversed(stream.states)
    assert error(stream.states, [c, h]) == 0.0
    single = Recurrent("gru", INPUTS, HIDDEN)
    final = single(x[:3])[1]
    stream = single.stream(BATCH)
    stream.states = final
    assert error([stream.step(x[3])], [single(x[3:4], final)[0][0]]) < 1e-6


# Weights that change


def written_data(layer: Recurrent) -> None:
    for one in layer.parameters():
        one.data.mul_(0.5)


def written_flat(layer: Recurrent) -> None:
    whole = torch.cat([one.detach().flatten() for one in layer.parameters()])
    first = 0
    for one in layer.parameters():
        one.data = whole[first : first + one.numel()].view(one.shape)
        first += one.numel()
    layer(torch.rand(1, 1, INPUTS))
    whole.mul_(0.5)


def written_signs(layer: Recurrent) -> None:
    for one in layer.parameters():
        one.data.neg_()


def written_order(layer: Recurrent) -> None:
    for one in layer.parameters():
        one.data.copy_(one.flip(0))


WRITTEN = [written_data, written_flat, written_signs, written_order]


@pytest.fixture
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed weights are kept between calls, however few."""
    monkeypatch.setattr(tensors, "LEAST", 0)


@pytest.mark.usefixtures("_kept")
@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize("training", [False, True])
def test_weights_are_never_stale(write: Callable[[Recurrent], None], training: bool) -> None:
    layer, x = Recurrent("lstm", INPUTS, HIDDEN), torch.rand(STEPS, BATCH, INPUTS)
    with torch.set_grad_enabled(training):
        before = layer(x)[0]
        write(layer)
        after = layer(x)[0]
        assert error([after], [copy.deepcopy(layer)(x)[0]]) < 1e-7
        assert error([after], [before]) > 1e-4


@pytest.mark.usefixtures("_kept")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, torch.float32) for name in ("peephole", "layer_norm", "projected")),
        ("lstm", torch.bfloat16),
    ],
)
def test_each_weight_that_changes_is_noticed(name: str, kind: torch.dtype) -> None:
    size = 7 if name == "projected" else 0
    layer = Recurrent(name, INPUTS, HIDDEN, proj_size=size, dtype=kind)
    x = torch.rand(STEPS, BATCH, INPUTS, dtype=kind)
    with torch.no_grad():
        for one in layer.parameters():
            values = one.view(-1)
            for place in (0, len(values) // 2, len(values) - 1):
                layer(x)
                values.data[place] += 1
                assert torch.equal(layer(x)[0], copy.deepcopy(layer)(x)[0])


@pytest.mark.usefixtures("_kept")
def test_weights_are_packed_once_while_nothing_is_trained() -> None:
    layer, x = Recurrent("lstm", INPUTS, HIDDEN), torch.rand(STEPS, BATCH, INPUTS)
    known = len(tensors._known)
    with torch.no_grad():
        layer(x)
        assert len(tensors._known) == known + 1
        tensors._known[layer.weight_input_l0].packed.fill_(torch.nan)
        assert layer(x)[0].isnan().all()
    layer(x)
    assert len(tensors._known) == known
    with torch.no_grad():
        assert layer(x)[0].isfinite().all()
    del layer
    assert len(tensors._known) == known


class Half(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


def test_weights_that_are_computed() -> None:
    """By a parametrization, by DropConnect as programs have it, and by functional_call."""
    layer, x = Recurrent("lstm", INPUTS, HIDDEN), torch.rand(STEPS, BATCH, INPUTS)
    half = {**dict(layer.named_parameters()), "weight_recurrent_l0": layer.weight_recurrent_l0 / 2}
    wanted = torch.func.functional_call(layer, half, (x,))[0]
    wrapped = copy.deepcopy(layer)
    parametrize.register_parametrization(wrapped, "weight_recurrent_l0", Half())
    wrapped.train()
    dropped = copy.deepcopy(layer)
    raw = dropped.weight_recurrent_l0
    del dropped._parameters["weight_recurrent_l0"]
    dropped.weight_recurrent_l0 = raw / 2
    dropped.train()
    for one in (wrapped, dropped):
        assert error([one(x)[0]], [wanted]) < 1e-7
    wrapped(x)[0].sum().backward()
    dropped(x)[0].sum().backward()
    wanted.sum().backward()
    (original,) = wrapped.parametrizations.weight_recurrent_l0.parameters()
    grads = original.grad, raw.grad
    assert error(grads, [layer.weight_recurrent_l0.grad] * 2) < 1e-6


# Manners


def closure() -> Any:
    @cell(gates="g", states="h", vectors="a=1")
    def inner(g, h, a, rate=0.5):
        return rate * a * tanh(g) + (1 - rate) * h

    return inner


@pytest.mark.parametrize(
    "one",
    [CELLS["lstm"], elman, closure(), closure().with_constants(rate=0.1), cell_file.load(MANY)],
)
def test_copies_and_pickles(one: Any) -> None:
    layer, x = Recurrent(one, INPUTS, HIDDEN), torch.rand(STEPS, BATCH, INPUTS)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert error(flat(*other(x)), flat(*layer(x))) == 0.0
        assert repr(other) == repr(layer)
    restored = pickle.loads(pickle.dumps(one))
    assert restored == one and hash(restored) == hash(one) and restored != CELLS["gru"]
    other = Recurrent(restored, INPUTS, HIDDEN)
    other.load_state_dict(layer.state_dict())
    assert error(flat(*other(x)), flat(*layer(x))) == 0.0


def test_torch_compile_has_no_break_and_any_batch() -> None:
    layer = Recurrent("gru", INPUTS, HIDDEN, 2, bidirectional=True)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=True)
    for length, batch in ((3, 2), (5, 4), (7, 3)):
        x, lengths = torch.rand(length, batch, INPUTS), torch.arange(batch) % length + 1
        found = []
        for one in (compiled, layer):
            own = x.clone().requires_grad_()
            layer.zero_grad()
            results = flat(*one(own, lengths=lengths))
            sum(each.square().sum() for each in results).backward()
            found.append([*results, own.grad, *(p.grad.clone() for p in layer.parameters())])
        assert error(*found) < 1e-6


EXPORTED = """
import sys, torch, recurrent_cells.module
program = torch.export.load(sys.argv[1]).module()
x, y = torch.load(sys.argv[2])
assert torch.allclose(program(x)[0], y, atol=1e-6)
"""


def test_an_exported_program_runs_in_another_process(tmp_path: Path) -> None:
    layer, x = Recurrent(closure(), INPUTS, HIDDEN, batch_first=True), torch.rand(3, 6, INPUTS)
    steps_ = torch.export.Dim("steps", min=2)
    program = torch.export.export(
        layer.eval(), (torch.rand(3, 4, INPUTS),), dynamic_shapes=({1: steps_},)
    )
    torch.export.save(program, tmp_path / "layer.pt2")
    torch.save((x, layer(x)[0].detach()), tmp_path / "given.pt")
    command = [sys.executable, "-c", EXPORTED, tmp_path / "layer.pt2", tmp_path / "given.pt"]
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_gradients_of_gradients() -> None:
    layer = Recurrent("lstm", INPUTS, HIDDEN, bidirectional=True)
    x = torch.rand(STEPS, BATCH, INPUTS)
    lengths, found = torch.tensor([3, 6, 1, 4]), []
    for kind in (torch.float32, torch.float64):
        weights = {n: p.detach().to(kind).requires_grad_() for n, p in layer.named_parameters()}
        own = x.to(kind, copy=True).requires_grad_()
        if kind == torch.float32:
            y, _ = torch.func.functional_call(layer, weights, (own,), {"lengths": lengths})
        else:
            begin = [torch.zeros(2, BATCH, HIDDEN, dtype=kind) for _ in "hc"]
            y, *_ = exact(layer, own, begin, weights, lengths, None)
        (d_x,) = torch.autograd.grad(y.square().sum(), own, create_graph=True)
        d_x.square().sum().backward()
        found.append([d_x.detach(), own.grad, *(p.grad for p in weights.values())])
    assert error(*found) < 1e-4


def carried(layer: Recurrent, x: Tensor) -> Tensor:
    """Of states that come of x and of the same weights."""
    return layer(x, layer(x)[1])[0]


def tied(layer: Recurrent, x: Tensor) -> Tensor:
    for name in ("weight_input", "weight_recurrent", "bias"):
        setattr(layer, f"{name}_l0_reverse", getattr(layer, f"{name}_l0"))
    return layer(x)[0]


@pytest.mark.parametrize("use", [carried, tied])
def test_gradients_that_will_be_differentiated_are_the_same(
    use: Callable[[Recurrent, Tensor], Tensor],
) -> None:
    layer = Recurrent("gru", INPUTS, HIDDEN, bidirectional=True)
    x, found = torch.rand(STEPS, BATCH, INPUTS, requires_grad=True), []
    for again in (False, True):
        y = use(layer, x).square().sum()
        found.append(torch.autograd.grad(y, [x, *layer.parameters()], create_graph=again))
    assert error(*found) < 1e-5


@cell(gates="f", states="h t")
def counting(f, h, t):  # type: ignore[no-untyped-def]
    return tanh(f) / (t + 1) + h, t + 1


@pytest.mark.parametrize("kind", ["gru", counting])
def test_gradients_of_gradients_of_an_exported_program(kind: Any) -> None:
    layer, x = Recurrent(kind, INPUTS, HIDDEN), torch.rand(STEPS, BATCH, INPUTS)
    found = []
    for one in (layer, torch.export.export(layer, (x,)).module()):
        own = x.clone().requires_grad_()
        (d_x,) = torch.autograd.grad(one(own)[0].square().sum(), own, create_graph=True)
        found.append(torch.autograd.grad(d_x.square().sum(), [own, *one.parameters()]))
    assert error(*found) < 1e-5


def test_checkpoint_inference_mode_and_two_backward_passes() -> None:
    layer, x = Recurrent("lstm", INPUTS, HIDDEN), torch.rand(STEPS, BATCH, INPUTS)
    y, _ = layer(x)
    y.sum().backward(retain_graph=True)
    first = layer.weight_input_l0.grad.clone()
    y.sum().backward()
    torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)[0].sum().backward()
    assert error([layer.weight_input_l0.grad], [3 * first]) < 1e-6
    with torch.inference_mode():
        assert error([layer(x)[0]], [y]) < 1e-6


def test_meta_computes_nothing() -> None:
    x = torch.rand(STEPS, BATCH, INPUTS)
    elsewhere = Recurrent("lstm", INPUTS, HIDDEN, device="meta")
    y, (_, c) = elsewhere(x.to("meta"))
    assert y.is_meta and y.shape == (STEPS, BATCH, HIDDEN) and c.shape == (1, BATCH, HIDDEN)
    assert Recurrent.from_gru(nn.GRU(INPUTS, HIDDEN, device="meta")).weight_input_l0.is_meta


def in_a_child(call: Callable[[], Any]) -> int | None:
    """The exit status of a forked process, `None` if it hangs."""
    process = torch.multiprocessing.get_context("fork").Process(target=call)
    process.start()
    process.join(60)
    status = process.exitcode
    process.kill()
    return status


def test_a_cell_may_be_used_first_in_a_child() -> None:
    """Its parent has used OpenMP's threads, which a child does not have."""
    torch.set_num_threads(2)
    layer, x = Recurrent(closure(), INPUTS, HIDDEN), torch.rand(40, 32, INPUTS)
    _ = torch.rand(500, 500) @ torch.rand(500, 500), torch.rand(10**6) + 1

    def child() -> None:
        with torch.no_grad():
            layer(x)

    assert in_a_child(child) == 0


def test_a_child_is_forked_while_another_thread_takes_memory() -> None:
    taken = threading.Event()

    def take() -> None:
        with memory._BLOCKS._lock:
            taken.set()
            time.sleep(0.5)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(take)
        taken.wait()
        assert in_a_child(lambda: memory.empty(memory.LARGE)) == 0
    assert memory.empty(memory.LARGE).shape == (memory.LARGE,)


def test_threads_and_forks_at_once() -> None:
    """Four threads compute layers of several shapes, in training too, while children are forked that do the same."""
    cases = []
    for number, kind in enumerate(("lstm", "gru", "lstm", "gru")):
        layer = Recurrent(kind, 8, 48, dtype=torch.bfloat16 if number == 3 else torch.float32)
        x = torch.rand(5 + number, 3 + 9 * number, 8).to(layer.weight_input_l0.dtype)
        cases.append((layer, x))

    def results(layer: Recurrent, x: Tensor) -> list[Tensor]:
        own = x.clone().requires_grad_()
        y, _ = layer(own)
        return [y.detach(), *torch.autograd.grad(y.sum(), [own, *layer.parameters()])]

    def repeat(case: int, times: int) -> bool:
        return all(error(results(*cases[case]), right[case]) < 1e-5 for _ in range(times))

    right = [results(*case) for case in cases]
    context = torch.multiprocessing.get_context("fork")
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(repeat, case, 60) for case in range(4)]
        for case in range(4):
            # torch's backward cannot run in a child of a process whose autograd has threads: inference only
            child = context.Process(target=forked, args=(*cases[case], right[case][0]))
            child.start()
            child.join(60)
            assert child.exitcode == 0
        assert all(one.result() for one in found)


def forked(layer: Recurrent, x: Tensor, right: Tensor) -> None:
    with torch.no_grad():
        assert all(error([layer(x)[0]], [right]) < 0.005 for _ in range(20))


# What it cannot do


def layer_of(**options: Any) -> Recurrent:
    return Recurrent(options.pop("cell", "lstm"), 3, options.pop("hidden_size", 4), **options)


X = torch.rand(2, 5, 3)


def dual(layer: Recurrent) -> None:
    with forward_ad.dual_level():
        layer(forward_ad.make_dual(X, X))


WRONG = {
    "no cell": lambda: layer_of(cell="elman"),
    "a function": lambda: layer_of(cell=len),
    "no size": lambda: layer_of(hidden_size=0),
    "heads": lambda: layer_of(cell=cell_file.load(EXAMPLES["slstm_heads"]), hidden_size=6),
    "no projection": lambda: layer_of(cell="projected"),
    "a projection": lambda: layer_of(proj_size=2),
    "device": lambda: layer_of(device="cuda"),
    "dtype": lambda: layer_of(dtype=torch.float16),
    "dropout": lambda: layer_of(dropout=1.5),
    "dropout in words": lambda: layer_of(dropout="0.5"),
    "x nested": lambda: layer_of()(torch.nested.nested_tensor([X[:, 0], X[:1, 1]])),
    "bfloat16 x": lambda: layer_of()(X.bfloat16()),
    "double weights": lambda: layer_of().double()(X),
    "x elsewhere": lambda: layer_of()(X.to_sparse()),
    "an array": lambda: layer_of()(X.numpy()),
    "x narrow": lambda: layer_of()(X[..., :2]),
    "no steps": lambda: layer_of()(X[:0]),
    "one state": lambda: layer_of()(X, torch.zeros(1, 5, 4)),
    "state of another layer": lambda: layer_of()(X, (torch.zeros(2, 5, 4),) * 2),
    "too long": lambda: layer_of()(X, lengths=[1, 2, 3, 1, 1]),
    "negative": lambda: layer_of()(X, lengths=[1, 2, -1, 1, 1]),
    "lengths of one": lambda: layer_of()(X[:, 0], lengths=[1]),
    "resets of floats": lambda: layer_of()(X, resets=torch.ones(2, 5)),
    "resets of another shape": lambda: layer_of()(X, resets=torch.ones(5, 2, dtype=torch.bool)),
    "lengths twice": lambda: layer_of()(rnn.pack_sequence([X[:, 0]]), lengths=[2]),
    "vmap": lambda: torch.vmap(layer_of())(X.unsqueeze(0)),
    "functional gradient": lambda: torch.func.grad(lambda x: layer_of()(x)[0].sum())(X),
    "forward mode": lambda: dual(layer_of()),
    "forward mode without weights' gradients": lambda: dual(layer_of().requires_grad_(False)),
    "from something else": lambda: Recurrent.from_lstm(nn.GRU(3, 4)),
    "to something else": lambda: layer_of(cell="gru").to_lstm(),
    "stream of both directions": lambda: layer_of(bidirectional=True).stream(),
    "int8 with gradients": lambda: layer_of().int8()(X.clone().requires_grad_()),
    "int8 as C": lambda: layer_of().int8().export_c("."),
    "int8 twice": lambda: layer_of().int8().int8(),
    "gradients in a batch": lambda: torch.autograd.functional.jacobian(
        lambda x: layer_of()(x)[0], X, vectorize=True
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_told_in_one_line(case: str) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError)) as told:
        WRONG[case]()
    text = str(told.value)
    assert "\n" not in text and text.startswith(("Recurrent: ", "stream: ", "from_", "to_"))


def having(**changed: Any) -> Recurrent:
    """A layer whose attributes or parameters were changed afterwards."""
    layer = layer_of()
    for name, value in changed.items():
        setattr(layer, name, nn.Parameter(value) if isinstance(value, Tensor) else value)
    return layer


H = torch.zeros(1, 5, 4)
TOLD: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "x is on meta": (TypeError, lambda: layer_of()(X.to("meta"))),
    "bias": (ValueError, lambda: layer_of(bias="no")),
    "bias_l0 is on meta": (TypeError, lambda: having(bias_l0=torch.zeros(16, device="meta"))(X)),
    "initial h": (TypeError, lambda: layer_of()(X, (H.to("meta"), H))),
    "resets": (TypeError, lambda: layer_of()(X, resets=H[0, :2].bool().to("meta"))),
    "lengths": (TypeError, lambda: layer_of()(X, lengths=6)),
    "lengths are": (ValueError, lambda: layer_of()(X, lengths=[1.5, 1, 2, 1, 1])),
    "lengths=": (TypeError, lambda: layer_of()(X, [1, 2, 1, 2, 1])),
    "weight_input_l0": (ValueError, lambda: having(weight_input_l0=torch.zeros(1))(X)),
    "(3, 36)": (ValueError, lambda: having(hidden_size=9)(X)),
    "torch.bfloat16": (TypeError, lambda: having(bias_l0=torch.zeros(16).bfloat16())(X)),
    "layers, values": (ValueError, lambda: layer_of()(X[:, 0], (H[:, :1], H[:, :1]))),
    "on meta": (ValueError, lambda: layer_of(device="meta").stream()),
    "threads": (ValueError, lambda: layer_of().stream(threads=-5)),
    "at most": (ValueError, lambda: layer_of().stream(threads=10**6)),
    "the state h has": (ValueError, lambda: setattr(layer_of().stream(), "states", (X, X))),
    "1 states, not 2": (ValueError, lambda: setattr(layer_of().stream(), "states", X)),
    "states must be": (TypeError, lambda: setattr(layer_of().stream(), "states", None)),
    "in order": (TypeError, lambda: layer_of()(X, lengths={1, 2})),
    "that are not finite": (
        ValueError,
        lambda: having(bias_l0=torch.full((16,), torch.nan)).export_c("."),
    ),
    "prefix": (ValueError, lambda: layer_of().export_c(".", prefix="a-b")),
    "not finite": (ValueError, lambda: having(bias_l0=torch.full((16,), torch.nan)).int8()),
    "int8 layer is on meta": (ValueError, lambda: layer_of().int8().to("meta")(X)),
    "int8: the parameters": (ValueError, lambda: layer_of(device="meta").int8()),
    "sums of": (ValueError, lambda: Recurrent("gru", 40000, 1).int8()),
    "int8 kernels": (
        RuntimeError,
        lambda: layer_of(cell=cell_file.load(EXAMPLES["slstm_heads"])).int8(),
    ),
    "x has the shape": (ValueError, lambda: layer_of().stream(5).step(X[0, :2])),
    "x is torch.float64": (TypeError, lambda: layer_of().stream(5).step(X[0].double())),
    "x must be": (TypeError, lambda: layer_of().stream(5).step(None)),
    "pickled": (TypeError, lambda: copy.deepcopy(layer_of().stream())),
}


@pytest.mark.parametrize("other", [nn.GRU(3, 4), nn.LSTM(3, 5), nn.LSTM(2, 4)])
def test_a_checkpoint_of_another_layer_is_told_by_its_own_names(other: nn.RNNBase) -> None:
    with pytest.raises(RuntimeError, match="weight_ih_l0 has the shape") as told:
        layer_of().load_state_dict(other.state_dict(), strict=False)
    assert "weight_input" not in str(told.value)


def test_a_checkpoint_that_holds_no_tensor() -> None:
    given = {**nn.LSTM(3, 4).state_dict(), "bias_ih_l0": 3}
    with pytest.raises(RuntimeError, match="bias_ih_l0 is int"):
        layer_of().load_state_dict(given)


def test_a_checkpoint_that_lacks_weights_loads_the_others() -> None:
    lstm, layer = nn.LSTM(3, 4, 2), layer_of(num_layers=2)
    given = lstm.state_dict()
    del given["bias_hh_l0"], given["weight_hh_l1"]
    kept = layer.weight_recurrent_l1.detach().clone()
    found = layer.load_state_dict(given, strict=False)
    assert sorted(found.missing_keys) == ["bias_hh_l0", "weight_hh_l1"]
    assert torch.equal(layer.weight_input_l0, lstm.weight_ih_l0.t())
    assert torch.equal(layer.bias_l0, lstm.bias_ih_l0)
    assert torch.equal(layer.weight_recurrent_l1, kept)


def test_autocast_of_a_cell_without_bfloat16_kernels_is_float32() -> None:
    layer = Recurrent(cell_file.load(EXAMPLES["slstm_heads"]), 3, 8)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(X.bfloat16().float())[0]
    assert y.dtype == torch.float32 and torch.equal(y, layer(X.bfloat16().float())[0])


@pytest.mark.parametrize("word", TOLD)
def test_a_misuse_names_what_is_wrong(word: str) -> None:
    """Kernels read addresses: without these checks some of them would end the process."""
    kind, call = TOLD[word]
    with pytest.raises(kind) as told:
        call()
    assert word in str(told.value) and "\n" not in str(told.value)
