"""The cost of flexibility, defined once: what an LSTM written from basic operators takes, over the fused kernel of the same
framework (nn.LSTM, cuDNN) and over the fastest implementation of all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from plan import matrix
from plan.matrix import NOW
from reporting import relations
from reporting.sections import OK, those
from reporting.style import look

OPERATORS = ("operators", "operators in a loop")
WRITTEN = (*OPERATORS, "compiled")  # ways to a cell of one's own in a framework
GENERATED, FUSED = "generated kernel", "fused kernel"


@dataclass(frozen=True)
class Over:
    """What one row of a table takes over another: the ratio of medians with its 95 % interval (NaN: too few processes)."""

    name: str
    to: str
    ratio: float
    low: float
    high: float
    verdict: str  # as in estimates.Ratio
    baseline: str  # what the other is called in the explorer's addresses

    @classmethod
    def of(cls, one: Mapping, other: Mapping) -> "Over":
        baseline = f"{other['implementation']}@{other['environment']}"
        if one["records"] == other["records"]:
            return cls(one["name"], other["name"], 1.0, 1.0, 1.0, "same", baseline)
        return cls(one["name"], other["name"], *relations.over(one, other), baseline)


@dataclass(frozen=True)
class Cost:
    """Of one machine, benchmark, device and phase. `least` and `most`: the fastest and the slowest row of operators over the
    fastest of all; `within`: by framework, its fastest and its slowest
    row of operators over its fastest fused kernel; one where they are the same row."""

    fastest: Mapping
    least: Over
    most: Over
    within: dict[str, list[Over]]


def lstms(cells: pd.DataFrame, status: str = OK, **equal: object) -> pd.DataFrame:
    """The measured rows (or those of another status) of today's versions that are an LSTM, or another cell, of those whose
    columns are equal to these; the fastest first, with `framework`, `get`, how to get it (of the configuration), and of this
    `install`, the command that installs it (empty: there is no package)."""
    found = those(cells[cells["flexibility"].notna()], status=status, generation=NOW, **equal)
    found = found.sort_values("wall_median_s", kind="stable")
    known = {each["implementation"]: each.get("get", {}) for each in matrix.implementations()}
    get = [known.get(name, {}) for name in found["implementation"]]
    return found.assign(
        framework=[look(name).name for name in found["implementation"]],
        get=get,
        install=[each.get("install", "") for each in get],
    )


def first(rows: pd.DataFrame, levels: Iterable[str]) -> Mapping | None:
    """The fastest of some levels."""
    own = rows[rows["flexibility"].isin([*levels])]
    return None if own.empty else own.iloc[0].to_dict()


def own_kernel(rows: pd.DataFrame) -> Mapping | None:
    """The fastest fused kernel of one framework's rows. One that is no part of the framework is not its own."""
    return first(rows[rows["install"] != ""], [FUSED])


def within(rows: pd.DataFrame) -> dict[str, list[Over]]:
    """{framework: its operators, the fastest and the slowest, over its fastest fused kernel} of the frameworks that have both."""
    found = {}
    for framework, own in rows.groupby("framework", sort=True):
        written = own[own["flexibility"].isin(OPERATORS)].to_dict("records")
        other = own_kernel(own)
        if written and other:
            ends = written[:1] if len(written) == 1 else [written[0], written[-1]]
            found[framework] = [Over.of(one, other) for one in ends]
    return found


def cost(rows: pd.DataFrame) -> Cost | None:
    """`rows`: lstms of one machine, benchmark, device and phase. None without operators, or with nothing to compare."""
    operators = rows[rows["flexibility"].isin(OPERATORS)]
    if operators.empty or len(rows) < 2:
        return None
    fastest = rows.iloc[0].to_dict()
    least, most = (Over.of(operators.iloc[place], fastest) for place in (0, -1))
    return Cost(fastest, least, most, within(rows))
