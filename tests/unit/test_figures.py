"""Figures say what the table says: the right number on the right row, and every status."""

import itertools
import re
from pathlib import Path

import pandas as pd
import pytest
from reporting.figures.trade_off import spread

from reporting import figures


def cells() -> pd.DataFrame:
    """A row with both phases, one without training between the others, and one that failed."""
    rows = [
        ("tensorflow/eager", "Eager", "fine-grained", 0.111, 0.333),
        ("tvm/kernel", "Kernel", "monolithic", 0.444, None),
        ("pytorch/cell", "Cell", "cell", 0.555, 0.777),
        ("pytorch/broken", "Broken", "loop", "failed", "timeout"),
    ]
    found = []
    for implementation, label, flexibility, *walls in rows:
        for phase, wall_s in zip(("forward", "training"), walls, strict=True):
            ok = not isinstance(wall_s, str)
            if wall_s is None:
                continue
            found.append(
                {
                    **{"benchmark": "lm", "implementation": implementation, "environment": "here"},
                    **{
                        "phase": phase,
                        "label": label,
                        "family": "kind",
                        "flexibility": flexibility,
                    },
                    "machine": "m",
                    "status": "ok" if ok else wall_s,
                    "wall_s": wall_s if ok else None,
                    "wall_low_s": wall_s * 0.9 if ok else None,
                    "wall_high_s": wall_s * 1.1 if ok else None,
                    "wall_std_s": wall_s * 0.01 if ok else None,
                    "sequences_per_s": 1 / wall_s if ok else None,
                    "gflops": 100 / wall_s if ok else None,
                    "ceiling_sequences_per_s": 18.0,
                    "published_wall_s": None,
                }
            )
    return pd.DataFrame(found).astype({"published_wall_s": float})


def texts(stem: Path) -> list[tuple[str, float, float]]:
    """(text, x, y) of everything written in an SVG."""
    found = re.findall(
        r'<text [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>',
        stem.with_suffix(".svg").read_text(),
    )
    return [(text, float(x), float(y)) for x, y, text in found]


def test_numbers_stand_on_the_line_of_their_row(tmp_path: Path) -> None:
    figures.wall_time(cells(), "A title", tmp_path / "f")
    height = {text: y for text, _, y in texts(tmp_path / "f")}
    for row, written in {
        "Eager (kind)": ["0.111", "0.333"],
        "Kernel (kind)": ["0.444"],
        "Cell (kind)": ["0.555", "0.777"],
        "Broken (kind)": ["failed", "timeout"],
    }.items():
        for text in written:
            assert height[text] == pytest.approx(height[row], abs=2)


def test_labels_do_not_overlap() -> None:
    wanted, heights = [0.5, 0.49, 0.51, 0.9, 0.5], [0.05, 0.1, 0.05, 0.05, 0.05]
    placed = spread(wanted, heights)
    order = sorted(range(5), key=lambda position: placed[position])
    assert order == [1, 0, 4, 2, 3]
    for low, high in itertools.pairwise(order):
        assert placed[high] - placed[low] > 0.95 * (heights[low] + heights[high]) / 2
    assert placed[3] == 0.9


def test_trade_off_shows_every_row(tmp_path: Path) -> None:
    text = figures.trade_off(cells(), "A title", tmp_path / "f")
    drawn = (tmp_path / "f.svg").read_text()
    shown = {"Eager": 2, "Kernel": 1, "Cell": 2, "Broken": 2, "failed:": 1, "timeout:": 1}
    for label, times in shown.items():
        assert drawn.count(f">{label}<") == times
    assert "share of the ceiling (%)" in drawn
    assert "from 2 (Cell, cell, 10 % of the GEMM ceiling) to 9 (Eager" in text
    assert (tmp_path / "f.png").stat().st_size > 10_000


