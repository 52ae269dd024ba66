"""The projects that are harmed, the seed, and the table of what became of them."""

import csv
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from .labs import LABS
from .trial import Lab, Outcome

TABLE = Path(__file__).resolve().parents[2] / "results" / "faults"


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Of all that is drawn at random."""
    given = request.config.getoption("--seed")
    request.config.stash[SEED] = given if given is not None else random.randrange(10**6)
    return request.config.stash[SEED]


SEED = pytest.StashKey[int]()
OUTCOMES = pytest.StashKey[list]()


@pytest.fixture(scope="session")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Lab]:
    """The project of a name, measured once."""
    made: dict[str, Lab] = {}

    def lab(name: str) -> Lab:
        if name not in made:
            made[name] = LABS[name](tmp_path_factory.mktemp(name) / "project")
        return made[name]

    return lab


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> list[Outcome]:
    return request.config.stash.setdefault(OUTCOMES, [])


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """The seed, and the table: its rows of this run beside those of earlier ones."""
    if outcomes := config.stash.get(OUTCOMES, []):
        write_table([outcome.row() for outcome in outcomes])
        terminalreporter.write_line(f"seed of the faults: {config.stash[SEED]} (--seed)")
        terminalreporter.write_line(f"table of the faults: {TABLE / 'faults.md'}")


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
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + ":--|" * 3 + "--:|" * 4 + ":--|"]
    lines += ["| " + " | ".join(cell(value) for value in row.values()) + " |" for row in rows]
    (TABLE / "faults.md").write_text("\n".join(lines) + "\n")


def cell(value: str) -> str:
    return value.replace("|", "\\|").replace("<", "&lt;")
