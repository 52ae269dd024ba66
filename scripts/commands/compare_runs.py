"""Two results folders side by side, or archives of `make pack`, a cell against itself: what became slower, faster, or stopped
working.

Exit status: 0; with --fail, 1 if a cell became slower or lost its number, if all became much slower, or if no cell can be
judged; 2 if a folder cannot be compared.
"""

import argparse
import itertools
import sys
from collections.abc import Container, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from commands import unable
from measurement import quiet
from plan.listing import NOT_YET
from plan.matrix import NOT_RUN
from reporting import packs, page, results
from stats import changes, clean, samples
from stats.samples import measured

SHIFTED = 1.2
"""Times as long, of the middle unchanged row: days of one virtual machine differ by up to 1.1."""
TEMPLATES = Path(__file__).resolve().parents[2] / "report"


@dataclass
class Run:
    """One results folder: its rows by the cell's name, and the records of the cells that have a number."""

    name: str
    parts: list[results.Part]
    cells: pd.DataFrame  # status and reason of a cell, by its name
    records: dict[str, list[dict]]  # by the cell's name; those that its number is made of
    times: dict[str, samples.Times]  # by the cell's name; what its processes took

    @property
    def machines(self) -> list[str]:
        return list(dict.fromkeys(part.machine for part in self.parts))

    @property
    def documents(self) -> list[str]:
        return [part.manifest["document"] for part in self.parts]

    @property
    def asked(self) -> set[str]:
        """Its documents, and those that its configuration asks for, which an interrupted run may not have reached."""
        configured = (part.manifest["config"].get("documents", []) for part in self.parts)
        return {*self.documents, *itertools.chain(*configured)}

    @property
    def left_out(self) -> pd.Index:
        """The cells that its configuration leaves out; not those that it did not measure yet."""
        not_yet = self.cells["reason"].str.startswith(NOT_YET, na=False)
        return self.cells.index[(self.cells["status"] == NOT_RUN) & ~not_yet]

    @property
    def environments(self) -> list[str]:
        measured = (group[0] for group in self.records.values())
        return list(dict.fromkeys(record["identity"]["environment"] for record in measured))

    def dates(self) -> str:
        days = sorted(record["started"][:10] for group in self.records.values() for record in group)
        return " to ".join(sorted({days[0], days[-1]})) if days else "no cell measured"

    def commits(self) -> list[str]:
        """Commits of the workflow that measured; `+`: with changes."""
        states = [record["repository"] for group in self.records.values() for record in group]
        return sorted({s["commit"][:10] + "+" * s["dirty"] for s in states if s})


def load(folder: Path, name: str | None = None) -> Run:
    """A results folder, which pages call by a name, or a stop with one line. It must be of one machine: a cell is compared with
    itself."""
    parts = [results.read(path) for path in results.manifests_in(folder)]
    if len({part.machine for part in parts}) > 1:
        names = ", ".join(dict.fromkeys(part.machine for part in parts))
        sys.exit(
            f"{folder} has results of several machines ({names}); compare folders with one machine each."
        )
    best = quiet.of_run(record for part in parts for record in part.records)
    found, records, times = {}, {}, {}
    for part in parts:
        own = {}
        for row in part.cells:
            bad = next((each for each in row.records if each["status"] != "ok"), None)
            status, reason = (
                (bad["status"], bad["reason"]) if bad else (row.status or "ok", row.reason)
            )
            found[row.cell.name] = {"status": status, "reason": reason}
            if status == "ok":
                own[row.cell] = clean.usable_records(row.records, best)
        records |= {cell.name: group for cell, group in own.items()}
        times |= {cell.name: took for cell, took in measured(own).items()}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["status", "reason"])
    return Run(name or str(folder), parts, table, records, times)


