"""Figures say what the table says: the right number on the right row, and what each point is."""

import re
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from reporting import sections, style
from reporting.sections import Tables, bars, rates, training_runs, wall_times

ABOUT = {"machine_names": {"m": "A machine"}, "document": {"benchmarks": {"lm": {"batch": 8}}}}


def tables(**changes: object) -> Tables:
    """A row with both phases, one without training, one that failed."""
    rows = [
        ("tensorflow/eager", "Eager", "operators", 0.111, 0.333),
        ("tvm/kernel", "Kernel", "fused kernel", 0.444, None),
        ("pytorch/cell", "Cell", "cell kernel", 0.555, 0.777),
        ("pytorch/broken", "Broken", "operators in a loop", "failed", "timeout"),
    ]
    found = []
    for implementation, name, flexibility, *walls in rows:
        for phase, wall_s in zip(("forward", "training"), walls, strict=True):
            if wall_s is None:
                continue
            ok = not isinstance(wall_s, str)
            number = wall_s if ok else float("nan")
            found.append(
                {"machine": "m", "benchmark": "lm", "implementation": implementation}
                | {"environment": "here", "phase": phase, "device": "cpu", "name": name}
                | {
                    "label": name,
                    "family": "kind",
                    "flexibility": flexibility,
                }
                | {"generation": "now", "status": "ok" if ok else wall_s, "wall_s": number}
                | {"wall_std_s": number * 0.01, "wall_median_s": number, "gflops": 100 / number}
                | {"process_medians_s": [0.9 * number, number, 1.1 * number], "processes": 3}
                | {"published_wall_s": float("nan")}
                | changes
            )
    return Tables(pd.DataFrame(found), pd.DataFrame(), pd.DataFrame())


def drawn(module: object, found: Tables, **options: object) -> tuple[str, str]:
    """(SVG, alternative text) of a section."""
    data = sections.plain(module.analyse(found, ABOUT, **options))
    figure, text = module.draw(data, found, ABOUT, True, **options)
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


def test_numbers_stand_on_the_line_of_their_row() -> None:
    svg, text = drawn(wall_times, tables(), device="cpu", benchmark="lm")
    height = heights(svg)
    for row, numbers in {
        "Eager": ["0.111", "0.333"],
        "Kernel": ["0.444"],
        "Cell": ["0.555"],
    }.items():
        for number in numbers:
            assert height[number] == pytest.approx(height[row], abs=2)
    assert "Broken" not in height  # what has no number is in the page's list
    assert text.startswith("Time of a batch of lm: 5 measured cells, from 0.111 s (Eager, forward)")


def test_points_say_what_they_are() -> None:
    svg, _ = drawn(wall_times, tables(name="a < b & c"), device="cpu", benchmark="lm")
    titles = re.findall(r"<title>([^<]*)</title>", svg)
    assert "a &lt; b &amp; c, here, forward: 0.111 s" in titles and len(titles) == 5


def test_generations_stand_apart() -> None:
    now = tables()
    then = now.cells[now.cells["name"] == "Eager"].assign(environment="here-2019")
    both = Tables(pd.concat([now.cells, then]), now.trainings, now.published)
    height = heights(drawn(wall_times, both, device="cpu", benchmark="lm")[0])
    assert {"Eager, here", "Eager, here-2019", "Cell"} < set(height)


def test_bars_and_rates_name_the_extremes() -> None:
    svg, text = drawn(bars, tables(), device="cpu", benchmark="lm")
    assert (
        text
        == "Mean time of a batch of lm: 5 rows, from 0.111 s (Eager, here) to 0.777 s (Cell, here)."
    )
    assert heights(svg)["0.444 ± 0.0044"] == pytest.approx(heights(svg)["Kernel, here"], abs=2)
    _, text = drawn(rates, tables(), device="cpu")
    assert text == "Rates of 3 implementations on 1 shapes, at most 901 GFLOP/s (Eager, lm)."


