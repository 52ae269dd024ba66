"""A cell of somebody's own as data: what was asked for, its document, and what makes its rows stale."""

from pathlib import Path

import pytest
import yaml

from measurement import devices
from plan import configuration, matrix, own, own_cell, own_shape, sources
from plan.own_cell import Refused
from plan.planner import Plan

SHAPE = {"batch": 32, "length": 32, "features": 128, "hidden": 256, "layers": 1}
PHASES = ["training", "forward"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """results/cells with one cell, as the workflow has it."""
    cells = tmp_path / "cells"
    monkeypatch.setattr(own, "FOLDER", cells)
    (cells / "mine").mkdir(parents=True)
    for name in ("__init__", "reference", "kernel", "cell", "pytorch", "tensorflow", "jax"):
        (cells / "mine" / f"{name}.py").write_text(f"NAME = {name!r}\n")
    document = own_cell.document("mine", "f0", "mine.py", SHAPE, PHASES)
    (cells / "mine/document.yaml").write_text(yaml.safe_dump(document))
    forget()
    yield cells
    forget()


def forget() -> None:
    for each in (matrix.document, matrix.cells_of):
        each.cache_clear()
    sources.read_from(Path())


def given(folder: Path, frameworks: list[str]) -> dict:
    """The configuration of the cell's run, as the workflow reads it."""
    base = yaml.safe_load((own_cell.CONFIG / "config.yaml").read_text())
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(own_cell.config("mine", base, frameworks)))
    return configuration.given(str(file), [])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("{bach: 3}", "SHAPE: there is no size `bach`; did you mean `batch`?"),
        ("{batch: 0}", "SHAPE: batch must be a positive integer, not 0"),
        ("{batch: true}", "not True"),
        ("{batch: 9999999}", "SHAPE: batch"),
        ("32", "SHAPE: `32` is not a mapping"),
        ("{batch: 32", "is not YAML"),
    ],
)
def test_a_shape_that_is_none(asked: str, said: str) -> None:
    with pytest.raises(Refused, match=r"^SHAPE: ") as refused:
        own_cell.shape_of(own_cell.given(asked), SHAPE)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_what_is_asked_for_and_what_is_usual() -> None:
    assert own_cell.shape_of({"length": 7}, SHAPE) == SHAPE | {"length": 7}
    assert own_cell.shape_of(own_cell.given(None), SHAPE) == SHAPE
    assert own_cell.phases_of("forward", PHASES) == ["forward"]
    assert own_cell.phases_of(None, PHASES) == PHASES
    assert own_cell.frameworks_of("jax,pytorch") == ["jax", "pytorch"]
    assert {"pytorch", "tensorflow", "jax", "tvm"} <= set(own_cell.frameworks_of(None))


@pytest.mark.parametrize("phases", [PHASES, ["training"], ["forward"]])
def test_its_document_is_a_document(phases: list[str]) -> None:
    found = own_cell.document("mine", "f0", "somewhere/mine.py", SHAPE, phases)
    assert configuration.mistakes(found, "document") == []
    assert configuration.document_problems(found) == []
    cells = [each.get("cell", "lstm") for each in found["benchmarks"].values()]
    assert cells.count("own.mine") == cells.count("lstm") == (2 if "forward" in phases else 1)
    assert "somewhere/mine.py" in found["about"]


def test_two_cells_share_their_lstm() -> None:
    one, other = (own_cell.document(n, "f0", "x.py", SHAPE, PHASES) for n in ("mine", "yours"))
    shared = one["benchmarks"].keys() & other["benchmarks"].keys()
    assert {one["benchmarks"][name].get("cell", "lstm") for name in shared} == {"lstm"}
    assert len(shared) == 2


def test_every_style_of_operators_has_both_cells(folder: Path) -> None:
    cells = matrix.cells_of("cell-mine")
    shapes = matrix.document("cell-mine")["benchmarks"]

    def styles(cell: str) -> set[str]:
        own = [each for each in cells if shapes[each.benchmark].get("cell", "lstm") == cell]
        return {each.implementation for each in own}

    assert styles("own.mine") < styles("lstm")
    libraries = {"pytorch/fused", "pytorch/cudnn", "onnxruntime/lstm", "openvino/lstm"}
    assert styles("lstm") - styles("own.mine") == libraries
    flexible = {
        each.implementation
        for each in matrix.cells_of("flexible-yet-fast")
        if each.benchmark == "flexible-slstm" and each.device == "cpu"
    }
    lstm_only = libraries | {"pytorch/cell", "tensorflow/graph-cell", "tensorflow/graph-block"}
    assert flexible - lstm_only <= styles("own.mine")
    assert {each.environment for each in cells} == {matrix.today(e.environment) for e in cells}