def test_generations_stand_apart(tmp_path: Path) -> None:
    """Each in a panel, or on a line, of its own."""
    eager = cells()[lambda table: table["label"] == "Eager"]
    both = pd.concat([cells(), eager.assign(environment="here-2019", sequences_per_s=5.0)])
    text = figures.trade_off(both, "A title", tmp_path / "f")
    drawn = (tmp_path / "f.svg").read_text()
    titles = ["forward", "training", "forward, 2019", "training, 2019"]
    assert [drawn.count(f">{title}<") for title in titles] == [1, 1, 1, 1]
    assert drawn.count(">Eager<") == 4
    lost = eager.assign(label="Lost", environment="here-2019", status="not-run")
    figures.trade_off(pd.concat([both, lost]), "A title", tmp_path / "h")
    assert (tmp_path / "h.svg").read_text().count(">not run: 1 rows<") == 2
    assert "forward, 2019: 1 rows from 5 (Eager" in text
    figures.wall_time(both, "A title", tmp_path / "g")
    written = [found for found, _, _ in texts(tmp_path / "g")]
    assert {"Eager (kind), here", "Eager (kind), here-2019"} < set(written)


def test_without_numbers_there_is_a_figure_all_the_same(tmp_path: Path) -> None:
    bad = cells().assign(status="unsupported", wall_s=float("nan"))
    for name in ("trade_off", "wall_time", "rates", "bars"):
        text = getattr(figures, name)(bad, "A title", tmp_path / name)
        assert text.lower().endswith("no row was measured.")
        assert "unsupported" in (tmp_path / f"{name}.svg").read_text()


def test_equal_tables_give_equal_files(tmp_path: Path) -> None:
    for name in ("trade_off", "wall_time", "rates", "bars"):
        for copy in ("a", "b"):
            getattr(figures, name)(cells(), "A title", tmp_path / copy / name)
        for suffix in (".svg", ".png"):
            one, other = ((tmp_path / copy / name).with_suffix(suffix) for copy in ("a", "b"))
            assert one.read_bytes() == other.read_bytes()


def test_rates_name_what_has_none(tmp_path: Path) -> None:
    forward = cells().query("phase == 'forward'").copy()
    forward.loc[forward["label"] == "Cell", "status"] = "not-run"
    text = figures.rates(forward, "A title", tmp_path / "f")
    written = [found for found, _, _ in texts(tmp_path / "f")]
    assert "failed: Broken" in written
    assert "not run under this protocol: 1 cells on 1 shapes" in written
    assert text.startswith(
        "A title: rates of 2 implementations on 1 shapes, at most 901 GFLOP/s (Eager, lm)"
    )


def test_bars_stand_on_the_line_of_their_row(tmp_path: Path) -> None:
    training = cells().query("phase == 'training'").copy()
    training.loc[training["label"] == "Eager", "environment"] = "here-2019"
    lost = training.iloc[:1].assign(label="Lost", status="not-run")
    text = figures.bars(pd.concat([training, lost]), "A title", tmp_path / "f")
    height = {text: y for text, _, y in texts(tmp_path / "f")}
    for row, written in {
        "Eager, here-2019": "0.333 ± 0.0033",
        "Cell, here": "0.777 ± 0.0078",
        "Broken, here": "timeout",
    }.items():
        assert height[written] == pytest.approx(height[row], abs=2)
    assert "not run under this configuration: 1 rows" in height and "Lost, here" not in height
    assert text.endswith("from 0.333 s (Eager, here-2019) to 0.777 s (Cell, here).")


def test_perplexity_draws_every_curve_and_counts_the_others(tmp_path: Path) -> None:
    def row(label: str, *perplexities: float, status: str = "ok") -> dict:
        points = enumerate(perplexities, start=1)
        curve = [{"batch": 100 * batch, "valid_perplexity": value} for batch, value in points]
        found = {"machine": "m", "implementation": "pytorch/x", "environment": "here"}
        return found | {"label": label, "status": status, "curve": curve}

    rows = [row("A", 500, 200), row("B", 505, 201), row("C", status="failed")]
    text = figures.perplexity(pd.DataFrame(rows), "Trained", tmp_path / "f")
    assert text.endswith(
        "2 implementations trained from the same weights; after 200 batches it is 200.0 to 201.0."
    )
    written = [text for text, *_ in texts(tmp_path / "f")]
    assert {"A, here", "B, here", "without a curve: 1 failed"} <= set(written)
    nothing = pd.DataFrame([row("C", status="failed")])
    assert figures.perplexity(nothing, "Trained", tmp_path / "g") == "Trained: no row was trained."
