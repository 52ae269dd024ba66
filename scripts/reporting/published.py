"""What the documents print: the files of config/published, with the line of every number.

A number stands in its file with the digits of its document and a power of ten for the unit: `15e3` is "15k",
`0.182e-3` is "0.182 ms". So the file tells how far each was rounded.
"""

from collections.abc import Iterable
from decimal import Decimal

import pandas as pd

from plan.reading import read_csv

KEY = ["benchmark", "implementation", "phase", "device"]
ABOUT = ["document", "line", *KEY, "over", "mark"]


def interval(printed: str) -> tuple[float, float]:
    """The numbers that are printed as `printed`: half a unit of its last digit to either side."""
    number = Decimal(printed)
    half = Decimal(5).scaleb(number.as_tuple().exponent - 1)
    return float(number - half), float(number + half)


def numbers(paths: Iterable[str]) -> pd.DataFrame:
    """A row a printed number, of all files: what it is about (`over`: the implementation that a speed-up is
    over; `mark`: what is known of how it came to be), `quantity`, `printed`, and `value`, `low` and `high` in SI units. Empty keys are empty strings."""
    # Read as it is validated: pandas takes some texts for nothing, and other things for line breaks.
    tables = [pd.DataFrame(read_csv(path), dtype=str).replace("", None) for path in paths]
    wide = pd.concat([pd.DataFrame(columns=ABOUT), *tables])
    quantities = [column for column in wide if column not in ABOUT]
    found = wide.melt(ABOUT, quantities, "quantity", "printed").dropna(subset="printed").fillna("")
    intervals = [interval(printed) for printed in found["printed"]]
    return found.assign(
        line=found["line"].astype(int),
        value=found["printed"].astype(float),
        low=[low for low, _ in intervals],
        high=[high for _, high in intervals],
    ).reset_index(drop=True)


def by_cell(paths: Iterable[str]) -> pd.DataFrame:
    """A row a cell: its first line, and a column a quantity."""
    found = numbers(paths)
    wide = found.pivot_table(index=KEY, columns="quantity", values="value", aggfunc="first")
    return wide.join(found.groupby(KEY)["line"].min()).reset_index()
