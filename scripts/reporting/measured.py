"""What one machine has of all documents, as the first page, talks and the comparison of machines read it."""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from plan import matrix
from reporting import flexibility, style, words
from reporting.flexibility import Over
from reporting.layout import brief
from reporting.sections import OK, Tables, on_one_device
from stats import estimates

PHASES = {"training": "training", "forward": "inference"}
UNSURE = {"faster": "", "slower": "", "same": "", "undecided": " (undecided)"}
MOST_OF = 0.9  # of the measurements, how far their intervals reach


def two(value: float) -> str:
    """Two digits, for prose."""
    if value < 0.095:
        return f"{value:.2g}"
    if value < 0.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


class Measured:
    """What one machine has of all documents. `settings`: first_page in config/pages.yaml."""

    def __init__(self, parts: Iterable[tuple[Tables, Mapping]], machine: str, settings: Mapping):
        self.parts = [
            (tables.cells[tables.cells["machine"] == machine], about) for tables, about in parts
        ]
        self.machine, self.settings = machine, settings
        self.cells = pd.concat([cells for cells, _ in self.parts], ignore_index=True)
        self.ok = self.cells[self.cells["status"] == OK]

    def rows(self, benchmark: str, phase: str) -> pd.DataFrame:
        """Today's, on the CPU or else on the GPU."""
        return on_one_device(flexibility.lstms(self.cells, benchmark=benchmark, phase=phase))

    @cached_property
    def main(self) -> str:
        """The benchmark of the headline if it was measured; else any with operators; empty without."""
        if (named := self.settings["benchmark"]) in set(self.ok["benchmark"]):
            return named
        written = self.ok[self.ok["flexibility"].isin(flexibility.OPERATORS)]
        return next(iter(written["benchmark"]), "")

    @cached_property
    def costs(self) -> dict[str, flexibility.Cost | None]:
        """By phase, on the benchmark of the headline."""
        return {phase: flexibility.cost(self.rows(self.main, phase)) for phase in PHASES}

    @property
    def today(self) -> pd.DataFrame:
        """Today's versions on the benchmark of the headline."""
        return self.ok[(self.ok["benchmark"] == self.main) & (self.ok["generation"] == matrix.NOW)]

    def linked(self, over: Over, phase: str, benchmark: str = "", **more: str) -> str:
        """A ratio with its interval: a link to the explorer, whose hint says of what, where both are of one benchmark."""
        unsure = UNSURE[over.verdict] * math.isnan(over.low)
        ratio, _, interval = brief(over.ratio, over.low, over.high).partition(" ")
        interval = interval.replace(" ", "\N{NO-BREAK SPACE}")
        if over.baseline:
            view = {"benchmark": benchmark or self.main, "phase": phase, "machine": self.machine}
            address = urlencode(view | {"baseline": over.baseline} | more)
            ratio = f'[{ratio}](#{address} "{over.name} over {over.to}")'
        return f"{ratio} {interval}{unsure}".strip()

    def left_out(self, measured: pd.DataFrame) -> list[str]:
        """Frameworks that can be installed and were not run where these rows were measured."""
        same = {key: measured.iloc[0][key] for key in ("benchmark", "phase", "device")}
        left = flexibility.lstms(self.cells, "not-run", **same)
        named = {*left[left["install"] != ""]["framework"]} - {*measured["framework"]}
        return sorted(named - {style.OTHER.name})

    def defined(self, benchmark: str) -> Mapping:
        """A benchmark as its document has it; empty of an unknown one."""
        known = (about["document"]["benchmarks"] for _, about in self.parts)
        return next((own[benchmark] for own in known if benchmark in own), {})

    def shape(self, benchmark: str) -> str:
        """A benchmark in words."""
        found = self.defined(benchmark)
        return words.shape(found) if found else ""

    @property
    def name(self) -> str:
        """What a sentence calls the machine."""
        return words.short(words.machines([(self.machine, self.facts)])[self.machine], self.facts)

    @property
    def facts(self) -> Mapping:
        return next((each["facts"] for each in self.about() if each["facts"]), {})

    def has(self, document: str) -> bool:
        return any(about["name"] == document for _, about in self.parts)

    def about(self) -> Iterator[Mapping]:
        """What each document says of this machine."""
        for _, about in self.parts:
            yield from (each for each in about["machines"] if each["machine"] == self.machine)

    @property
    def days(self) -> str:
        """The first and the last day of its measurements."""
        days = {day for each in self.about() for day in each["days"]}
        return words.between(min(days), max(days)) if days else ""

    @property
    def current(self) -> str:
        """How many measurements were made in turns, if not all."""
        return self._turns(
            "{:,} [in turns](machine.md), the others process by process", "all process by process"
        )

    @property
    def in_turns(self) -> str:
        """The same where there is little room."""
        return self._turns("{:,} in turns", "none in turns")

    def _turns(self, some: str, none: str) -> str:
        now = self.ok["looks"].notna().sum()
        return f" ({(some if now else none).format(now)})" * bool(now < len(self.ok))

    @cached_property
    def reaches(self) -> list[float]:
        """How far each interval of a ratio to the fastest implementation reaches, relative; NaN where there is none."""
        found = []
        rows = self.ok[self.ok["flexibility"].notna()]  # products alone are no implementation
        for _, own in rows.groupby(["benchmark", "phase", "device"]):
            times = own.sort_values("wall_median_s")["process_medians_s"]
            ratios = (estimates.ratio([each], [times.iloc[0]]) for each in times.iloc[1:])
            found += [math.sqrt(each.high / each.low) - 1 for each in ratios]
        return found

    @property
    def within(self) -> float:
        """How far nine of ten of these intervals reach (NaN: there are none)."""
        known = [each for each in self.reaches if not math.isnan(each)]
        return float(np.quantile(known, MOST_OF)) if known else math.nan
