"""Every implementation keeps the contract: the reference's results, in its own environment."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from measurement import departures, instructions, machine, precision
from plan import matrix
from tests import tiny

from .running import GATE, interpreter, run

DOCUMENTS = {file.stem for file in Path("config/documents").glob("*.yaml")}
BENCHMARKS = matrix.benchmarks(sorted(DOCUMENTS))
# Environments of the timeline alone are built by its own run, in which each row is held against the reference too.
BESIDE_THE_TIMELINE = matrix.benchmarks(sorted(DOCUMENTS - {"timeline"})).keys()
CLASSIFIERS = {"?x320-*", "years-1x320-ce-short"}  # an implementation may be made for no others
# Document 003's benchmarks by the classifier of tests/tiny.py that stands for them.
TINY = {"1x320-ce-short": "one-way", "4x320-ce-long": "both-ways", "4x320-ctc-long": "ctc"}
# Document 004's, one for all: they differ in sizes.
DROPPING = json.dumps(tiny.DROPPING)
# A framework's rows depart in its one model. Other departures are the harness's alone.
DEPARTED = [("pytorch", "pytorch/fine-grained"), ("tensorflow", "tensorflow/graph-while")]
DENORMALS = json.dumps({"departure": departures.DENORMALS})
DEPARTURES = [
    json.dumps({"departure": departures.FED_BEFORE}),
    json.dumps({"departure": departures.GRADIENTS_RECORDED}),
    DENORMALS,
    json.dumps({"optimizer": {"name": "sgd", "learning_rate": 1.0}}),
]


def shapes(environment: str, entry: dict) -> list[str]:
    """What run_contract.py is given after an implementation's name, by the benchmarks it is measured on in an environment."""
    benchmarks = {
        name
        for name in BENCHMARKS
        if matrix.takes_part(entry["benchmarks"], name)
        and environment in matrix.environments(entry, name)
    }
    if not benchmarks & BESIDE_THE_TIMELINE:
        return []
    trained = {"optimizer" in BENCHMARKS[name] for name in benchmarks}
    whole = True in trained and not CLASSIFIERS.issuperset(entry["benchmarks"])
    return [
        *([""] if whole else []),
        *(["bare"] if False in trained else []),
        *(kind for name, kind in TINY.items() if name in benchmarks),
        *([DROPPING] if "ptb-medium" in benchmarks else []),
        *(DEPARTURES if (environment, entry["implementation"]) in DEPARTED else []),
    ]


ROWS = [
    (environment, entry["implementation"], shape)
    for entry in matrix.implementations()
    # test_kernels.py and test_data_parallel.py have the others.
    if not entry.get("kernel") and not entry.get("workers")
    for environment in entry["environments"]
    for shape in shapes(environment, entry)
]
# What a version or a library cannot do: (environment, implementation), and the shape if it is only that one.
LACKING = {
    ("pytorch-2019", "pytorch/compiled"): "has no torch.compile (it came with 2.0)",
    ("tensorflow-2018", "tensorflow/graph-xla"): "is built without XLA",
    ("tensorflow", "tensorflow/graph-while", DENORMALS): "TensorFlow has no switch",
    ("keras-2018", "keras/lstm-tensorflow", "ctc"): "Keras 2's CTC is another function",
    ("keras-2018", "keras/lstm-theano", "ctc"): "Keras 2's CTC is another function",
}
HERE = "tests.contract."
# Wrong gradients; of classifiers, whose gate has other losses, by those that are not of our making.
PLANTED = [
    ("pytorch", f"{HERE}planted_pytorch:gradient"),
    ("jax", f"{HERE}planted_jax"),
    *(("pytorch-2019", f"{HERE}planted_torchscript{kind}") for kind in ("", " ctc")),
    # 2.0 has no BlockLSTMV2
    *(("tensorflow", f"{HERE}planted_tensorflow{kind}") for kind in ("", " both-ways")),
]
# What does less than the whole of a sequence: whether that shows in values.
LOST_STEPS = {
    f"{HERE}planted_pytorch:truncated long": False,
    f"{HERE}planted_pytorch:skipped long": True,
    f"{HERE}planted_pytorch:reset long": True,
}
UNORDERED = [f"{HERE}planted_keras", 'keras/lstm-tensorflow {"hidden": 320}']
VERIFIED = [
    ("pytorch", "pytorch/cell verified"),
    ("tensorflow", "tensorflow/graph-unrolled verified"),
    ("jax", "jax/scan verified"),
]
STATELESS = f"pytorch/fine-grained {json.dumps(tiny.CARRIED)}"

