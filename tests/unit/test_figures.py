"""Figures say what the table says: the right number on the right row, and what each point is."""

import math
import re
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pytest

from reporting import style
from reporting.sections import Tables, bars
from tests.unit import hand_made

ABOUT = {"machine_names": {"m": "A machine"}, "document": {"benchmarks": {"lm": {"batch": 8}}}}


def tables(**changes: object) -> Tables:
    """A row with both phases, one without training, one that failed."""
    rows = [
        ("tensorflow/eager", "Eager", "operators", 0.111, 0.333),
        ("tvm/kernel", "Kernel", "fused kernel", 0.444, None),
        ("pytorch/cell", "Cell", "cell kernel", 0.555, 0.777),
        ("pytorch/broken", "Broken", "operators in a loop", None, None),
    ]
    found = []
    for implementation, name, flexibility, *walls in rows:
        own = {"benchmark": "lm", "environment": "here", "name": name, "label": name}
        own |= {"family": "kind", "flexibility": flexibility, "published_wall_s": math.nan}
        for phase, wall_s in zip(("forward", "training"), walls, strict=True):
            number = wall_s or math.nan
            own |= {"phase": phase, "wall_std_s": number * 0.01, "gflops": 100 / number}
            found.append(hand_made.row(implementation, wall_s, **own | {"processes": 3} | changes))
    return hand_made.tables(found)


def drawn(module: object, found: Tables, **options: object) -> tuple[str, str]:
    """(SVG, alternative text) of a section."""
    data = module.analyse(found, ABOUT, **options)
    figure, text = module.draw(data, found, ABOUT, **options)
    return style.svg(figure), text


def heights(svg: str) -> Mapping[str, float]:
    """{text: y} of everything written in an SVG."""
    found = re.findall(r'<text [^>]*?x="[\d.]+" y="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    return {text: float(y) for y, text in found}


def test_the_last_digit_of_a_place_which_no_file_shows_changes_no_file() -> None:
    files = []
    for left in (0.1, np.nextafter(0.1, 1)):
        axes = plt.figure().add_axes((left, 0.1, 0.8, 0.8))
        axes.plot([1, 2], marker="o")
        axes.fill_between([0, 1], [1, 2], hatch="/")
        files.append(style.svg(axes.figure))
    assert files[0] == files[1]
    defined, used = (
        set(re.findall(each, files[0])) for each in (r' id="([hmp]\d+)"', r"#([hmp]\d+)\b")
    )
    assert {name[0] for name in defined} == set("hmp") and used == defined


def test_bars_stand_on_the_line_of_their_row_and_name_the_extremes() -> None:
    svg, text = drawn(bars, tables(), benchmark="lm")
    height = heights(svg)
    assert height["0.444 ± 0.0044"] == pytest.approx(height["Kernel, here"], abs=2)
    assert "Broken, here" not in height  # what has no number is in the page's list
    assert "from 0.111 s (Eager, here) to 0.777 s (Cell, here)" in text
    assert svg == drawn(bars, tables(), benchmark="lm")[0]  # equal tables give equal files
    svg, _ = drawn(bars, tables(label="a < b"), benchmark="lm")
    titles = re.findall(r"<title>([^<]*)</title>", svg)
    assert len(titles) == 5 and "a &lt; b, here: mean 0.111 s" in titles


def test_without_numbers_there_is_no_figure() -> None:
    assert bars.analyse(tables(status="unsupported"), ABOUT, benchmark="lm") is None
