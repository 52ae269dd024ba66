"""What all figures share: colours and markers, type, files, axes, legends, and what a point says of itself.

Every figure is drawn twice: wide, and narrow for a telephone, where panels stand below each other and names are wrapped."""

import io
import re
import textwrap
from collections.abc import Iterable
from typing import NamedTuple
from xml.sax.saxutils import escape

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import ticker
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D


class Look(NamedTuple):
    """How a framework is drawn: by colour and by marker, as either alone may be lost."""

    name: str
    color: str
    marker: str


# Okabe & Ito (2008): eight colours that stay apart under the common colour deficiencies.
LOOKS = {
    "tensorflow": Look("TensorFlow", "#E69F00", "s"),
    "pytorch": Look("PyTorch", "#0072B2", "o"),
    "tvm": Look("TVM", "#009E73", "^"),
    "onnxruntime": Look("ONNX Runtime", "#56B4E9", "P"),
    "openvino": Look("OpenVINO", "#D55E00", "X"),
    "keras": Look("Keras", "#CC79A7", "v"),
    "lasagne": Look("Lasagne", "#F0E442", "p"),
    "iree": Look("IREE", "#332288", "8"),
    "jax": Look("JAX", "#882255", "*"),
}
GREY = "#666666"
OTHER = Look("other", GREY, "h")
EDGE = {"markeredgecolor": "black", "markeredgewidth": 0.5}
FILLS = {"filled": "full", "hollow": "none", "half-filled": "left", "half-hollow": "top"}
MARKERS = ("^", "v", "<", ">", "D", "d", "p", "h", "H", "*", "X", "P", "o", "s", "8")
PUBLISHED = {"color": "none", "marker": "D", "markeredgecolor": "black", "markersize": 5}
NOTE = {"fontsize": 7.5, "style": "italic", "color": "#444444"}
STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.12,  # a font may be wider than the one it is laid out with
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "flexibility",  # the same figure gives the same file
    "svg.fonttype": "none",  # text stays text: searchable, and readable aloud
}


NARROW = 4.2  # inches: what a telephone shows without making letters smaller
LETTERS = 20  # of a line of a row's name there


def width(wide: bool, inches: float) -> float:
    return inches if wide else NARROW


def wrapped(name: str, wide: bool) -> str:
    """A row's name, in lines where the figure is narrow."""
    return name if wide else textwrap.fill(name, LETTERS)


def marked(implementations: Iterable[str]) -> dict[str, dict]:
    """{implementation: how it is drawn}: in its framework's colour, and with a mark that no other of them has there."""
    found: dict[str, dict] = {}
    used: dict[Look, int] = {}
    for name in dict.fromkeys(implementations):
        each = look(name)
        number = used[each] = used.get(each, -1) + 1
        shapes = [each.marker, *(marker for marker in MARKERS if marker != each.marker)]
        shape = {"color": each.color, "marker": shapes[number // 2 % len(shapes)]}
        found[name] = shape | fill(number % 2, each.color)
    return found


def fill(number: int, color: str) -> dict:
    """How the markers of one of several that share a colour and a shape are filled: the words for it are FILLS' keys, in order."""
    style = list(FILLS.values())[number % len(FILLS)]
    if style == "full":
        return {**EDGE}
    ground = {"mfc": "white"} if style == "none" else {"fillstyle": style, "mfcalt": "white"}
    return {**ground, "markeredgecolor": color, "markeredgewidth": 1.5}


def span(axis: Axes, low: float, high: float, at: float, color: str, upright: bool = False) -> None:
    """An interval: a broad bar in a row's colour, and a line in it that is seen on any ground."""
    ends, place = [low, high], [at, at]
    for drawn in ({"color": color, "lw": 4, "alpha": 0.35}, {"color": "#333333", "lw": 0.9}):
        axis.plot(*((place, ends) if upright else (ends, place)), zorder=1.5, **drawn)


def hover(artist: Artist, text: str) -> None:
    """Let a point say what it is where the mouse rests on it, and to a screen reader."""
    texts = artist.get_figure(root=True).__dict__.setdefault("hovers", [])
    artist.set_gid(f"hover-{len(texts)}")
    texts.append(text)


def svg(figure: plt.Figure) -> str:
    """A figure as SVG, without a date, so that equal figures are equal files."""
    stream = io.StringIO()
    with plt.rc_context(STYLE):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    plt.close(figure)
    found = _rounded(_numbered(stream.getvalue()))
    for number, text in enumerate(figure.__dict__.get("hovers", [])):
        group = f'<g id="hover-{number}">'
        found = found.replace(group, f"{group}<title>{escape(text)}</title>", 1)
    return found


def _rounded(text: str) -> str:
    """With places to a thousandth of a point, which nobody sees: the last of the six digits that matplotlib writes differs now
    and then between two layouts of the same figure. What is written in it, and not of it, stays."""
    return re.sub(
        r"<[^!>]*>",
        lambda tag: re.sub(r"-?\d+\.\d{4,}", lambda found: f"{float(found[0]):z.3f}", tag[0]),
        text,
    )


NAME = r"\b[hmp][0-9a-f]{10}\b"  # as matplotlib hashes a hatch, a marker, a clip path


def _numbered(text: str) -> str:
    """With what a figure refers to by its number in it: matplotlib hashes also digits that no file shows, and the last
    of them differs between CPUs (NumPy's logarithm by AVX-512 and by AVX2)."""
    names = re.findall(rf'(?:\bid="|#)({NAME})', text)
    number = {name: f"{name[0]}{at}" for at, name in enumerate(dict.fromkeys(names))}
    return re.sub(rf'(\bid="|#)({NAME})', lambda found: found[1] + number[found[2]], text)


def look(implementation: str) -> Look:
    return LOOKS.get(implementation.split("/")[0], OTHER)


def three_digits(value: float) -> str:
    return f"{value:#.3g}".removesuffix(".")


def framework_legend(
    figure: plt.Figure, cells: pd.DataFrame, *others: Line2D, wide: bool = True
) -> None:
    """Below the axes: the marker of every framework that has a number, then `others`."""
    measured = cells[cells["status"] == "ok"]["implementation"]
    looks = dict.fromkeys(map(look, measured))
    handles = [
        Line2D([], [], ls="", color=each.color, marker=each.marker, label=each.name, **EDGE)
        for each in looks
    ]
    if handles or others:
        figure.legend(
            handles=[*handles, *others], loc="outside lower center", ncols=6 if wide else 2
        )


def logarithmic(axis: Axes, way: str = "x") -> None:
    """A logarithmic axis, x or y, with plain numbers at 1, 2 and 5."""
    axis.set(**{f"{way}scale": "log"})
    own = getattr(axis, f"{way}axis")
    own.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
    own.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    own.set_minor_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.tick_params(axis=way, which="both", length=3)


def numbered(axis: Axes, label: str) -> None:
    """What the x axis shows and its numbers below each panel, also above others that share it."""
    axis.set_xlabel(label)
    axis.tick_params(axis="x", which="both", labelbottom=True)