# Wide enough to be rounded differently from float32.
HALF = json.dumps({"data_type": "bfloat16", "hidden": 64, "embedding": 64})
HALVED = [
    ("pytorch", "pytorch/fine-grained"),
    ("pytorch", "pytorch/fused"),
    ("pytorch", "recurrent_cells/module"),
    ("onnx", "openvino/lstm"),
    ("tensorflow", "tensorflow/graph-while"),
]
# Inference in int8, on any CPU: by cell.
INT8 = {
    cell: json.dumps({"data_type": "int8", "hidden": 64, "embedding": 64, "cell": cell})
    for cell in ("lstm", "gru", "slstm", "peephole")
}
ROUNDED = [
    *(("pytorch", f"pytorch/fused {INT8[cell]}") for cell in ("lstm", "gru")),
    *(("pytorch", f"recurrent_cells/module {INT8[cell]}") for cell in ("lstm", "slstm")),
    *(("onnx", f"onnxruntime/lstm {INT8[cell]}") for cell in ("lstm", "peephole")),
]
REFUSED = [
    ("jax", f"jax/scan {HALF}", "runs in float32"),  # XLA converts products on a CPU
    ("tensorflow", f"tensorflow/graph-xla {HALF}", "runs in float32"),
    ("tensorflow", f"tensorflow/graph-block {HALF}", "BlockLSTM takes float32 and float16"),
    ("onnx", f"onnxruntime/lstm {INT8['gru']}", "GRU"),
]
BEYOND_INT8 = f"{HERE}planted_pytorch:int8 {INT8['lstm']}"
# On a CPU without, each framework decides whether it converts to float32, or has no such kernel and says so.
HAS_HALF = "bf16" in machine.cpu_flags() and not instructions.held_to(os.environ)


def processes(
    environment: str = "", with_lengths: set[str] | None = None, **_: object
) -> list[tuple[str, ...]]:
    """What `verdicts` and `halved` of an environment are printed by; without one, what tests of one ask for."""
    if not environment:
        alone = ("pytorch", "run_ctc.py"), ("jax", "run_fetched.py")
        return [*alone, ("keras-2018", GATE, *UNORDERED)]
    if with_lengths is not None:
        return [(environment, "run_cudnn_operators.py")]
    names = [f"{name} {shape}".strip() for where, name, shape in ROWS if where == environment]
    names += [row for where, row in (*VERIFIED, *PLANTED) if where == environment]
    names += [STATELESS, *LOST_STEPS] if environment == "pytorch" else []
    return [(environment, GATE, *names), *in_half_precision(environment)] if names else []


def in_half_precision(environment: str) -> list[tuple[str, ...]]:
    """A process of its own, as a library that has no such kernel may end it; none in most environments."""
    halved = [(where, f"{name} {HALF}") for where, name in HALVED]
    names = [row for where, row, *_ in (*halved, *ROUNDED, *REFUSED) if where == environment]
    names += [BEYOND_INT8] if environment == "pytorch" else []
    return [(environment, GATE, *names)] if names else []


def verdicts(environment: str) -> dict:
    """{implementation: {phase: verdict}} of all implementations and planted errors of an environment, in float32."""
    return run(*processes(environment)[0])


def halved(environment: str) -> dict:
    """Those in half precision."""
    if environment == "tensorflow" and instructions.held_to(os.environ):
        pytest.skip("TensorFlow asks the processor itself, and ends where oneDNN is held to less")
    (process,) = in_half_precision(environment)
    return run(*process)