def test_bars_of_a_slower_machine_end_within_its_panel() -> None:
    cells = tables().cells
    slower = cells.assign(machine="n", wall_s=10 * cells["wall_s"])
    both = Tables(pd.concat([cells, slower]), pd.DataFrame(), pd.DataFrame())
    about = ABOUT | {"machine_names": {"m": "A machine", "n": "A slower one"}}
    figure, _ = bars.draw({}, both, about, True, device="cpu", benchmark="lm")
    longest = slower["wall_s"].max()
    assert all(axis.get_xlim()[0] == 0 and axis.get_xlim()[1] > longest for axis in figure.axes)
    plt.close(figure)


@pytest.mark.parametrize(
    ("module", "options"),
    [(wall_times, {"benchmark": "lm"}), (bars, {"benchmark": "lm"}), (rates, {})],
)
def test_without_numbers_there_is_no_figure(module: object, options: dict) -> None:
    assert module.analyse(tables(status="unsupported"), ABOUT, device="cpu", **options) is None


def test_equal_tables_give_equal_files() -> None:
    one, other = (drawn(wall_times, tables(), device="cpu", benchmark="lm")[0] for _ in range(2))
    assert one == other


def test_perplexity_draws_every_curve() -> None:
    def row(name: str, *perplexities: float, status: str = "ok", machine: str = "m") -> dict:
        points = enumerate(perplexities, start=1)
        curve = [{"batch": 100 * batch, "valid_perplexity": value} for batch, value in points]
        found = {"machine": machine, "implementation": "pytorch/x", "environment": "here"}
        return found | {"label": name, "status": status, "curve": curve}

    rows = [
        row("A", 500, 200),
        row("B", 505, 201),
        row("C", status="failed"),
        row("A", 510, machine="n"),
    ]
    about = ABOUT | {"machine_names": {"m": "Zen 5", "n": "Zen 4"}}
    figure, text = training_runs.draw(
        {}, Tables(pd.DataFrame(), pd.DataFrame(rows), pd.DataFrame()), about, True
    )
    assert text.endswith(
        "on Zen 5 200.0 to 201.0 after 200 batches (2 runs), on Zen 4 510.0 after 100 batches (one run)."
    )
    assert {"A, here", "B, here"} <= set(heights(style.svg(figure)))


def test_rows_of_a_figure_have_marks_of_their_own() -> None:
    """Of one framework as many as there may be: colour, shape and filling together tell them apart."""
    names = [f"pytorch/{number}" for number in range(12)] + ["tvm/a", "tvm/b"]
    looks = style.marked(names)
    seen = {(each["color"], each["marker"], each.get("mfc")) for each in looks.values()}
    assert len(seen) == len(names)


def test_places_have_no_more_digits_than_two_layouts_share() -> None:
    """And what is to be read keeps all of its own."""
    one = '<path d="M -0.000001 16.598678 \nL -248.236719 16.598678"/><text x="1.5">0.006231</text>'
    assert style._rounded(one) == style._rounded(one.replace("598678", "598677"))
    assert style._rounded(one) == (
        '<path d="M 0.000 16.599 \nL -248.237 16.599"/><text x="1.5">0.006231</text>'
    )


def test_a_narrow_figure_has_its_panels_below_each_other() -> None:
    """And nothing is left out: the same rows, each with its interval."""
    options = {"benchmark": "lm", "device": "cpu"}
    data = sections.plain(wall_times.analyse(tables(), ABOUT, **options))
    (wide, _), (narrow, _) = (
        wall_times.draw(data, tables(), ABOUT, w, **options) for w in (True, False)
    )
    assert narrow.get_figwidth() == style.NARROW < wide.get_figwidth()
    places = [axis.get_subplotspec().get_topmost_subplotspec() for axis in narrow.axes]
    assert len({place.colspan.start for place in places}) == 1 < len(places) == len(wide.axes)
    for one, other in zip(wide.axes, narrow.axes, strict=True):
        assert len(one.lines) == len(other.lines)
        assert [tick.get_text() for tick in other.get_yticklabels()]
    spans = [line for line in narrow.axes[0].lines if line.get_color() == "#333333"]
    assert len(spans) == 3  # seen on any ground


def test_long_names_are_wrapped_where_it_is_narrow() -> None:
    name = "TensorFlow graph, operators in a loop, tensorflow-2019"
    assert style.wrapped(name, True) == name
    assert max(map(len, style.wrapped(name, False).splitlines())) <= style.LETTERS
