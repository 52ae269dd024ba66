"""`make report`: a first look at one document with one process a cell, then at all, then all processes; each time
with pages. Where most of what a first look asks for is there, it is left out.

python scripts run_workflow --configfile FILE [--config KEY=VALUE] [--measure] [--limit SECONDS]

With --measure there are no pages: the records are listed, as far as they are there, and packed. With --limit the run is
stopped in time; the same command goes on.

The folder is this run's alone (plan/lease.py); a lock that a killed run left is taken away. However this process ends, all
that it has started ends with it, and it ends with the process that --parent names, `make`.
"""

import argparse
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import yaml

import bytecode  # noqa: F401 - before all others of ours
from measurement import machine, processes
from measurement.record import read_json, refused, write_sealed
from plan import configuration, copies, lease, listing
from plan.jobs import RESULTS, wanted
from plan.matrix import NOT_RUN, UNUSED
from plan.planner import Plan

STOPPED = "Stopped. Finished results are kept; run the same command to continue."
LOCKS = Path(".snakemake/locks")
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SCRIPTS = Path(__file__).resolve().parents[1]
ROOM_BYTES = 20_000  # a record


def stages(documents: list[str]) -> Iterator[tuple[str, list[str]]]:
    """What each stage is, and its settings: the first document alone, so that there is a page soon; all; all again."""
    first, *others = documents
    alone = [f"documents=[{first}]"]
    yield f"First results of {first}: one process per measurement.", ["preliminary=true", *alone]
    if others:
        yield f"Then {', '.join(others)}: one process per measurement.", ["preliminary=true"]
    yield "More processes, for intervals.", []


def worth_a_look(config: dict) -> bool:
    """Whether most of the timings that a configuration asks for are missing."""
    plan = Plan(config, cores=machine.usable_cores())
    timings = [job for document in config["documents"] for job in plan.timings(document)]
    return 2 * len(wanted(timings)) > len(timings)


def require_alone() -> None:
    """Stop with one line where another run is alive in this folder; take away the lock of one that is not."""
    lease.take()
    shutil.rmtree(LOCKS, ignore_errors=True)  # what `snakemake --unlock` does


def require_writable() -> None:
    """Stop with one line where no file can be written, or too little of one for a run to come anywhere."""
    for folder in ("results", ".snakemake"):
        try:
            os.makedirs(folder, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(ROOM_BYTES))
        except OSError as error:
            sys.exit(refused(f"cannot write {folder}: {error.strerror}"))


def stop(*_: object) -> None:
    """What a signal does, once."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(STOPPED)


def pause(*_: object) -> None:
    """What Ctrl-Z does: all that this process has started waits until `fg`, and so does it."""
    waiting = psutil.Process().children(recursive=True)
    for each in waiting:
        with suppress(psutil.NoSuchProcess):
            each.suspend()
    os.kill(os.getpid(), signal.SIGSTOP)
    for each in waiting:
        with suppress(psutil.NoSuchProcess):
            each.resume()


def begin(parent: int | None = None) -> None:
    """What a command does first that starts Snakemake: it answers signals, ends with its parent, has the folder for
    itself, and a folder of its own for temporary files, which goes with it."""
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)
    if signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, pause)
    processes.adopt()
    if parent:
        threading.Thread(target=follow, args=(parent,), daemon=True).start()
    require_alone()
    require_writable()
    have_cache()
    lease.use_temporary()


def options(description: str) -> argparse.ArgumentParser:
    """What all commands are asked by that measure by a configuration."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--configfile", required=True)
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--parent", type=int, help="stop when this process ends")
    return parser


