"""What all figures share: colours and markers, type, files, axes, legends, and what a point says of itself."""

import io
import re
from typing import NamedTuple
from xml.sax.saxutils import escape

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib import ticker
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch


class Look(NamedTuple):
    """What a framework is called, and its colour."""

    name: str
    color: str


# Okabe & Ito (2008): eight colours that stay apart under the common colour deficiencies.
LOOKS = {
    "tensorflow": Look("TensorFlow", "#E69F00"),
    "pytorch": Look("PyTorch", "#0072B2"),
    "tvm": Look("TVM", "#009E73"),
    "onnxruntime": Look("ONNX Runtime", "#56B4E9"),
    "openvino": Look("OpenVINO", "#D55E00"),
    "keras": Look("Keras", "#CC79A7"),
    "lasagne": Look("Lasagne", "#F0E442"),
    "iree": Look("IREE", "#332288"),
    "jax": Look("JAX", "#882255"),
    "recurrent_cells": Look("recurrent_cells", "#117733"),
}
OTHER = Look("other", "#666666")
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


def span(axis: Axes, low: float, high: float, at: float, color: str) -> None:
    """An interval: a broad bar in a row's colour, and a line in it that is seen on any ground."""
    for drawn in ({"color": color, "lw": 4, "alpha": 0.35}, {"color": "#333333", "lw": 0.9}):
        axis.plot([low, high], [at, at], zorder=1.5, **drawn)


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


def framework_legend(figure: plt.Figure, cells: pd.DataFrame) -> None:
    """Below the axes: the colour of every framework that has a number."""
    looks = dict.fromkeys(map(look, cells[cells["status"] == "ok"]["implementation"]))
    marks = [Patch(color=each.color, label=each.name) for each in looks]
    figure.legend(handles=marks, loc="outside lower center", ncols=6)


def logarithmic(axis: Axes) -> None:
    """A logarithmic x axis with plain numbers at 1, 2 and 5."""
    axis.set_xscale("log")
    axis.xaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.tick_params(axis="x", which="both", length=3)
