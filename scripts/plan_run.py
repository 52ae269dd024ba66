"""What is stale, and about how long it takes on this machine, from what earlier records took.

    python scripts/plan_run.py SNAKEMAKE [OPTION ...]      (the command that would do the run)
"""

import json
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

MEASURED = ("results/checks/", "results/records/")


def stale(command: list[str]) -> list[tuple[str, str]]:
    """(rule, first output) of every job that the command would run."""
    done = subprocess.run([*command, "--summary"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr or done.stdout)
    lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    header, rows = lines[0], [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]
    assert "plan" in header, f"an unknown Snakemake summary: {header}"
    return [(row["rule"], row["output_file"]) for row in rows if row["plan"] != "no update"]


def seconds(record: dict, batches: int) -> float:
    """Expected length of a job that left this record, at another number of batches."""
    samples = record.get("samples")
    if not samples:
        return record["seconds"]
    mean = statistics.mean(samples)
    return record["seconds"] + mean * (batches - len(samples) - len(record["warmup"]))


def main() -> None:
    command = sys.argv[1:]
    jobs = stale(command)
    protocol = json.loads(Path("results/context.json").read_text())["config"]["protocol"] if Path(
        "results/context.json"
    ).exists() else {"warmup_batches": 0, "timed_batches": 0}
    batches = protocol["warmup_batches"] + protocol["timed_batches"]
    counts, known, unknown = defaultdict(int), defaultdict(float), defaultdict(int)
    for rule, output in jobs:
        counts[rule] += 1
        path = Path(output)
        if output.startswith(MEASURED) and path.exists():
            known[rule] += seconds(json.loads(path.read_text()), batches)
        else:
            unknown[rule] += 1
    table = Table("rule", "stale", "known from earlier records", "without a record")
    for rule in counts:
        table.add_row(rule, str(counts[rule]), f"{known[rule] / 60:.1f} min", str(unknown[rule]))
    console = Console()
    console.print(table if jobs else "Nothing is stale.")
    for _, output in jobs:
        console.print(f"  {output}", highlight=False)


if __name__ == "__main__":
    main()