def have_cache() -> None:
    """Give Snakemake and pip a folder for their caches where that of the user cannot be written."""
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    try:
        os.makedirs(usual, exist_ok=True)
        writable = os.access(usual, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        os.environ["XDG_CACHE_HOME"] = os.path.abspath(".snakemake/cache")


def follow(parent: int) -> None:
    """Stop when the process that started this one has ended, killed or not."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def counted(rows: Iterable[tuple[str, str]]) -> str:
    """How many cells have which status, in words, by the status and reason of each: neither those that the configuration
    left out nor those of a device that is not there."""
    counts = Counter(
        status
        for status, reason in rows
        if reason not in UNUSED.values() and (status != NOT_RUN or reason == listing.LATER)
    )
    said = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    return f"Cells: {said}\n"


def closing() -> str:
    """What a run leaves: how many rows have a number, and where the pages are."""
    with open("results/cells.csv", encoding="utf-8", newline="") as table:
        said = counted((row["status"], row["reason"]) for row in csv.DictReader(table))
    return f"{said}Pages: results/report/index.html (and .md), all numbers: results/cells.csv"


def end_all() -> None:
    """End everything that this process has started, and what that has."""
    below = psutil.Process().children(recursive=True)
    while below:
        for each in below:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(below, timeout=1)
        below = [
            each
            for each in psutil.Process().children(recursive=True)
            if each.is_running() and each.status() != psutil.STATUS_ZOMBIE
        ]


@contextmanager
def reaping(other_than: int) -> Iterator[None]:
    """Linux: take the exit status of adopted processes that end, or they stay as zombies; not that of `other_than`, which the
    caller waits for."""

    def reap(*_: object) -> None:
        with suppress(ChildProcessError, AttributeError):  # no children; no waitid
            peek = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while (found := os.waitid(os.P_ALL, 0, peek)) and found.si_pid != other_than:
                os.waitpid(found.si_pid, 0)

    signal.signal(signal.SIGCHLD, reap)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def snakemake(
    configfile: str,
    settings: Sequence[str] = (),
    targets: Sequence[str] = (),
    options: Sequence[str] = (),
    limit: float | None = None,
) -> int | None:
    """Run Snakemake to its end, for some results or for all -> its exit status; None where it did not end within `limit`
    seconds. However this ends, what runs is ended with it, at once, as nothing needs to end by itself; a terminal's
    Ctrl-C is answered here only."""
    command = [Path(sys.executable).with_name("snakemake"), "--cores", "all"]
    command += ["--rerun-incomplete", "--logger", "cells", "--configfile", configfile, *options]
    command += ["--config", *settings] if settings else []
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)}  # where the logger is found
    process = subprocess.Popen(
        [*command, "--", *targets],
        env=environment,
        start_new_session=True,
        preexec_fn=processes.die_with_parent,
    )
    try:
        with reaping(process.pid):
            status = process.wait(limit)
        if status < 0:
            said = f"Snakemake was ended by {signal.Signals(-status).name}."
            print(f"{said} Run the same command to continue.", file=sys.stderr)
        return status
    except subprocess.TimeoutExpired:
        return None
    finally:
        end_all()  # also what a Snakemake that was killed has left
        process.wait()
        with suppress(OSError):  # the terminal may be gone
            print("\r\x1b[K" * sys.stderr.isatty(), end="", file=sys.stderr)  # the line of progress
        shutil.rmtree(LOCKS, ignore_errors=True)


def make(config: dict, targets: Sequence[str]) -> None:
    """Have Snakemake make some results by a configuration that stands in no file; a stop with its status if it fails."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".yaml") as file:
        yaml.safe_dump(config, file)
        file.flush()
        if code := snakemake(file.name, targets=targets):
            sys.exit(code)


def pack(config: dict) -> str:
    """List and pack what was measured, all of it or not; -> what there is to say."""
    plan, rows = Plan(config, cores=machine.usable_cores()), []
    for document in config["documents"]:
        # Also further processes, of a run that made pages or asked for more.
        listed = listing.manifest(plan, document, plan.most(document))
        write_sealed(listing.path_of(plan, document), listed)
        for cell in listed["cells"]:
            records = [read_json(f"{RESULTS}/{name}") for name in cell["records"]]
            rows.append((cell["status"] or records[0]["status"], cell["reason"]))
    packed = subprocess.check_output([sys.executable, SCRIPTS, "pack_results"], text=True)
    return counted(rows) + packed


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--measure", action="store_true", help="no pages")
    parser.add_argument("--limit", type=float, help="seconds")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.limit if arguments.limit else None
    begin(arguments.parent)
    copies.take()  # for all stages
    targets, how = (["measure"], ["--keep-going"]) if arguments.measure else ([], [])
    config = configuration.given(arguments.configfile, arguments.config)
    status: int | None = 0
    for said, settings in stages(config["documents"]):
        asked = [*arguments.config, *settings]
        if settings and not worth_a_look(configuration.given(arguments.configfile, asked)):
            continue
        print(said, flush=True)
        left = end and max(0.0, end - time.monotonic())
        status = snakemake(arguments.configfile, asked, targets, how, left)
        if status is None:
            print(STOPPED, flush=True)
        elif status == 0 and not arguments.measure:
            print(closing(), flush=True)
        if status != 0:
            break
    if arguments.measure:
        print(pack(config), end="", flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
