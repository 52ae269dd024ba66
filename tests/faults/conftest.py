"""The projects that are harmed, the seed, all trials, and the table of what became of them."""

import csv
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from measurement import machine

from .labs import LABS
from .trial import Fault
from .verdict import Verdict, attempt, row

TABLE = Path(__file__).resolve().parents[2] / "results" / "faults"
AT_ONCE = 4  # at most
SHOWN = 5  # kinds that took longest
SEED = pytest.StashKey[int]()
ROWS = pytest.StashKey[list]()
SECONDS = pytest.StashKey[float]()


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Of all that is drawn at random."""
    given = request.config.getoption("--seed")
    return request.config.stash.setdefault(
        SEED, random.randrange(10**6) if given is None else given
    )


@pytest.fixture(scope="session")
def verdicts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> Iterator[Callable[[Fault], list[Verdict]]]:
    """What became of each trial of a fault, which the table gets too. All trials of the faults that were chosen are begun, as
    many at once as there are cores, since half of what they take is waiting."""
    config, start, times = request.config, time.monotonic(), request.config.getoption("--times")
    chosen = [
        item.callspec.params["fault"]
        for item in request.session.items
        if "fault" in getattr(getattr(item, "callspec", None), "params", {})
    ]
    folder = tmp_path_factory.mktemp("faults")
    beside = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))  # processes with other tests
    pool = ThreadPoolExecutor(max(1, min(AT_ONCE, machine.usable_cores() // beside)))
    # Before all trials: these wait for them.
    labs = {
        name: pool.submit(make, folder / name)
        for name, make in LABS.items()
        if any(fault.lab == name for fault in chosen)
    }

    def trial(fault: Fault, number: int, place: Path) -> Verdict:
        return attempt(fault, labs[fault.lab].result(), place / str(number), str(seed))

    trials: dict[str, list[Future]] = {}
    for place, fault in enumerate(chosen):
        trials[fault.name] = [
            pool.submit(trial, fault, number, folder / f"{place}")
            for number in range(min(fault.times, times))
        ]

    def verdicts_of(fault: Fault) -> list[Verdict]:
        found = [each.result() for each in trials[fault.name]]
        config.stash.setdefault(ROWS, []).append(row(fault, found))
        return found

    yield verdicts_of
    pool.shutdown(cancel_futures=True)
    config.stash[SECONDS] = time.monotonic() - start


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """The seed, and the table: its rows of this run beside those of earlier ones."""
    if rows := config.stash.get(ROWS, []):
        write_table(rows)
        tried, seconds = sum(each["tried"] for each in rows), config.stash.get(SECONDS, 0.0)
        slow = sorted(rows, key=lambda row: row["seconds"], reverse=True)[:SHOWN]
        for line in (
            f"faults: {len(rows)} kinds, {tried} trials in {seconds:.0f} s; seed {config.stash[SEED]} (--seed)",
            "longest: " + ", ".join(f"{row['fault']} {row['seconds']} s" for row in slow),
            f"table of the faults: {TABLE / 'faults.md'}",
        ):
            terminalreporter.write_line(line)


def write_table(rows: list[dict]) -> None:
    """Bring faults.csv and faults.md up to date."""
    TABLE.mkdir(parents=True, exist_ok=True)
    file = TABLE / "faults.csv"
    known = {}
    if file.exists():
        with open(file, newline="") as stream:
            known = {row["fault"]: row for row in csv.DictReader(stream)}
    known |= {row["fault"]: {key: str(value) for key, value in row.items()} for row in rows}
    rows = sorted(known.values(), key=lambda row: row["group"])
    with open(file, "w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys(), restval="")
        writer.writeheader()
        writer.writerows(rows)
    rows = [{name: row[name] for name in row if name != "seconds"} for row in rows]
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + ":--|" * 3 + "--:|" * 4 + ":--|"]
    lines += ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows]
    (TABLE / "faults.md").write_text("\n".join(lines) + "\n")


def cell(value: str) -> str:
    return value.replace("|", "\\|").replace("<", "&lt;")
