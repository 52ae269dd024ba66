"""The kernels agree with the reference at shapes that fit no vector, tile or thread count."""

import pytest

from kernels.workload import cell_name
from measurement import machine, precision
from measurement.cells import BUILT_IN
from recurrent_cells import cells

from .running import run

CELLS = {name: cells.CELLS[name] for name in map(cell_name, BUILT_IN)}
HALF = 'tvm/template-tuned built:template-tuned {"data_type": "bfloat16", "hidden": 64}'
HAS_HALF = "avx512_bf16" in machine.cpu_flags()


def processes(**_: object) -> list[tuple[str, ...]]:
    scripts = ("run_kernels.py",), ("run_other_machines.py",), ("run_contract.py", HALF)
    return [("tvm", *script) for script in scripts]


def found() -> dict:
    return run("tvm", "run_kernels.py")


def test_every_shape_and_schedule_agrees_with_the_reference() -> None:
    errors = {name: e for name, e in found().items() if name not in ("tuning", "half")}
    # Of a cell, shape and phase: output, d x, states and their gradients, and every layer's weights.
    layers = {
        "lstm": 2 + 1,
        "gru": 2 + 3,
        "coupled": 2,
        "peephole": 2 + 3,
        "slstm": 2 + 3,
        "layer_norm": 2 + 1,
    }
    weights = sum(number * (3 + len(CELLS[name].vectors)) for name, number in layers.items())
    assert sum(" d weights " in name for name in errors) == weights
    others = [name for name in errors if name.split()[0] not in CELLS]
    # Of a language model by two targets the loss, and of each of its weights the first value, the gradient and the update.
    assert sum(name.startswith("trained") for name in others) == 2 * (1 + 3 * 9)
    assert len(others) == 5 + 3 + 2 * (1 + 3 * 9) + 3
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}


def test_half_precision_is_within_its_own_bound_and_beyond_that_of_float32() -> None:
    """The row by the gate that it passes before it is timed."""
    verdict = run("tvm", "run_contract.py", HALF)[HALF]["forward"]
    if not HAS_HALF:
        assert verdict["status"] == "unsupported" and "AVX512-BF16" in verdict["reason"]
        return
    assert verdict["status"] == "ok", verdict["reason"]
    assert 1e-4 < verdict["errors"]["output"] < precision.tolerance("bfloat16", "forward", 2, 4)
    assert verdict["precision"]["bfloat16"]["vdpbf16ps"] > 0
    assert not verdict["precision"].get("float32")


@pytest.mark.skipif(not HAS_HALF, reason="the CPU has no AVX512-BF16")
def test_half_precision_at_shapes_that_fit_no_vector() -> None:
    """[error, its bound] of cells at odd sizes."""
    half = found()["half"]
    assert len(half) == 3
    assert {name: pair for name, pair in half.items() if not 1e-5 < pair[0] < pair[1]} == {}


def test_tuning_goes_on_from_its_database() -> None:
    """[new trials, trials in the database] of each search; a damaged database is begun anew."""
    assert found()["tuning"] == {
        "first": [2, 2],
        "more": [1, 3],
        "again": [0, 3],
        "all failed": [2, 2],
        "damaged": [2, 2],
    }


def test_more_cores_and_narrower_vectors_agree_with_the_reference() -> None:
    """Five threads, AVX-512 and AVX2 where the CPU has them, small caches."""
    errors = run("tvm", "run_other_machines.py")
    assert len(errors) >= 3 * 10
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}
