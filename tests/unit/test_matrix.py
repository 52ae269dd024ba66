"""The matrix of cells."""

import csv
from pathlib import Path

from plan import matrix, own_cell
from plan.matrix import Measurement


def test_every_implementation_has_its_benchmarks() -> None:
    documents = [path.stem for path in Path("config/documents").glob("*.yaml")]
    own = own_cell.document("mine", "f0", "mine.py", own_cell.template()["shape"], matrix.PHASES)
    known = [*matrix.benchmarks(documents), *own["benchmarks"]]
    for entry in matrix.implementations():
        for pattern in entry["benchmarks"]:
            assert any(matrix.takes_part([pattern], name) for name in known), pattern


def test_every_implementation_of_a_benchmark_is_shown() -> None:
    """What takes part in a document's benchmark is in one of its tables, on a device it has."""
    for path in Path("config/documents").glob("*.yaml"):
        cells = {(cell.benchmark, cell.implementation) for cell in matrix.cells_of(path.stem)}
        for benchmark in matrix.document(path.stem)["benchmarks"]:
            for entry in matrix.implementations():
                takes_part = matrix.takes_part(entry["benchmarks"], benchmark)
                assert ((benchmark, entry["implementation"]) in cells) == takes_part


def test_published_rows_have_cells() -> None:
    """On some device: document 002's kernels ran on a GPU, where ours by that name are the CPU's."""
    for name in ("stacked-lm", "tvm-lstm"):
        cells = {(c.benchmark, c.implementation, c.phase) for c in matrix.cells_of(name)}
        for path in matrix.published_files(f"{name}*"):
            with open(path) as stream:
                rows = list(csv.DictReader(stream))
            keys = [tuple(row[k] for k in ("benchmark", "implementation", "phase")) for row in rows]
            devices = [row["device"] for row in rows]
            assert keys and set(keys) <= cells
            assert len(keys) == len(set(zip(keys, devices, strict=True)))


def test_published_files_are_a_documents_own(tmp_path: Path, monkeypatch) -> None:
    """`lm` is not `stacked-lm`."""
    folder = tmp_path / "config/published"
    folder.mkdir(parents=True)
    for name in ("000-stacked-lm-early", "001-stacked-lm", "1005-lm"):
        (folder / f"{name}.csv").touch()
    monkeypatch.chdir(tmp_path)
    files = {"lm": 1, "stacked-lm": 1, "stacked-lm*": 2, "*": 3, "early": 0}
    assert {name: len(matrix.published_files(name)) for name in files} == files


def configuration(**keys) -> dict:
    settled = {"documents": ["stacked-lm"], "devices": ["cpu"], "overrides": {}}
    return settled | {"protocol": {"processes": 1}, "check": {}, "training": {}} | keys


def test_cells_of_chosen_devices_once_each() -> None:
    cpu = matrix.cells(configuration())
    both = matrix.cells(configuration(devices=["cpu", "gpu"]))
    assert {cell for cell in both if cell.device == "cpu"} == set(cpu)
    assert {cell.device for cell in both} == {"cpu", "gpu"}
    assert {cell.device for cell in cpu} == {"cpu"}
    assert set(cpu.values()) == {"stacked-lm"}
    assert matrix.cells(configuration(documents=["stacked-lm", "stacked-lm"])) == cpu


def test_overrides_of_a_document() -> None:
    own = {"protocol": {"processes": 3}, "benchmarks": ["cell-*"]}
    own |= {"implementations": ["tvm/*", "pytorch/products-large"]}
    config = configuration(documents=["tvm-lstm"], overrides={"tvm-lstm": own})
    found = {cell.implementation for cell in matrix.cells(config)}
    assert {"pytorch/products-large", "tvm/untuned"} < found and "pytorch/fused" not in found
    assert {cell.benchmark for cell in matrix.cells(config)} == {"cell-512"}
    assert matrix.protocol_of(config, "tvm-lstm")["protocol"]["processes"] == 3
    assert matrix.protocol_of(config, "stacked-lm")["protocol"]["processes"] == 1
    left_out = next(c for c in matrix.cells_of("tvm-lstm") if c.benchmark.startswith("stack-"))
    status, reason = matrix.why_not(left_out, "tvm-lstm", config)
    assert status == "not-run" and "documents='[tvm-lstm]'" in reason


def selected(*patterns: str) -> dict[Measurement, str]:
    return matrix.cells(configuration(overrides={"stacked-lm": {"implementations": patterns}}))


def test_selection_may_name_environments_phases_and_benchmarks() -> None:
    chosen = {(c.implementation, c.environment) for c in selected("* in pytorch", "pytorch/fused")}
    assert {environment for _, environment in chosen} == {"pytorch", "pytorch-2019"}
    assert [name for name, environment in chosen if environment != "pytorch"] == ["pytorch/fused"]
    one = "pytorch/cell in pytorch for training on stacked-lm"
    cells = selected(one, "pytorch/fused for forward")
    assert {c.phase for c in cells if c.implementation == "pytorch/cell"} == {"training"}
    fused = {(c.phase, c.environment) for c in cells if c.implementation == "pytorch/fused"}
    assert fused == {("forward", "pytorch"), ("forward", "pytorch-2019")}


def test_check_of_a_cell() -> None:
    """The document's, but for what float32 or a built kernel cannot do."""
    check = {"tolerance": 1e-4, "steps": 3, "batch": 4}
    config = {key: {} for key in ("protocol", "training", "overrides")} | {"check": check}

    def checked(document: str, benchmark: str, implementation: str, environment: str) -> dict:
        cell = Measurement(benchmark, implementation, environment, "training", "cpu")
        return matrix.check_of(config, document, cell)

    fused = ("pytorch/fused", "pytorch")
    assert checked("rnn-benchmarks", "4x320-ce-long", *fused) == check
    assert checked("rnn-benchmarks", "4x320-ctc-long", *fused) == check | {"tolerance": 2e-2}
    kernel = checked("tvm-lstm", "cell-512", "tvm/template-tuned", "tvm")
    assert kernel == check | {"batch": None}
    check["tolerance"] = 5e-2
    assert checked("rnn-benchmarks", "4x320-ctc-long", *fused)["tolerance"] == 5e-2