def statuses(a: Run, b: Run) -> pd.DataFrame:
    """Cells of both tables whose status differs: `status_a`, `status_b`, `reason` of the one that is not ok, and
    whether it is a `regression`, a number that is lost. Rows that a run left out by choice are none."""
    both = a.cells.join(b.cells[["status", "reason"]].add_suffix("_b"), how="inner")
    wanted = ~both.index.isin(a.left_out.union(b.left_out))
    changed = both[(both["status"] != both["status_b"]) & wanted].copy()
    changed["regression"] = changed["status"] == "ok"
    changed["reason"] = changed["reason_b"].where(changed["status_b"] != "ok", changed["reason"])
    return changed.rename(columns={"status": "status_a"})


def on_one_side(a: Run, b: Run) -> Iterator[dict]:
    """Cells with a number in one run that the other has no row of, though it has their document or was to measure it: lost
    numbers, where that is B."""
    for side, run, other in (("A", a, b), ("B", b, a)):
        shared = {
            row.cell.name
            for part in run.parts
            if part.manifest["document"] in other.asked
            for row in part.cells
        }
        for name in sorted((run.records.keys() & shared) - set(other.cells.index)):
            yield {"name": name, "side": side}


def of_one_side(a: Run, b: Run) -> Iterator[str]:
    """In words, what only one of the runs measured."""
    for side, run, other in (("A", a, b), ("B", b, a)):
        kinds = {
            "documents": [each for each in run.documents if each not in other.documents],
            "environments": [each for each in run.environments if each not in other.environments],
        }
        for kind, found in kinds.items():
            if found:
                yield f"{kind} in {side} only: {', '.join(found)}"
        if count := sum(name in run.records for name in other.left_out):
            yield f"rows with a number in {side} only, as the other run left them out: {count}"


def versions(run: Run, environments: Container[str]) -> dict[tuple[str, str], str]:
    """{(environment, package): version}, Python and all packages, of some environments."""
    return {
        (record["identity"]["environment"], package): version
        for group in run.records.values()
        for record in group[:1]
        if record["identity"]["environment"] in environments
        for package, version in (
            {"python": record["environment"]["python"]} | record["environment"]["packages"]
        ).items()
    }


def conditions(run: Run, documents: Container[str]) -> dict[str, str]:
    """What besides packages decides how fast a run of some documents is, in words."""
    parts = [part for part in run.parts if part.manifest["document"] in documents]
    names = {row.cell.name for part in parts for row in part.cells}
    records = [record for name, own in run.records.items() if name in names for record in own]
    corpora = [record["corpus"]["source"] for record in records if record["corpus"]]
    found = {
        "machine": ", ".join(run.machines),
        "threads": ", ".join(map(str, sorted({record["threads"] for record in records}))),
        "corpus": ", ".join(sorted(set(corpora))) or "none",
    }
    for part in parts:
        for key, value in sorted(part.manifest["protocol"].items()):
            found[f"{part.manifest['document']}: protocol.{key}"] = str(value)
    return found


def differing(a: dict, b: dict) -> list[tuple]:
    """(key, value in a, value in b) of all that differs; None where one has none."""
    keys = dict.fromkeys([*a, *b])
    return [(key, a.get(key), b.get(key)) for key in keys if a.get(key) != b.get(key)]


def _verdict(found: pd.DataFrame, regressions: list[str], shifted: float | None) -> str:
    """What became of the second run, in a few words."""
    if not regressions and found["adjusted"].isna().all():
        if found.empty:
            return "nothing to compare"
        return (
            "nothing can be decided, as no measurement has an interval in both runs; "
            "measure with more processes (`protocol.processes`)"
        )
    said = [f"all rows take {shifted:.2f} times as long in B"] if shifted else []
    if regressions:
        said.append(
            f"B is worse in {len(regressions)} measurement{'s' if len(regressions) > 1 else ''}"
        )
    if said:
        return "; ".join(said)
    better, same = ((found["verdict"] == verdict).sum() for verdict in ("improvement", "same"))
    words = f"B is better in {better} measurements" if better else "no measurement differs"
    return f"{words}; {same} of {len(found)} are the same, {len(found) - same - better} undecided"


