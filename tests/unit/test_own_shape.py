"""`make bump SHAPE=...`: a document of one benchmark."""

from pathlib import Path

import pytest

from plan import configuration, matrix, own, own_shape
from plan.own_cell import Refused


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "FOLDER_OF_SHAPES", tmp_path)
    monkeypatch.setattr(own_shape, "FOLDER_OF_SHAPES", tmp_path)


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_shape_is_a_document_of_one_benchmark_in_rows_of_any_cell(cell: str) -> None:
    name = own_shape.write(f"{{batch: 1, length: 2, hidden: 256, cell: {cell}}}")
    config = configuration.given("config/quick.yaml", [f"documents=[{name}]"])
    assert config["documents"] == [name]
    (benchmark,) = matrix.document(name)["benchmarks"].values()
    assert [benchmark[key] for key in ("batch", "length", "hidden", "layers")] == [1, 2, 256, 1]
    assert benchmark.get("cell", "lstm") == cell
    rows = {one.implementation for one in matrix.cells_of(name)}
    assert {"pytorch/fused", "onnxruntime/lstm", "tensorflow/graph-while"} <= rows
    assert name not in matrix.documents()


@pytest.mark.parametrize(
    ("asked", "said"),
    [("{cell: gur}", "did you mean `gru`"), ("{bach: 3}", "`bach`"), ("{batch", "YAML")],
)
def test_a_shape_that_is_none(asked: str, said: str) -> None:
    with pytest.raises(Refused, match=r"^SHAPE: ") as refused:
        own_shape.document(asked)
    assert said in str(refused.value)
