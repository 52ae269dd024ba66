"""Which configuration would explain document 004's numbers, worked out by hand."""

import pandas as pd
import pytest

from reporting import configurations


def cells(*rows: tuple[str, str, float, float | None, float | None]) -> pd.DataFrame:
    """Cells of `ptb-small` on a GPU: (implementation, environment, speed-up, its interval or None)."""
    columns = ["implementation", "environment", "speedup", "speedup_low", "speedup_high"]
    about = {
        "document": "cudnn-lstm-ptb",
        "benchmark": "ptb-small",
        "device": "gpu",
        "machine": "m",
    }
    table = pd.DataFrame(rows, columns=columns).assign(**about)
    return table.astype({name: float for name in columns[2:]})


def explained(table: pd.DataFrame) -> dict[str, dict]:
    found = configurations.explained("cudnn-lstm-ptb", table)
    return {entry["benchmark"]: entry for entry in found}


def test_what_each_number_makes_of_the_others() -> None:
    found = explained(cells())
    small, large = found["ptb-small"], found["ptb-large"]
    assert (small["words"], large["words"]) == (20 * 20, 20 * 35)
    # Forward: two layers of [D + H, 4H] and the projection, two operations an element; training: three times that.
    assert small["flops"] == 3 * 2 * (2 * 400 * 800 + 200 * 10001)
    rates = {entry["implementation"]: entry for entry in large["rates"]}
    assert set(rates) == {f"tensorflow/graph-{style}" for style in ("unrolled", "cell", "cudnn")}
    assert rates["tensorflow/graph-cudnn"]["wall_s"] == pytest.approx(700 / 32e3)
    share = 32e3 * 6 * (2 * 3000 * 6000 + 1500 * 10001) / 12e12
    assert rates["tensorflow/graph-cudnn"]["share"] == pytest.approx(share)
    walls = {entry["implementation"]: entry["words_per_s"] for entry in large["walls"]}
    assert walls["tensorflow/graph-cudnn"] == pytest.approx(700 / 0.12)
    assert (small["factor"], large["factor"]) == (
        pytest.approx(9.6),
        pytest.approx(5.486, rel=1e-3),
    )


def test_measured_speed_ups_beside_published_ones() -> None:
    """Published: 1.1 and 2.1, to a digit."""
    table = cells(
        ("tensorflow/graph-unrolled", "tensorflow", 1.0, 0.9, 1.1),
        ("tensorflow/graph-cell", "tensorflow", 1.3, 1.2, 1.4),
        ("tensorflow/graph-cudnn", "tensorflow", 2.3, 2.1, 2.5),
        ("tensorflow/graph-cudnn", "tensorflow-2018", 2.1, 2.0, 2.2),
    )
    found = explained(table)["ptb-small"]["speedups"]
    agrees = {entry["implementation"]: entry["agrees"] for entry in found}
    assert agrees == {"tensorflow/graph-cell": False, "tensorflow/graph-cudnn": True}
    assert len(found) == 2
    assert explained(table.assign(device="cpu"))["ptb-small"]["speedups"] == []
    (alone,) = explained(cells(("tensorflow/graph-cell", "tensorflow", 1.12, None, None)))[
        "ptb-small"
    ]["speedups"]
    assert alone["agrees"]


def test_only_documents_with_such_numbers() -> None:
    assert configurations.explained("stacked-lm", cells()) == []
