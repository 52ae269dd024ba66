"""`make profile ROWS='pytorch/fused for training on stacked-lm'`: where the time of a row's batches goes, by perf.

A row is checked and timed first, as by any run, where it was not; then a further process of it is sampled while it runs batches,
of which no time is kept. What was seen lies in results/profiles/, beside the record that it explains, and pages show it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from commands.run_workflow import begin, make, options
from measurement import compiler_caches, machine, processes, supervisor
from measurement.record import read_json, write_json, write_sealed
from plan import configuration, environments, matrix
from plan.jobs import TimeJob
from plan.planner import Plan
from reporting import profiles

A_SECOND = 499  # samples, of each core; no multiple of what a timer ticks
SECONDS = 5.0
LISTED = 12
# oneDNN then writes down which of the code that it generates lies where.
NAMED = {"ONEDNN_JIT_PROFILE": "2", "DNNL_JIT_PROFILE": "2"}
PERF = "perf is not installed: on Debian and Ubuntu `apt install linux-perf`"


def chosen(plan: Plan, patterns: Sequence[str]) -> list[matrix.Measurement]:
    """The cells that some patterns name; a stop with one line where one names none."""
    known = [cell for name in plan.config["documents"] for cell in plan.cells(name)]
    for pattern in patterns:
        if not any(matrix.is_one_of([pattern], cell) for cell in known):
            close = configuration.near_row(pattern, known)
            sys.exit(f"ROWS: the configuration has no measurement like `{pattern}`{close}")
    return [cell for cell in known if matrix.is_one_of(list(patterns), cell)]


def sampled(job: dict, python: str, folder: str) -> list[dict]:
    """Run batches of a job below perf; -> shares of its functions. Raises OSError, with perf's own words, where that cannot
    sample."""
    names = ("ready", "control", "answer", "data", "jobs.json", "log", "result-0.json")
    ready, control, answer, data, orders, log, result = (os.path.join(folder, n) for n in names)
    os.mkfifo(control)
    os.mkfifo(answer)
    write_json(orders, [job | {"profiler": [ready, control, answer]}])
    variables = supervisor.worker_environment(
        *("time", job["threads"], job["identity"]["device"], job["benchmark"].get("departure")),
        *(job["workers"], job["benchmark"].get("isa")),
    )
    with open(log, "w", encoding="utf-8") as output:
        worker = subprocess.Popen(
            [python, "-m", "measurement.worker", orders, folder],
            **{"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output},
            env=variables | NAMED | compiler_caches.below(folder),
            preexec_fn=processes.die_with_parent,
        )
    map_of_code = Path(f"/tmp/perf-{worker.pid}.map")  # where such a map lies, by convention
    record = ["perf", "record", "--quiet", "--event", "cpu-clock", "--freq", str(A_SECOND)]
    record += ["--delay", "-1", "--control", f"fifo:{control},{answer}"]
    record += ["--pid", str(worker.pid), "--output", data]
    end = time.monotonic() + job["timeout_s"]
    try:
        while not os.path.exists(ready) and worker.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(record, job["timeout_s"])
            time.sleep(0.05)
        if worker.poll() is None:
            perf = subprocess.run(record, capture_output=True, text=True, timeout=job["timeout_s"])
            if perf.returncode:
                raise OSError(" ".join(perf.stderr.split())[:300])
        worker.wait(timeout=job["timeout_s"])
        if not os.path.exists(result):
            raise OSError("the process ended without a result")
        if (found := read_json(result))["status"] != "ok":
            raise OSError(found["reason"])
        command = ["perf", "report", "--input", data, "--stdio", "--quiet", "--no-children"]
        command += ["--sort", "dso,sym", "--field-separator", profiles.BETWEEN]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        made = map_of_code.read_text(encoding="utf-8").splitlines() if map_of_code.exists() else []
        if not (shares := profiles.shares(lines, profiles.Code(made))):
            raise OSError("perf took no sample")
        return shares
    except subprocess.TimeoutExpired:
        raise OSError(f"not finished after {job['timeout_s']:g} s (protocol.timeout_s)") from None
    finally:
        worker.kill()
        worker.wait()
        map_of_code.unlink(missing_ok=True)


def profiled(job: TimeJob, seconds: float) -> dict:
    """What a profile keeps of a row: {"record": the one that it explains, "seconds", "shares": profiles.shares'}"""
    order, _, refused = supervisor.prepared(job.told())
    if refused:
        raise OSError(f"{refused['status']}: {refused['reason']}")
    order.pop("compiled", None)
    order["protocol"] |= {"rounds": 1, "most_rounds": 1, "look_s": seconds}
    del order["turns"], order["looks"]
    environment = next(each for each in job.needs if each.kind == "environment")
    python = environments.python(environment.order)
    with tempfile.TemporaryDirectory() as folder:
        found = sampled(order, os.path.abspath(python), folder)
    return {"record": job.path, "seconds": seconds, "shares": found}


def show(console: Console, job: TimeJob, profile: dict) -> None:
    cell = job.cell
    heading = f"{cell.implementation} in {cell.environment}, {cell.phase} on {cell.benchmark}"
    table = Table("share", "library", "function", title=heading)
    for row in profile["shares"][:LISTED]:
        table.add_row(f"{100 * row['share']:.1f} %", row["library"], row["function"])
    console.print(table)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("rows", help="as in `overrides`, separated by commas")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of batches, at least")
    asked = parser.parse_args()
    if not shutil.which("perf"):
        sys.exit(PERF)
    begin(asked.parent)
    config = configuration.given(asked.configfile, asked.config)
    plan = Plan(config, cores=machine.usable_cores())
    patterns = [each.strip() for each in asked.rows.split(",")]
    jobs = [plan.timing(cell, 1) for cell in chosen(plan, patterns)]
    if missing := [job.path for job in jobs if not job.done()]:
        make(config, missing)  # checked first, as by any run
    console, failed = Console(highlight=False, soft_wrap=True), False
    for job in jobs:
        try:
            profile = profiled(job, asked.seconds)
        except OSError as problem:
            console.print(f"{job.cell.name}: no profile: {problem}", markup=False)
            failed = True
            continue
        write_sealed(profiles.beside(job.path), profile)
        show(console, job, profile)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
