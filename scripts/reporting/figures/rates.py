"""GFLOP/s by benchmark."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from .style import EDGE, NOTE, STYLE, logarithmic, look, save

MARKERS = ("^", "v", "<", ">", "p", "h")  # of a framework's second implementation and later ones
CEILINGS = ("black", "#999999")


def rates(cells: pd.DataFrame, title: str, stem: Path) -> str:
    """GFLOP/s by benchmark, a line a benchmark, a marker an implementation, a bar a ceiling."""
    left_out = cells[cells["status"] == "not-run"]
    cells = cells[cells["status"] != "not-run"]
    measured = cells[cells["status"] == "ok"]
    benchmarks = list(dict.fromkeys(cells["benchmark"]))[::-1]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(9.5, 2 + 0.21 * len(benchmarks)))
        used = []
        groups = list(measured.groupby("implementation", sort=False))
        for position, (implementation, rows) in enumerate(groups):
            # Off the middle of its line by a little, so that equal rates do not hide each other.
            off = 0.08 * (position - (len(groups) - 1) / 2)
            each = look(implementation)
            if rows["family"].iloc[0] == "ceiling":
                drawn = {"marker": "|", "ms": 13, "color": CEILINGS[used.count(None) % 2], "mew": 2}
                used.append(None)
                off = 0
            else:
                variant = used.count(each)
                marker = MARKERS[(variant - 1) % len(MARKERS)] if variant else each.marker
                drawn = {"marker": marker, "color": each.color, "ms": 7, **EDGE}
                if variant % 2:  # every other one hollow
                    drawn |= {"mfc": "white", "markeredgecolor": each.color, "markeredgewidth": 1.4}
                used.append(each)
            axis.plot(
                rows["gflops"],
                rows["benchmark"].map(benchmarks.index) - off,
                ls="",
                label=rows["label"].iloc[0],
                **drawn,
            )
        for place, benchmark in enumerate(benchmarks):
            missing = cells[(cells["benchmark"] == benchmark) & (cells["status"] != "ok")]
            words = [
                f"{status}: {', '.join(group['label'])}"
                for status, group in missing.groupby("status", sort=False)
            ]
            where = {"xycoords": ("axes fraction", "data"), "va": "center"}
            axis.annotate("; ".join(words), (1.01, place), **where, **NOTE)
        axis.set_yticks(range(len(benchmarks)), benchmarks)
        axis.set_ylim(-0.8, len(benchmarks) - 0.2)
        axis.set_xlabel("GFLOP/s of the matrix products")
        logarithmic(axis)
        if not measured.empty:
            figure.legend(loc="outside lower center", ncols=5)
        figure.suptitle(title)
        if not left_out.empty:
            axis.set_title(
                f"not run under this protocol: {len(left_out)} cells on "
                f"{left_out['benchmark'].nunique()} shapes",
                loc="right",
                **(NOTE | {"fontweight": "normal"}),
            )
        save(figure, stem)
    if measured.empty:
        return f"{title}: no row was measured."
    best = measured[measured["family"] != "ceiling"].sort_values("gflops").iloc[-1]
    return (
        f"{title}: rates of {measured['implementation'].nunique()} implementations on "
        f"{measured['benchmark'].nunique()} shapes, at most {best['gflops']:.0f} GFLOP/s "
        f"({best['label']}, {best['benchmark']})."
    )
