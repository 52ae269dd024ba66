"""Cells in the styles that have them, against the reference (LSTMs: test_implementations.py); what a style does not have, it
says; and errors that are easily made in a cell are found."""

import json

import pytest

from measurement.cells import CELLS
from plan import matrix

from .running import run

BENCHMARK = "flexible-lstm"
OTHERS = [name for name in CELLS if name != "lstm"]
LACKED = ("coupled", "peephole")  # by most that have not every cell
# Of the styles without kernels; compilers take seconds a cell.
HAS = {
    "pytorch/fine-grained": OTHERS,
    "pytorch/fine-grained-jit": OTHERS,
    "pytorch/compiled": ["slstm"],
    "pytorch/cell": ["gru"],
    "pytorch/fused": ["gru"],
    "pytorch/cudnn": [],
    "recurrent_cells/module": OTHERS,
    "pytorch/exported": ["slstm"],
    "iree/scan": ["peephole", "slstm"],
    "onnxruntime/lstm": ["gru", "peephole"],
    "openvino/lstm": ["gru"],
    "jax/fine-grained": OTHERS,
    "jax/scan": OTHERS,
    "jax/unrolled": ["slstm"],
    "tensorflow/graph-unrolled": ["slstm"],
    "tensorflow/graph-while": OTHERS,
    "tensorflow/graph-xla": ["slstm"],
    "tensorflow/graph-cell": [],
    "tensorflow/graph-block": [],
}
FEW = (  # compiled, or of the same step as another style
    *("pytorch/compiled", "pytorch/exported", "tensorflow/graph-xla"),
    *("jax/unrolled", "tensorflow/graph-unrolled", "iree/scan"),
)
PLANTED = [
    *((cell, "swapped_gates") for cell in OTHERS),
    ("slstm", "missing_stabiliser"),
    ("gru", "reset_before"),
    ("peephole", "peephole_too_early"),
]


def named(implementation: str, cell: str) -> str:
    return f"{implementation} {json.dumps({'cell': cell})}"


def cases(environment: str) -> dict[tuple[str, str], str]:
    """{(implementation, cell): status} of an environment."""
    return {
        (name, cell): "ok" if cell in has else "unsupported"
        for name, has in HAS.items()
        if environment in matrix.implementation(name)["environments"]
        for cell in (has if name in FEW else sorted({*has, *LACKED}))
    }


def processes(environment: str = "tvm") -> list[tuple[str, ...]]:
    if environment == "tvm":
        return [("tvm", "run_own_kernels.py"), ("pytorch", "run_contract.py", *sorted(planted()))]
    return [(environment, "run_contract.py", *(named(*case) for case in cases(environment)))]


def test_rows_of_the_document_are_all_here() -> None:
    rows = {cell.implementation for cell in matrix.cells_of("flexible-yet-fast")}
    kernels = {name for name in rows if matrix.implementation(name).get("kernel")}
    # Eager, it runs what the graph is made of.
    assert rows - kernels - {"tensorflow/eager-fine-grained"} == set(HAS)
    assert kernels == {"tvm/template-tuned"}


@pytest.mark.parametrize("environment", ["pytorch", "tensorflow", "jax", "iree", "onnx"])
def test_cells_in_styles(environment: str) -> None:
    found = run(*processes(environment)[0])
    for (name, cell), status in cases(environment).items():
        for phase, verdict in found[named(name, cell)].items():
            if phase not in matrix.implementation(name).get("phases", matrix.PHASES):
                continue
            assert verdict["status"] == status, (name, cell, phase, verdict["reason"])
            if status == "unsupported":
                assert len(verdict["reason"]) > 20
            else:
                assert max(verdict["errors"].values()) < 5e-5, (name, cell, phase)


def test_cells_in_kernels() -> None:
    found = run("tvm", "run_own_kernels.py")["rows"]
    assert set(found) == {*OTHERS, "own.sru"}
    for name, phases in found.items():
        for phase, verdict in phases.items():
            assert verdict["status"] == "ok", (name, phase, verdict["reason"])
            assert max(verdict["errors"].values()) < 5e-5, (name, phase)


def planted() -> set[str]:
    module = "tests.contract.planted_cells"
    return {f"{module}:{error} {json.dumps({'cell': cell})}" for cell, error in PLANTED}


def test_errors_planted_in_cells() -> None:
    found = run("pytorch", "run_contract.py", *sorted(planted()))
    for name, phases in found.items():
        for phase, verdict in phases.items():
            assert verdict["status"] == "incorrect", (name, phase, verdict["reason"])
