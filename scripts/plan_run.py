"""What is stale, and about how long it takes on this machine, from what earlier records took.

python scripts/plan_run.py SNAKEMAKE [OPTION ...]      (the command that would do the run)
"""

import re
import statistics
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from measurement.record import read_json

MEASURING = {
    "check_implementation": "results/checks",
    "time_cell": "results/records",
    "train_implementation": "results/training",
}


def stale(command: list[str]) -> dict[str, list[str]]:
    """{rule: outputs} of everything that the command would make again."""
    done = subprocess.run([*command, "--summary"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr or done.stdout)
    lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    table = pd.DataFrame(lines[1:], columns=lines[0])
    table = table[table["plan"] != "no update"]
    return table.groupby("rule")["output_file"].apply(list).to_dict()


def seconds(path: Path) -> float | None:
    """What the job behind an earlier record took; None without one, or if it took none."""
    record = read_json(str(path)) if path.exists() else {}
    return record["seconds"] if record.get("status") == "ok" else None


def estimate(outputs: Iterable[str], folder: str) -> tuple[float, int]:
    """(seconds, jobs without an earlier record). A job without one is expected to take the median of
    its own implementation's earlier ones, or of all, on this machine."""
    earlier = {path: seconds(path) for path in Path(folder).rglob("*.json")}
    known = {path: value for path, value in earlier.items() if value is not None}
    total, unknown = 0.0, 0
    for path in map(Path, outputs):
        if path in known:
            total += known[path]
            continue
        unknown += 1
        like = [value for other, value in known.items() if other.parent == path.parent]
        if like or known:
            total += statistics.median(like or known.values())
    return total, unknown


def main() -> None:
    pending = stale(sys.argv[1:])
    console = Console()
    if not pending:
        console.print("Nothing is stale.")
        return
    table = Table("rule", "stale", "of these never run here", "expected")
    total = 0.0
    for rule, outputs in pending.items():
        if rule in MEASURING:
            expected, unknown = estimate(outputs, MEASURING[rule])
            total += expected
            table.add_row(rule, str(len(outputs)), str(unknown), f"{expected / 60:.1f} min")
        else:
            table.add_row(rule, str(len(outputs)), "", "")
    console.print(table)
    for rule in MEASURING:
        for output in sorted(pending.get(rule, [])):
            console.print("  " + re.sub(r"^results/", "", output), highlight=False)
    console.print(
        f"Checks, timings and training: about {total / 60:.0f} minutes, if the protocol is that of the earlier "
        "records."
        if total
        else "No earlier record: how long it takes is not known."
    )
    if "judge_precision" in pending:
        console.print("Not counted: further processes of cells whose intervals turn out too wide.")


if __name__ == "__main__":
    main()
