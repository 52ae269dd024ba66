"""Every implementation keeps the contract: the reference's results, in its own environment."""

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from measurement import departures, instructions, machine, precision
from plan import matrix
from tests import tiny

from .running import GATE, interpreter, run

# Environments of the timeline alone are built by its own run, in which each row is held against the reference too.
BENCHMARKS = matrix.benchmarks(
    sorted({file.stem for file in Path("config/documents").glob("*.yaml")} - {"timeline"})
)
CASES = [
    (environment, entry["implementation"])
    for entry in matrix.implementations()
    for environment in entry["environments"]
    # test_kernels.py and test_data_parallel.py have the others.
    if not entry.get("kernel") and not entry.get("workers")
    if any(
        environment in matrix.environments(entry, benchmark)
        for benchmark in BENCHMARKS
        if matrix.takes_part(entry["benchmarks"], benchmark)
    )
]
CLASSIFIERS = {"?x320-*", "years-1x320-ce-short"}  # an implementation may be made for no others
GENERAL = [
    (environment, name)
    for environment, name in CASES
    if not CLASSIFIERS.issuperset(matrix.implementation(name)["benchmarks"])
]
SIZES = matrix.benchmarks(sorted(file.stem for file in Path("config/documents").glob("*.yaml")))


def trained(environment: str, name: str, sizes: dict = SIZES) -> set[bool]:
    """Whether benchmarks that an implementation is measured on have something to train; bare layers have nothing."""
    entry = matrix.implementation(name)
    return {
        "optimizer" in sizes[benchmark]
        for benchmark in sizes
        if matrix.takes_part(entry["benchmarks"], benchmark)
        if environment in matrix.environments(entry, benchmark)
    }


WHOLE = [each for each in GENERAL if True in trained(*each)]
BARE = [each for each in CASES if False in trained(*each)]


def refuses_cpus(name: str) -> bool:
    """Whether an implementation is for GPUs only, and must say so instead of falling back to something else."""
    entry = matrix.implementation(name)
    return entry["family"] == "cuDNN" or entry.get("devices") == ["gpu"]


