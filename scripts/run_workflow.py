"""`make report`: a first look at one document with one process a cell, then at all, then all processes; each time
with pages. Where most of what a first look asks for is there, it is left out.

python scripts/run_workflow.py --configfile FILE [--config KEY=VALUE]

A lock that a killed run left is taken away, where no other run is alive in this folder.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

from measurement import machine
from plan import configuration
from plan.jobs import wanted
from plan.planner import Plan

LOCKS = Path(".snakemake/locks")
SCRIPTS = Path(__file__).resolve().parent


def stages(documents: list[str]) -> Iterator[tuple[str, list[str]]]:
    """What each stage is, and its settings: the first document alone, so that there is a page soon; all; all again."""
    first, *others = documents
    alone = [f"documents=[{first}]"]
    yield f"A first look at {first}: one process a cell.", ["preliminary=true", *alone]
    if others:
        yield f"Then {', '.join(others)}: one process a cell.", ["preliminary=true"]
    yield "Further processes, which say how sure the numbers are.", []


def worth_a_look(config: dict) -> bool:
    """Whether most of the timings that a configuration asks for are missing."""
    plan = Plan(config, cores=machine.usable_cores())
    timings = [job for document in config["documents"] for job in plan.timings(document)]
    return 2 * len(wanted(timings)) > len(timings)


def other_runs() -> list[int]:
    """The processes of Snakemake that run in this folder."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        command = [Path(part).name for part in process.info["cmdline"] or []][:3]
        if process.info["cwd"] == os.getcwd() and "snakemake" in command:
            found.append(process.info["pid"])
    return found


def require_alone() -> None:
    """Stop with one line where another run is alive in this folder; take away the lock of one that is not."""
    if others := other_runs():
        sys.exit(
            f"Another run is at work in this folder (process {others[0]}); wait for it, or end it."
        )
    shutil.rmtree(LOCKS, ignore_errors=True)  # what `snakemake --unlock` does


def closing() -> str:
    """What a run leaves: how many rows have a number, and where the pages are."""
    with open("results/cells.csv", newline="") as table:
        counts = Counter(row["status"] for row in csv.DictReader(table))
    said = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    return (
        f"Cells: {said}\nPages: results/report/index.html (and .md), all numbers: results/cells.csv"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", required=True)
    parser.add_argument("--config", nargs="*", default=[])
    arguments = parser.parse_args()
    require_alone()
    snakemake = Path(sys.executable).with_name("snakemake")
    command = [snakemake, "--cores", "all", "--rerun-incomplete", "--logger", "cells"]
    command += ["--configfile", arguments.configfile]
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}  # where the logger is found
    config = configuration.given(arguments.configfile, arguments.config)
    for said, settings in stages(config["documents"]):
        asked = [*arguments.config, *settings]
        if settings and not worth_a_look(configuration.given(arguments.configfile, asked)):
            continue
        print(said, flush=True)
        try:
            done = subprocess.run(
                [*command, *(["--config", *asked] if asked else [])], env=environment
            )
        except KeyboardInterrupt:
            sys.exit("\nStopped. Everything that was finished stays; the same command goes on.")
        if done.returncode:
            sys.exit(done.returncode)
        print(closing(), flush=True)


if __name__ == "__main__":
    main()