def unchanged(a: Run, b: Run, name: str) -> bool:
    """Whether a cell is of the same packages and threads in both runs: what it tells is of the machine."""
    one, other = (
        (record["environment"]["python"], record["environment"]["packages"], record["threads"])
        for record in (run.records[name][0] for run in (a, b))
    )
    return one == other


def comparison(a: Run, b: Run, relevant: float) -> dict:
    """What report/comparison.md.j2 shows."""
    both = [name for name in a.records if name in b.records]
    alike = [
        name for name in both if a.records[name][0]["benchmark"] == b.records[name][0]["benchmark"]
    ]
    times = [{name: run.times[name] for name in alike} for run in (a, b)]
    same_machine = a.machines == b.machines
    most = changes.SCATTER_OF_DAYS if same_machine else changes.SCATTER_OF_MACHINES
    level = changes.level(*times, [name for name in alike if unchanged(a, b, name)], most)
    found = changes.ranked(changes.changes(*times, relevant, level))
    changed, one_side = statuses(a, b), list(on_one_side(a, b))
    lost = [
        *changed.index[changed["regression"]],
        *(row["name"] for row in one_side if row["side"] == "A"),
    ]
    regressions = [*found.loc[found["verdict"] == "regression", "cell"], *lost]
    shifted = level.ratio if level and same_machine and level.ratio > SHIFTED else None
    return {
        "verdict": _verdict(found, regressions, shifted),
        "shifted": shifted,
        "a": a,
        "b": b,
        "relevant": relevant,
        "cells": found.to_dict("records"),
        "counts": {verdict: int((found["verdict"] == verdict).sum()) for verdict in changes.ORDER},
        "decidable": bool(found["adjusted"].notna().any()),
        "level": level,
        "most_scatter": most,
        "mean_ratio": float(np.exp(np.log(found["ratio"]).mean())) if alike else None,
        "statuses": changed.reset_index(names="name").to_dict("records"),
        "lost": len(lost),
        "one_side": one_side,
        "only": list(of_one_side(a, b)),
        "redefined": [name for name in both if name not in alike],
        "conditions": differing(conditions(a, b.documents), conditions(b, a.documents)),
        "packages": differing(versions(a, b.environments), versions(b, a.environments)),
        "regressions": regressions,
    }


def _folder(given: Path, stack: ExitStack) -> Path:
    return stack.enter_context(packs.unpacked(given)) if given.is_file() else given


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a", type=Path, metavar="A", help="results folder or archive: the baseline")
    parser.add_argument(
        "b", type=Path, metavar="B", help="results folder or archive to compare with it"
    )
    parser.add_argument(
        "--relevant", type=float, default=5, help="smallest change that matters (%%)"
    )
    parser.add_argument("--fail", action="store_true", help="exit status 1 for anything worse in B")
    parser.add_argument("--output", type=Path, help="file to write to instead of the terminal")
    arguments = parser.parse_args()
    try:
        with ExitStack() as stack:
            runs = [load(_folder(each, stack), str(each)) for each in (arguments.a, arguments.b)]
    except SystemExit as problem:
        unable(problem.code)
    found = comparison(*runs, arguments.relevant / 100)
    text = page.environment(TEMPLATES).get_template("comparison.md.j2").render(found)
    if arguments.output:
        try:
            arguments.output.write_text(text, encoding="utf-8")
        except OSError as error:
            unable(f"{arguments.output} cannot be written: {error.strerror}.")
    else:
        sys.stdout.write(text)
    if found["regressions"]:
        print("Regressions:", *found["regressions"], sep="\n  ", file=sys.stderr)
    elif found["shifted"] or not found["decidable"]:
        print(found["verdict"], file=sys.stderr)
    else:
        return
    sys.exit(1 if arguments.fail else 0)


if __name__ == "__main__":
    main()