# A framework's rows depart in its one model. Other departures are the harness's alone.
DEPARTED = [("pytorch", "pytorch/fine-grained"), ("tensorflow", "tensorflow/graph-while")]
DEPARTURES = [
    {"departure": departures.FED_BEFORE},
    {"departure": departures.GRADIENTS_RECORDED},
    {"departure": departures.DENORMALS},
    {"optimizer": {"name": "sgd", "learning_rate": 1.0}},
]
DEPARTING = [(*row, json.dumps(change)) for row in DEPARTED for change in DEPARTURES]
# Document 003's benchmarks by the classifier of tests/tiny.py that stands for them.
TINY = {"1x320-ce-short": "one-way", "4x320-ce-long": "both-ways", "4x320-ctc-long": "ctc"}
CLASSIFYING = [
    (environment, name, kind)
    for environment, name in CASES
    for benchmark, kind in TINY.items()
    if matrix.takes_part(matrix.implementation(name)["benchmarks"], benchmark)
    and environment in matrix.environments(matrix.implementation(name), benchmark)
]
# Document 004's, one for all: they differ in sizes.
DROPPING = json.dumps(tiny.DROPPING)
CARRYING = [
    (environment, name)
    for environment, name in CASES
    if matrix.takes_part(matrix.implementation(name)["benchmarks"], "ptb-medium")
    and environment in matrix.environments(matrix.implementation(name), "ptb-medium")
]
STATELESS = f"pytorch/fine-grained {json.dumps(tiny.CARRIED)}"
# What a version cannot do: (environment, implementation), and the kind of classifier if it is only that one.
LACKING = {
    ("pytorch-2019", "pytorch/compiled"): "has no torch.compile (it came with 2.0)",
    ("tensorflow-2018", "tensorflow/graph-xla"): "is built without XLA",
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
# In half precision, and wide enough to be rounded differently from float32.
HALF = json.dumps({"data_type": "bfloat16", "hidden": 64, "embedding": 64})
HALVED = [
    ("pytorch", "pytorch/fine-grained"),
    ("pytorch", "pytorch/fused"),
    ("pytorch", "recurrent_cells/module"),
    ("onnx", "openvino/lstm"),
    ("tensorflow", "tensorflow/graph-while"),
]
SILENT = [
    ("jax", "jax/scan"),  # XLA converts products to float32 on a CPU
    ("tensorflow", "tensorflow/graph-xla"),
]
# Inference in int8, on any CPU.
INT8 = {"data_type": "int8", "hidden": 64, "embedding": 64}
ROUNDED = [
    (environment, name, json.dumps(INT8 | {"cell": cell}))
    for environment, name, *cells in (
        ("pytorch", "pytorch/fused", "lstm", "gru"),
        ("pytorch", "recurrent_cells/module", "lstm", "slstm"),
        ("onnx", "onnxruntime/lstm", "lstm", "peephole"),
    )
    for cell in cells
]
UNROUNDED = ("onnx", f"onnxruntime/lstm {json.dumps(INT8 | {'cell': 'gru'})}")
# On a CPU without, each framework decides whether it converts to float32, or has no such kernel and says so.
HAS_HALF = "bf16" in machine.cpu_flags() and not instructions.held_to(os.environ)
UNABLE = [("tensorflow", "tensorflow/graph-block", "BlockLSTM takes float32 and float16")]
BEYOND = f"{HERE}planted_pytorch:half {HALF}"
BEYOND_INT8 = f"{HERE}planted_pytorch:int8 {json.dumps(INT8)}"


def processes(environment: str = "", **_: object) -> list[tuple[str, ...]]:
    """What `verdicts` of an environment are printed by."""
    names = [name for where, name in WHOLE if where == environment]
    names += [f"{name} bare" for where, name in BARE if where == environment]
    names += [error for where, error in PLANTED if where == environment]
    names += [f"{name} {change}" for where, name, change in DEPARTING if where == environment]
    names += [f"{name} {kind}" for where, name, kind in CLASSIFYING if where == environment]
    names += [f"{name} {DROPPING}" for where, name in CARRYING if where == environment]
    names += [STATELESS, *LOST_STEPS] if environment == "pytorch" else []
    return [(environment, GATE, *names), *in_half_precision(environment)] if names else []


def in_half_precision(environment: str) -> list[tuple[str, ...]]:
    """A process of its own, as a library that has no such kernel may end it; none in most environments."""
    asked = [*HALVED, *SILENT, *(unable[:2] for unable in UNABLE)]
    names = [f"{name} {HALF}" for where, name in asked if where == environment]
    names += [f"{name} {change}" for where, name, change in ROUNDED if where == environment]
    names += [BEYOND, BEYOND_INT8] if environment == "pytorch" else []
    names += [row for where, row in [UNROUNDED] if where == environment]
    return [(environment, GATE, *names)] if names else []


@functools.cache
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


@pytest.mark.parametrize("phase", ["forward", "training"])
@pytest.mark.parametrize(("environment", "implementation"), WHOLE)
def test_agrees_with_the_reference(environment: str, implementation: str, phase: str) -> None:
    entry = matrix.implementation(implementation)
    found = verdicts(environment)[implementation][phase]
    if phase not in entry.get("phases", matrix.PHASES):
        assert found["status"] == "unsupported" and "inference" in found["reason"]
        return
    if refuses_cpus(implementation):
        assert found["status"] == "unsupported" and "GPU" in found["reason"]
        return
    if reason := LACKING.get((environment, implementation)):
        assert found["status"] == "unsupported" and reason in found["reason"]
        return
    assert found["status"] == "ok", found["reason"]
    assert within_rounding(found["errors"])
    assert found["facts"]["framework_version"]
    assert found["device_peak_bytes"] is None


@pytest.mark.parametrize(("environment", "implementation"), BARE)
def test_bare_layers_agree_with_the_reference(environment: str, implementation: str) -> None:
    found = verdicts(environment)[f"{implementation} bare"]["forward"]
    if refuses_cpus(implementation):
        assert found["status"] == "unsupported" and "GPU" in found["reason"]
    else:
        assert found["status"] == "ok", found["reason"]
        assert found["errors"]["output"] < 1e-5


@pytest.mark.parametrize(("environment", "implementation", "change"), DEPARTING)
def test_departures_pass_the_same_gate(environment: str, implementation: str, change: str) -> None:
    for phase, found in verdicts(environment)[f"{implementation} {change}"].items():
        if environment == "tensorflow" and departures.DENORMALS in change:
            assert found["status"] == "unsupported" and found["reason"]
            continue
        assert found["status"] == "ok", (phase, found["reason"])
        assert max(found["errors"].values()) < 1e-5, phase


@pytest.mark.parametrize(("environment", "implementation", "kind"), CLASSIFYING)
def test_classifiers_agree_with_the_reference(
    environment: str, implementation: str, kind: str
) -> None:
    found = verdicts(environment)[f"{implementation} {kind}"]["training"]
    if refuses_cpus(implementation):
        assert found["status"] == "unsupported" and "GPU" in found["reason"]
    elif reason := LACKING.get((environment, implementation)) or LACKING.get(
        (environment, implementation, kind)
    ):
        assert found["status"] == "unsupported" and reason in found["reason"]
    else:
        assert found["status"] == "ok", found["reason"]
        # Units that remember and those that forget are each held to their own scale, and of CTC the smaller one is
        # small: 1.1e-5 is rounding (seen in Keras on JAX).
        assert within_rounding(found["errors"], 5e-5 if kind == "ctc" else 1e-5)


@pytest.mark.parametrize(("environment", "implementation"), CARRYING)
def test_carried_state_clipping_and_dropout(environment: str, implementation: str) -> None:
    for phase, found in verdicts(environment)[f"{implementation} {DROPPING}"].items():
        if refuses_cpus(implementation):
            assert found["status"] == "unsupported" and "GPU" in found["reason"]
            continue
        assert found["status"] == "ok", (phase, found["reason"])
        errors = found["errors"]
        assert max(errors.values()) < 1e-5, phase
        if phase == "training":
            assert {"clip", "dropout:clip", "dropout:loss"} < errors.keys()
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


@pytest.mark.parametrize(("environment", "implementation", "change"), ROUNDED)
def test_int8_is_within_its_own_bound_and_beyond_that_of_float32(
    environment: str, implementation: str, change: str
) -> None:
    found = halved(environment)[f"{implementation} {change}"]["forward"]
    assert found["status"] == "ok", found["reason"]
    assert 1e-4 < found["errors"]["output"] < precision.tolerance("int8", "forward", 2, 4)
    assert found["precision"]["int8"] and not found["precision"]["float32"]


def test_what_has_no_int8_is_refused() -> None:
    environment, row = UNROUNDED
    found = halved(environment)[row]["forward"]
    assert found["status"] == "unsupported" and "GRU" in found["reason"]


def test_an_error_beyond_int8_closes_the_gate() -> None:
    assert halved("pytorch")[BEYOND_INT8]["forward"]["status"] == "incorrect"


@pytest.mark.parametrize(("environment", "implementation"), SILENT)
def test_what_silently_runs_in_float32_is_refused(environment: str, implementation: str) -> None:
    for phase, found in halved(environment)[f"{implementation} {HALF}"].items():
        assert found["status"] == "unsupported", phase
        assert "runs in float32" in found["reason"], phase


@pytest.mark.parametrize(("environment", "implementation", "reason"), UNABLE)
def test_what_takes_no_half_precision_says_so(
    environment: str, implementation: str, reason: str
) -> None:
    for phase, found in halved(environment)[f"{implementation} {HALF}"].items():
        assert found["status"] == "unsupported" and reason in found["reason"], phase


def test_an_error_beyond_half_precision_closes_the_gate() -> None:
    for phase, found in halved("pytorch")[BEYOND].items():
        refused = not HAS_HALF and found["status"] == "unsupported"
        assert found["status"] == "incorrect" or refused, phase


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
    names = ["tests.contract.planted_keras", 'keras/lstm-tensorflow {"hidden": 320}']
    planted, row = run("keras-2018", GATE, *names).values()
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
