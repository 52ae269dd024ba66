"""What stands beside a document's own numbers, and what does not."""

import pandas as pd

from reporting.sections import Tables, workers

ABOUT = {"labels": {"tensorflow/graph-unrolled": "BasicLSTMCell"}}


def test_published_scaling_is_over_the_same_row_undivided() -> None:
    """Not over another one, of which the document has a number too."""
    speeds = [("words_per_s", "", 25e3), ("speedup", "tensorflow/graph-unrolled", 1.7)]
    speeds.append(("speedup", "tensorflow/graph-cudnn", 0.78))
    published = pd.DataFrame(speeds, columns=["quantity", "over", "value"])
    published["implementation"] = "tensorflow/data-parallel"
    scaled = {"label": "two", "environment": "e", "benchmark": "b", "status": "ok", "workers": 2}
    scaled |= {"words_per_s": 7e3, "scaling": 0.4, "scaling_low": 0.3, "scaling_high": 0.5}
    cells = pd.DataFrame([scaled | {"undivided": "tensorflow/graph-unrolled"}])
    found = workers.analyse(Tables(cells, published), ABOUT)
    assert found.published == {"words_per_s": 25e3, "speedup": 1.7}
    assert found.rows[0].undivided == "BasicLSTMCell"