def within_rounding(errors: dict[str, float], gradient: float = 1e-5) -> bool:
    """Updates by Adam of Keras and Lasagne have float32's 0.999 for beta_2, with which 1 - beta_2 is 1.3e-5 off."""
    return all(
        error < (2e-5 if name.startswith("update:") else gradient) for name, error in errors.items()
    )


def refusal(environment: str, implementation: str, shape: str, phase: str) -> str:
    """Part of the reason that it must give instead of falling back to something else; "" where it must compute."""
    entry = matrix.implementation(implementation)
    if phase not in entry.get("phases", matrix.PHASES):
        return "inference"
    if entry.get("devices") == ["gpu"]:
        return "GPU"
    row = environment, implementation
    return LACKING.get(row) or LACKING.get((*row, shape), "")


@pytest.mark.parametrize(("environment", "implementation", "shape"), ROWS)
def test_agrees_with_the_reference(environment: str, implementation: str, shape: str) -> None:
    for phase, found in verdicts(environment)[f"{implementation} {shape}".strip()].items():
        if reason := refusal(environment, implementation, shape, phase):
            assert found["status"] == "unsupported" and reason in found["reason"], phase
            continue
        assert found["status"] == "ok", (phase, found["reason"])
        # Units that remember and those that forget are each held to their own scale, and of CTC the smaller one is
        # small: 1.1e-5 is rounding (seen in Keras on JAX).
        assert within_rounding(found["errors"], 5e-5 if shape == "ctc" else 1e-5), phase
        assert found["facts"]["framework_version"]
        assert found["device_peak_bytes"] is None
        if shape == DROPPING and phase == "training":
            assert {"clip", "dropout:clip", "dropout:loss"} < found["errors"].keys()
            assert len(found["dropout"]) == tiny.BENCHMARK["layers"] + 1


@pytest.mark.parametrize(("environment", "implementation"), HALVED)
def test_half_precision_is_within_its_own_bound_and_beyond_that_of_float32(
    environment: str, implementation: str
) -> None:
    for phase, found in halved(environment)[f"{implementation} {HALF}"].items():
        if phase not in matrix.implementation(implementation).get("phases", matrix.PHASES):
            continue
        if not HAS_HALF and found["status"] == "unsupported":
            said = "bfloat16 was requested", "ran in bfloat16", "does not support"
            assert any(words in found["reason"] for words in said), phase
            continue
        assert found["status"] == "ok", (phase, found["reason"])
        error = found["gradient_error"] or found["errors"]["output"]
        assert 1e-4 < error < precision.tolerance("bfloat16", phase, 2, 4), phase
        assert found["precision"]["bfloat16"] and not found["precision"]["float32"], phase
        updates = [value for name, value in found["errors"].items() if name.startswith("update:")]
        assert all(error < 2e-5 for error in updates), phase  # weights and updates are float32


@pytest.mark.parametrize(("environment", "row"), ROUNDED)
def test_int8_is_within_its_own_bound_and_beyond_that_of_float32(
    environment: str, row: str
) -> None:
    found = halved(environment)[row]["forward"]
    assert found["status"] == "ok", found["reason"]
    assert 1e-4 < found["errors"]["output"] < precision.tolerance("int8", "forward", 2, 4)
    assert found["precision"]["int8"] and not found["precision"]["float32"]


@pytest.mark.parametrize(("environment", "row", "reason"), REFUSED)
def test_what_has_not_the_format_is_refused(environment: str, row: str, reason: str) -> None:
    """Also where float32 would be taken instead, silently."""
    for phase, found in halved(environment)[row].items():
        assert found["status"] == "unsupported" and reason in found["reason"], phase


def test_an_error_beyond_int8_closes_the_gate() -> None:
    assert halved("pytorch")[BEYOND_INT8]["forward"]["status"] == "incorrect"


@pytest.mark.parametrize(("environment", "row"), VERIFIED)
def test_right_rows_are_verified_after_timing(environment: str, row: str) -> None:
    """tests/unit/test_verifying.py has what is wrong only then."""
    for phase, found in verdicts(environment)[row].items():
        assert found["status"] == "ok", (phase, found["reason"])
        assert max(found["verification"]["errors"].values()) < 1e-5, phase


