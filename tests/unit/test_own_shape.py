"""`make bump SHAPE=...`: a document of one benchmark."""

import pytest

from plan import configuration, matrix, own, own_shape
from plan.own_cell import Refused


def test_a_shape_is_a_document_of_one_benchmark_in_rows_of_any_cell(tmp_path, monkeypatch) -> None:
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


def test_a_shape_that_is_none() -> None:
    """tests/unit/test_own_cell.py has the others."""
    with pytest.raises(Refused, match=r"^SHAPE: .*did you mean `gru`"):
        own_shape.document("{cell: gur}")
