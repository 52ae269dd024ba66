"""The first page's tables: what each kind of reader asks, answered by one machine's numbers."""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from measurement.precision import FLOAT32
from plan import matrix
from reporting import flexibility, tradeoff, words
from reporting.flexibility import Over
from reporting.layout import none, scientific, seconds, time_of
from reporting.measured import PHASES, Measured
from reporting.sections import error, variations

MOST_NAMED = 3  # of several that do equally well
SLOW_START_S = 1


@dataclass(frozen=True)
class Card:
    """A question of a kind of reader, and a table that answers it, in Markdown. `groups`: rows below a title of their own, or ""."""

    title: str
    about: str
    head: Sequence[str]
    groups: Mapping[str, Sequence[Sequence[str]]]
    points: Sequence[str] = ()


def way(name: str, framework: str) -> str:
    """An implementation's name where its framework is named already."""
    return name.removeprefix(f"{framework} ").removeprefix(f"{framework}, ")


def by_phase(found: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Rows of {name: {phase: what is said}}."""
    return [[name, *(said.get(phase, "–") for phase in PHASES)] for name, said in found.items()]


def _written(rows: pd.DataFrame, own: bool, shown: Container[str]) -> list[dict]:
    """A framework's rows that say what is written in it costs: the fastest of its operators and, where it has a fused kernel of
    its `own`, all that it compiles. Those that were shown of another phase are taken again."""
    known = [row for row in rows.to_dict("records") if row["flexibility"] in flexibility.WRITTEN]
    written = [row for row in known if row["flexibility"] in flexibility.OPERATORS or not own]
    written = [row for row in written if row["implementation"] in shown] or written[:1]
    return written + [row for row in known if own and row["flexibility"] == "compiled"]


def custom(measured: Measured) -> Card:
    """Custom cells: per framework, what is written and compiled over its own fused kernel, or else over the fastest of all; then
    what is generated, over the fastest fused kernel."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    generated, fastest = "Generated, over the fastest fused kernel", "Over the fastest"
    last: dict[str, dict[str, dict[str, str]]] = {generated: {}, fastest: {}}
    bases: dict[str, dict[str, str]] = {generated: {}, fastest: {}}  # what rows are divided by
    shown: set[str] = set()
    left: set[str] = set()

    for phase in PHASES:
        rows = measured.rows(measured.main, phase)
        if rows.empty:
            continue
        left.update(measured.left_out(rows))
        bases[fastest][phase] = rows.iloc[0]["name"]
        for framework, of_one in rows.groupby("framework", sort=True):
            fused = flexibility.own_kernel(of_one)
            title = f"{framework}, over {way(fused['name'], framework)}" if fused else fastest
            to = fused or rows.iloc[0].to_dict()
            group = (found if fused else last).setdefault(title, {})
            for row in _written(of_one, bool(fused), shown):
                shown.add(row["implementation"])
                name = way(row["name"], framework) if fused else row["name"]
                group.setdefault(name, {})[phase] = measured.linked(Over.of(row, to), phase)
        fused = flexibility.first(rows, [flexibility.FUSED])
        own = rows[rows["flexibility"] == flexibility.GENERATED].to_dict("records")
        for row in own if fused else ():
            said = last[generated].setdefault(f"{row['name']} ({_get(row)})", {})
            said[phase] = measured.linked(Over.of(row, fused), phase)
            bases[generated][phase] = fused["name"]
    package = "In your own program: `packages/recurrent_cells`."
    points = [package] * (not any("recurrent_cells" in name for name in last[generated]))
    groups = {title: by_phase(own) for title, own in found.items() if own}
    groups |= {
        f"{title} ({_named(bases[title])})": by_phase(own) for title, own in last.items() if own
    }
    if left:
        points.append(f"Not measured: {words.listed(sorted(left))}.")
    if groups and measured.has("flexible-yet-fast"):
        points.append("Cells other than the LSTM: [sLSTM, GRU and more](flexible-yet-fast.md).")
    about = "Times relative to what each heading names."
    return Card("I write my own cell", about, ["", "Training", "Inference"], groups, points)


def _named(bases: Mapping[str, str]) -> str:
    """What rows are divided by: one name where it is the same in all phases."""
    if len(set(bases.values())) == 1:
        return next(iter(bases.values()))
    return ", ".join(f"{name} in {PHASES[phase]}" for phase, name in bases.items())


def _get(row: Mapping, cell: str = "my_cell.py") -> str:
    """How to get what is recommended: a package, a kernel generated for a cell, or the source."""
    if row["install"] or row["flexibility"] == flexibility.GENERATED:
        return f"`{row['install'] or f'make cell CELL={cell}'}`"
    return f"source: `{matrix.implementation_file(row['implementation'])}`"


def _call(row: Mapping, number_format: str) -> str:
    """How to get it, and what to call for a model in a number format."""
    get = row["get"] if row["install"] else {}
    called = get.get("formats", {}).get(number_format) or get.get("use")
    return "; ".join(filter(None, [_get(row, "lstm"), called]))


def _aside(row: Mapping, number_format: str) -> str:
    """How to get a recommendation, and what it costs beside its time: its error against float64, start-up where it takes long,
    tuning and building a kernel."""
    off = error(row)
    once = tradeoff.once(row)
    start = tradeoff.start(row) - once
    said = [
        *([] if none(off) else [f"error {scientific(off)}"]),
        *([f"start-up {seconds(start)} s"] if start >= SLOW_START_S else []),
        *([f"tuning {seconds(once)} s"] if once else []),
    ]
    return "; ".join(filter(None, [_call(row, number_format), ", ".join(said)]))


def _in_float32(measured: Measured, benchmark: str, best: Mapping) -> list[list[str]]:
    """The fastest with a package of the same benchmark in float32, over the best in another format: a row, if it is no slower."""
    rows = measured.rows(measured.defined(benchmark).get("baseline", ""), "forward")
    for row in rows[rows["install"] != ""].head(1).to_dict("records"):
        over = replace(Over.of(row, best), baseline="")  # which is of another benchmark
        if over.verdict != "slower":
            return [[f"In float32, {over.name}", measured.linked(over, "forward")]]
    return []


def deploy(measured: Measured) -> Card:
    """What to install: the fastest of what has a package, whatever ties with it or is the next, then the fastest of all."""
    groups = {}
    for use in measured.settings["deploy"]:
        there = [name for name in use["benchmarks"] if len(measured.rows(name, "forward"))]
        found = measured.rows(there[0], "forward") if there else measured.ok[:0]
        rows = found.to_dict("records")
        packaged = [row for row in rows if row["install"]]
        if not packaged:
            continue
        sure = [row for row in packaged if row["interval"] == "confidence"]
        best = (sure or packaged)[0]
        number_format = measured.defined(there[0]).get("data_type", FLOAT32)
        said = [[f"{best['name']} ({_aside(best, number_format)})", time_of(best)]]
        over = [(row, Over.of(row, best)) for row in packaged if row is not best]
        ties = [(row, each) for row, each in over if each.verdict != "slower"]
        fastest = Over.of(rows[0], best)
        unsure = math.isnan(fastest.low)
        faster = not rows[0]["install"] and (fastest.verdict == "faster" or unsure)
        for row, each in ties[: MOST_NAMED - 1] or ([] if faster else over[:1]):
            name = f"{row['name']} ({_call(row, number_format)})"
            said.append([name, measured.linked(each, "forward", there[0])])
        if faster:
            name = f"{rows[0]['name']} (no package; {_aside(rows[0], number_format)})"
            said.append([name, measured.linked(fastest, "forward", there[0])])
        if number_format != FLOAT32:
            said += _in_float32(measured, there[0], best)
        if left := measured.left_out(found):
            said.append([f"Not measured: {words.listed(left)}", ""])
        shape, main = measured.shape(there[0]), measured.shape(measured.main)
        same = shape in (main, f"{main}, {number_format}")
        groups[use["to"] + f" ({shape})" * (not same)] = said
    about = (
        "The fastest with a package, ties, and what is faster without one, or the next: times relative to the first. "
        "Error: against float64."
    )
    return Card("I deploy", about, ["", "Inference"], groups)


def compiling(measured: Measured) -> Card:
    """By what is compiled: what each compiler makes of it, and after how many batches that pays."""
    said: dict[str, list[tuple[float, list[str]]]] = {}
    for gain in tradeoff.gains(measured.today):
        if gain.row["phase"] != "training" or gain.row["flexibility"] != "compiled":
            continue
        over = Over.of(gain.row, gain.other)
        if gain.batches:
            ends = words.between(*(f"{each:,}" for each in gain.batches))
            name, after = over.name, f"{ends} batch{'es' * (gain.batches[1] > 1)}"
        else:
            name = f"{over.name} (start-up {seconds(tradeoff.start(gain.row))} s)"
            after = "never" if gain.ratio.verdict == "faster" else "no gain shown"
        row = [name, measured.linked(over, "training"), after]
        said.setdefault(f"Over {over.to}", []).append((over.ratio, row))
    groups = {title: [row for _, row in sorted(found)] for title, found in said.items()}
    about = "Times relative to the same code uncompiled."
    return Card("Does compiling pay off?", about, ["", "Training", "Pays after"], groups)


def varied(measured: Measured) -> Card:
    """What else changes the time of the same code: a fused kernel with one thing changed, over itself."""
    fused, found = measured.settings["fused"], {}
    rows = flexibility.lstms(measured.cells, implementation=fused, device="cpu")
    rows = rows.drop_duplicates(["benchmark", "phase"])
    known = {(row["benchmark"], row["phase"]): row for row in rows.to_dict("records")}
    there = {benchmark for benchmark, _ in known}
    for benchmark in filter(there.__contains__, measured.settings["varied"]):
        own = measured.defined(benchmark)
        other = own.get("baseline", "")
        phases = [each for each in PHASES if {(benchmark, each), (other, each)} <= known.keys()]
        if not phases:
            continue
        called = variations.words({benchmark: own, other: measured.defined(other)}, benchmark)
        off = known[benchmark, phases[-1]]["output_error"]
        if "data_type" in own and not none(off):
            called += f" (error {scientific(off)})"
        for phase in phases:
            over = Over.of(known[benchmark, phase], known[other, phase])
            over = replace(over, name=called, baseline="")  # which is of another benchmark
            found.setdefault(called, {})[phase] = measured.linked(over, phase, benchmark)
    groups = {"": by_phase(found)} if found else {}
    name = next((row["name"] for row in known.values()), "")
    about = f"{name} with one thing changed, relative to itself, where freed memory is kept ([malloc](findings.md)). "
    about += "Other implementations: [analysis](analysis.md)."
    head = ["", "Training", "Inference"]
    return Card("What else changes the time?", about, head, groups, _operators(measured, there))


def _operators(measured: Measured, benchmarks: Container[str]) -> list[str]:
    """What operators take over the fused kernel of their framework where a setting of the process is another one."""
    found = []
    for benchmark in filter(benchmarks.__contains__, measured.settings["varied"]):
        departure = measured.defined(benchmark).get("departure")
        costs = flexibility.within(measured.rows(benchmark, "training")) if departure else {}
        for framework, (over, *_) in costs.items():
            if over.baseline.startswith(f"{measured.settings['fused']}@"):
                ratio = measured.linked(over, "training", benchmark)
                named = f"{framework}'s operators take {ratio} times as long as {way(over.to, framework)}"
                found.append(f"With {words.DEPARTURES[departure]}, {named} in training.")
    return found


def generations(measured: Measured, phase: str) -> Iterator[tuple[dict, dict]]:
    """The row of today's version and of the oldest, of each implementation that has both on the benchmark of the headline."""
    here = measured.ok[measured.ok["benchmark"] == measured.main].sort_values("environment")
    for _, own in here[here["phase"] == phase].groupby(["implementation", "device"], sort=False):
        now = own["generation"] == matrix.NOW
        if now.any() and not now.all():
            yield own[now].iloc[0].to_dict(), own[~now].iloc[0].to_dict()


def then(measured: Measured) -> Card:
    """What today's versions take over the oldest, by implementation, on the benchmark of the headline."""
    found: dict[str, dict[str, str]] = {}
    for phase in PHASES:
        for new, old in generations(measured, phase):
            if new["implementation"] not in measured.settings["then"]:
                continue
            version, year = new["framework_version"].partition("+")[0], old["generation"]
            name = f"{new['name']} {version} over {old['framework_version']} ({year})"
            over = Over.of(new, old)
            slower = " (slower)" * (over.verdict == "slower")
            said = f"{measured.linked(over, phase, versions='all')}{slower}"
            found.setdefault(name, {})[phase] = said
    groups = {"": by_phase(found)} if found else {}
    told = found and measured.has("timeline")
    points = ["All releases: [timeline](timeline.md)."] if told else []
    about = "Times relative to old versions, same workload."
    return Card("Then and now", about, ["", "Training", "Inference"], groups, points)


ALL = (custom, deploy, compiling, varied, then)
