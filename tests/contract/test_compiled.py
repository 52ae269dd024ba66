"""The way in: compiled cells on arrays and on tensors, and what wrong arguments are told."""

from pathlib import Path

import pytest

from .running import interpreter, run


def processes(**_: object) -> list[tuple[str, ...]]:
    return [
        ("tvm", script, torch_packages()) for script in ("run_compiled_cell.py", "run_refusals.py")
    ]


def torch_packages() -> str:
    torch = Path(interpreter("pytorch")).parents[1]
    (packages,) = torch.glob("lib/python3.*/site-packages")
    return str(packages)


def test_compiled_cells_on_arrays_and_on_tensors() -> None:
    """The README's example, a cell saved and loaded, and gradients through PyTorch's autograd."""
    errors = run("tvm", "run_compiled_cell.py", torch_packages())
    own = {"torch gru", "torch peephole", "torch projected"}
    assert set(errors) == {"example", *own, "torch nn.GRU", "torch nn.LSTM"}
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}


TOLD = {
    "final before a pass": "RuntimeError: final() wants a pass",
    "backward before a pass": "RuntimeError: backward() wants a forward()",
    "x [B, K]": "ValueError: x has the shape (3, 16), not (4, 3, 16)",
    "x of another batch": "ValueError: x has the shape (4, 1, 16), not (4, 3, 16)",
    "x of float64": "TypeError: x has float64",
    "x a list": "TypeError: x is a list",
    "one layer": "ValueError: weights of 1 layers, not of 2",
    "layers flat": "ValueError: weights of 3 layers, not of 2",
    "no bias": "ValueError: layer 1 has 2 weights, not 3 (w_input, w_recurrent, bias)",
    "bias of H": "ValueError: bias of layer 1 has the shape (24,), not (96,)",
    "bias [1]": "ValueError: bias of layer 1 has the shape (1,), not (96,)",
    "w_input turned": "ValueError: w_input of layer 1 has the shape (72, 24), not (24, 72) (inputs, hidden units of each gate: r z n)",
    "w_recurrent of float16": "TypeError: w_recurrent of layer 1 has float16",
    "no such state": "ValueError: initial has 'c'; the states are h",
    "state of one layer": "ValueError: initial['h'] has the shape (3, 24), not (2, 3, 24)",
    "state no mapping": "TypeError: initial is a numpy.ndarray",
    "d_y [B, H]": "ValueError: d_y has the shape (3, 24), not (4, 3, 24)",
    "d_final": "ValueError: d_final['h'] has the shape (24,), not (2, 3, 24)",
    "backward twice": "RuntimeError: backward() wants a forward()",
    "tensor x no tensor": "TypeError: x is a ndarray",
    "tensor x of float64": "TypeError: x has torch.float64",
    "tensor x narrow": "ValueError: x has the shape (4, 3, 15), not (4, 3, 16)",
    "tensor x wide": "ValueError: x has the shape (4, 3, 32), not (4, 3, 16)",
    "tensor x [B, K]": "ValueError: x has the shape (3, 16), not (4, 3, 16)",
    "tensor x elsewhere": "ValueError: x is on meta, not on the CPU",
    "tensor x sparse": "ValueError: x is torch.sparse_coo",
    "tensors of one layer": "ValueError: 3 weights, not 6",
    "tensors without the last": "ValueError: 5 weights, not 6",
    "tensor bias of H": "ValueError: bias of layer 1 has the shape (24,), not (96,)",
    "tensor of float16": "TypeError: bias of layer 1 has torch.float16",
    "x refilled": "modified by an inplace operation: [torch.FloatTensor [4, 3, 16]]",
    "weight refilled": "modified by an inplace operation: [torch.FloatTensor [24, 72]]",
    "y refilled": "modified by an inplace operation: [torch.FloatTensor [4, 3, 24]]",
    "double backward": "RuntimeError: gradients of gradients",
    "empty folder": "has no kernel.so",
    "another library": "had another library when this process loaded it",
    "another cell": "holds layers of gru, not of lstm",
    "another graph": "holds another gru",
    "no cell": "TypeError: cell is a function without @cell(...)",
    "another machine": "is compiled for a-cpu-to-come",
    "another kind": "holds a kernel of the kind template",
    "damaged": "kernel.json is not a kernel's",
}


def refused() -> dict:
    return run("tvm", "run_refusals.py", torch_packages())


@pytest.mark.parametrize("case", TOLD)
def test_a_wrong_argument_is_named_before_anything_is_computed(case: str) -> None:
    told = refused()["told"][case]
    assert TOLD[case] in told
    assert "\n" not in told


def test_every_wrong_argument_is_expected() -> None:
    assert set(refused()["told"]) == set(TOLD)


def test_final_states_after_a_pass_on_tensors() -> None:
    assert refused()["final"] < 1e-5