def test_rows_of_a_gpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one: all styles of operators and compilers of PyTorch, TensorFlow and JAX, and PyTorch's CUDA graphs; the
    kernels are those of CPUs."""
    monkeypatch.setattr(devices, "gpus", lambda: [{"name": "NVIDIA H200"}])
    plan = Plan(given(folder, own_cell.frameworks_of(None)), cores=2)
    assert plan.config["devices"] == ["cpu", "gpu"]
    timed = {timing.cell for timing in plan.timings("cell-mine")}
    shapes = matrix.document("cell-mine")["benchmarks"]

    def styles(device: str, single: bool = False) -> set[str]:
        return {
            cell.implementation
            for cell in timed
            if cell.device == device
            and shapes[cell.benchmark].get("cell") == "own.mine"
            and cell.benchmark.startswith(own.SINGLE) == single
        }

    of_cpus = {"tvm/template-tuned", "recurrent_cells/module", "iree/scan"}
    of_gpus = {"pytorch/fine-grained-graph", "pytorch/compiled-graph"}
    assert styles("gpu") == styles("cpu") - of_cpus | of_gpus
    assert "pytorch/fine-grained-graph" in styles("gpu", single=True)
    assert not styles("gpu") & {"pytorch/triton-step", "tvm/dlight", "pytorch/persistent"}
    on_gpu = [cell for cell in timed if cell.device == "gpu"]
    beside = {cell.implementation for cell in on_gpu if "cell" not in shapes[cell.benchmark]}
    assert {"pytorch/cudnn", "pytorch/fused"} <= beside


@pytest.mark.parametrize(
    ("name", "implementation", "line", "stale"),
    [
        ("pytorch", "pytorch/compiled", "MORE = 1\n", True),
        ("pytorch", "pytorch/compiled", "# said\n", False),
        ("jax", "iree/scan", "MORE = 1\n", True),
        ("reference", "tensorflow/graph-while", "MORE = 1\n", True),
        ("cell", "tvm/template-tuned", "MORE = 1\n", True),
        # What was generated of it is another if that matters.
        ("cell", "pytorch/compiled", "MORE = 1\n", False),
    ],
)
def test_what_makes_its_rows_stale(folder: Path, name, implementation, line, stale) -> None:
    before = sources.digest(*own.entries("own.mine", implementation))
    with (folder / "mine" / f"{name}.py").open("a") as file:
        file.write(line)
    sources.read_from(Path())
    assert (sources.digest(*own.entries("own.mine", implementation)) != before) == stale


def test_no_process_of_checks_has_both_cells(folder: Path) -> None:
    """What one loads of a cell's own, the plan of the LSTM's rows does not count."""
    plan = Plan(given(folder, ["pytorch"]), cores=2)
    shapes = matrix.document("cell-mine")["benchmarks"]
    groups = list(plan.checkings(plan.timings("cell-mine")))
    kinds = [{shapes[c.cell.benchmark].get("cell", "lstm") for c in g.checks} for g in groups]
    assert all(len(kind) == 1 for kind in kinds) and {"lstm"} in kinds and {"own.mine"} in kinds


def test_a_shape_is_a_document_of_one_benchmark_in_rows_of_any_cell(tmp_path, monkeypatch) -> None:
    """`make bump SHAPE=...`"""
    for module in (own, own_shape):
        monkeypatch.setattr(module, "FOLDER_OF_SHAPES", tmp_path)
    name = own_shape.write("{batch: 1, length: 2, hidden: 256, cell: gru}")
    config = configuration.given("config/quick.yaml", [f"documents=[{name}]"])
    assert config["documents"] == [name]
    (benchmark,) = matrix.document(name)["benchmarks"].values()
    assert [benchmark[key] for key in ("batch", "length", "hidden", "layers")] == [1, 2, 256, 1]
    assert benchmark["cell"] == "gru"
    rows = {one.implementation for one in matrix.cells_of(name)}
    assert {"pytorch/fused", "onnxruntime/lstm", "tensorflow/graph-while"} <= rows
    assert name not in matrix.documents()
    with pytest.raises(Refused, match=r"^SHAPE: .*did you mean `gru`"):
        own_shape.document("{cell: gur}")