@pytest.mark.parametrize("array", ["converted", "put together"])
def test_jax_brings_what_it_would_keep_on_the_host_anew(array: str) -> None:
    """What is fetched again is what the first fetch is held against."""
    found = run("jax", "run_fetched.py")
    assert found[array] == {"anew": True, "equal": True, "kept by NumPy's way": True}


def test_a_style_that_carries_no_state_says_so() -> None:
    for found in verdicts("pytorch")[STATELESS].values():
        assert found["status"] == "unsupported" and "zero state" in found["reason"]


@pytest.mark.parametrize(
    ("environment", "with_lengths"),
    [
        ("tensorflow", {"CudnnRNNV3"}),
        ("tensorflow-2018", set()),
    ],
)
def test_caveats_of_cudnn(environment: str, with_lengths: set[str]) -> None:
    """Document 004's, as its page has them: lengths are what a later operator takes; normalisation is what none does."""
    operators = run(environment, "run_cudnn_operators.py")
    assert {
        name for name, takes in operators.items() if "sequence_lengths" in takes
    } == with_lengths
    taken = {each for takes in operators.values() for each in takes}
    assert "dropout" in taken  # these are the names
    assert not {each for each in taken if "norm" in each or each in ("gamma", "beta", "scale")}


def test_ctc_of_the_reference_is_that_of_pytorch() -> None:
    errors = run("pytorch", "run_ctc.py")
    assert set(errors) == {"loss", "gradient"} and max(errors.values()) < 1e-11


@pytest.mark.parametrize(("environment", "error"), PLANTED)
def test_wrong_gradient_closes_the_gate(environment: str, error: str) -> None:
    """A check that compares only values lets all of these pass."""
    found = verdicts(environment)[error]
    assert found["forward"]["status"] == "ok", found["forward"]["reason"]
    training = found["training"]
    assert training["status"] == "incorrect", training["reason"]
    assert training["reason"].startswith("gradient:")
    assert training["gradient_error"] > 1e-4
    assert training["errors"]["loss"] < 5e-5


@pytest.mark.parametrize("row", LOST_STEPS)
def test_lost_steps_close_the_gate(row: str) -> None:
    """By two hundred times the tolerance at least. That a gradient ends early shows in no value."""
    found = verdicts("pytorch")[row]
    assert found["training"]["status"] == "incorrect", found["training"]["reason"]
    assert found["training"]["gradient_error"] > 0.02
    assert found["forward"]["status"] == ("incorrect" if LOST_STEPS[row] else "ok")


def test_weight_updated_before_a_gradient_has_read_it_closes_the_gate() -> None:
    """And Keras 2 as it is patched here passes."""
    planted, row = run("keras-2018", GATE, *UNORDERED).values()
    assert planted["forward"]["status"] == "ok", planted["forward"]["reason"]
    assert planted["training"]["status"] == "incorrect"
    assert planted["training"]["gradient_error"] > 1e-3
    assert row["training"]["status"] == "ok", row["training"]["reason"]


@pytest.mark.parametrize("environment", ["pytorch", "pytorch-2019"])
def test_pytorchs_switches_for_a_gpu(environment: str) -> None:
    """They can be set and read back without one; versions without a switch have nothing to set."""
    code = (
        "import json, torch; from implementations.pytorch import model; b = torch.backends.cudnn\n"
        "b.benchmark = b.deterministic = True\n"
        "for backend in model._with_tf32(): backend.allow_tf32 = True\n"
        "model.pin_cuda(); print(json.dumps(model.cuda_settings()))\n"
        "print(b.rnn.fp32_precision if hasattr(b, 'rnn') else None)"  # at first tf32 in 2.13
    )
    command = [interpreter(environment), "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "scripts"}
    )
    settings, precision = done.stdout.splitlines()
    assert json.loads(settings) == {
        **{"tf32": False, "cudnn": True, "cudnn_autotune": False, "deterministic": False}
    }
    assert precision != "tf32"
