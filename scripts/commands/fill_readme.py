"""`make example-pages` ends with it: the README's numbers, from the published example's table.

python scripts fill_readme: what stands between `<!--number: NAME-->` and `<!--/-->` becomes the number of that name.
"""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from plan import matrix
from reporting import sections
from stats import estimates

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
TABLE = ROOT / "report/example/cells.csv"
MARKED = re.compile(r"(<!--number: ([\w-]+)-->)(.*?)(<!--/-->)", re.S)
MODEL, LAYER = "stacked-lm", "flexible-lstm"
ZEN_5, ZEN_4, ZEN_3 = "x86_64-2c-9d9fe8", "x86_64-2c-f226a5", "x86_64-2c-eb8b11"
INTEL = "x86_64-2c-c5847f"
OPERATORS = "pytorch/fine-grained"
WRITTEN = ("operators", "operators in a loop")

Rows = pd.DataFrame


def table() -> Rows:
    """Results of current versions that are LSTMs or other cells, with `level` and `times`, as pages compare them."""
    rows = pd.read_csv(TABLE, low_memory=False)
    levels = {each["implementation"]: each.get("flexibility") for each in matrix.implementations()}
    rows["level"] = rows["implementation"].map(levels)
    rows = rows[rows["status"] == "ok"].copy()
    for name in ("process_medians_s", "looks"):
        rows[name] = rows[name].astype(object).map(json.loads, na_action="ignore")
    rows = pd.concat(sections.with_noise(own) for _, own in rows.groupby("document", sort=False))
    now = rows["environment"].map(matrix.generation) == matrix.NOW
    return rows[now & rows["level"].notna()].rename(columns={"process_medians_s": "times"})


def ratios(rows: Rows, machine: str, phase: str) -> list[tuple[pd.Series, estimates.Ratio]]:
    """Results of the model over the fastest, fastest first."""
    own = rows[(rows["machine"] == machine) & (rows["phase"] == phase)]
    own = own[own["benchmark"] == MODEL]
    fastest = own.nsmallest(1, "wall_median_s").iloc[0]
    found = [
        (row, estimates.ratio([row["times"]], [fastest["times"]])) for _, row in own.iterrows()
    ]
    return sorted(found, key=lambda each: each[1].ratio)


def _digits(number: float) -> str:
    return f"{number:.2f}" if number < 2 else f"{number:.1f}"


def shown(ratio: estimates.Ratio) -> str:
    """1.28 (1.23 to 1.33)"""
    if math.isnan(ratio.low):
        return f"{_digits(ratio.ratio)} (no interval)"
    return f"{_digits(ratio.ratio)} ({_digits(ratio.low)} to {_digits(ratio.high)})"


def _written(rows: Rows, phase: str, which: int) -> str:
    found = ratios(rows, ZEN_5, phase)
    return shown([ratio for row, ratio in found if row["level"] in WRITTEN][which])


def _operators(rows: Rows, machine: str) -> str:
    found = ratios(rows, machine, "forward")
    (ratio,) = (each for row, each in found if row["implementation"] == OPERATORS)
    return shown(ratio)


def _over_fused(rows: Rows, machine: str, benchmark: str = MODEL, of: str = OPERATORS) -> str:
    """PyTorch's operators, or other rows, over its fused kernel, in training."""
    own = rows[(rows["machine"] == machine) & (rows["phase"] == "training")]
    own = own[own["benchmark"] == benchmark].set_index("implementation")["times"]
    return shown(estimates.ratio([own[of]], [own["pytorch/fused"]]))


def _found(rows: Rows, name: str) -> estimates.Ratio:
    """A finding's ratio (config/claims.yaml) on Zen 5, as the page of findings has it."""
    (claim,) = (each for each in matrix.findings() if each["name"] == name)
    (sides,) = claim["ratios"].values()
    own = rows[(rows["machine"] == ZEN_5) & (rows["phase"] == claim["for"]["phase"])]

    def times(side: str) -> list:
        benchmark, names = sides[side]["benchmark"], sides[side]["implementation"]
        there = own["implementation"].isin([names] if isinstance(names, str) else names)
        return [[one] for one in own[there & (own["benchmark"] == benchmark)]["times"]]

    found = estimates.ratio_of_fastest(times("of"), times("to"))
    return estimates.Ratio(*found, estimates.compared(*found[1:]))


NUMBERS: dict[str, Callable[[Rows], str]] = {
    "over-nn-lstm-zen-5": lambda rows: _over_fused(rows, ZEN_5),
    "over-nn-lstm-zen-4": lambda rows: _over_fused(rows, ZEN_4),
    "layer-over-nn-lstm-zen-5": lambda rows: _over_fused(rows, ZEN_5, LAYER),
    "over-nn-lstm-intel": lambda rows: _over_fused(rows, INTEL),
    "operators-forward-least": lambda rows: _written(rows, "forward", 0),
    "operators-forward-most": lambda rows: _written(rows, "forward", -1),
    "operators-training-least": lambda rows: _written(rows, "training", 0),
    "operators-training-most": lambda rows: _written(rows, "training", -1),
    "pytorch-zen-5": lambda rows: _operators(rows, ZEN_5),
    "pytorch-zen-4": lambda rows: _operators(rows, ZEN_4),
    "pytorch-zen-3": lambda rows: _operators(rows, ZEN_3),
    "pytorch-intel": lambda rows: _operators(rows, INTEL),
    "default-malloc-zen-5": lambda rows: _over_fused(rows, ZEN_5, f"{MODEL}-default-malloc"),
    "compiled-zen-5": lambda rows: _over_fused(rows, ZEN_5, of="pytorch/compiled"),
    "malloc-training": lambda rows: shown(_found(rows, "thresholds-of-malloc")),
    "slstm-training": lambda rows: shown(_found(rows, "other-cell-costs-little")),
}


def filled(text: str, rows: Rows) -> str:
    """The text with every marked number as the table has it. Raises KeyError for an unknown name."""
    return MARKED.sub(lambda found: found[1] + NUMBERS[found[2]](rows) + found[4], text)


def main() -> None:
    before = README.read_text(encoding="utf-8")
    if (after := filled(before, table())) != before:
        README.write_text(after)


if __name__ == "__main__":
    main()
