"""The work of planning a matrix whose results are made up (tests/workflow/test_scale.py)."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

sys.path.insert(
    0, str(Path("scripts").resolve())
)  # of the repository, or of the copy that is planned
from measurement import machine
from measurement.record import write_sealed
from plan import configuration
from plan.jobs import Job
from plan.matrix import Measurement
from plan.planner import Plan

ROOT = Path(__file__).resolve().parents[1]


def copy_repository(folder: Path) -> None:
    """The repository's files as they lie here, without its tests."""
    listed = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
    )
    for name in listed.splitlines():
        file, copy = ROOT / name, folder / name
        if not name.startswith("tests/") and (file.is_file() or file.is_symlink()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy, follow_symlinks=False)


def run(folder: Path, *command: str) -> str:
    """Run a command of this interpreter to its end; what it prints."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)[:200]}\n{done.stdout[-3000:]}")
    return done.stdout


def pretend(folder: Path, config: str) -> None:
    """Make up the results of all jobs, and Snakemake's memory of them; then let it judge and list them."""
    run(folder, "-m", "tests.scale", "--pretend", config)
    options = ["--cores", "2", "--configfile", config, "--quiet", "all"]
    run(folder, "-m", "snakemake", *options, "--touch", "--forceall", "--", "measure")
    run(folder, "-m", "snakemake", *options)


def jobs(printed: str) -> dict[str, int]:
    """{rule: number of jobs} of Snakemake's table."""
    return {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.M)}


def pretend_here(arguments: list[str]) -> None:
    """Make up the results of this folder's jobs, of as many processes as there may be."""
    from tests.unit import hand_made

    settings = configuration.validated(yaml.safe_load(Path(arguments[0]).read_text()))
    plan = Plan(settings, cores=2)
    fetched = {
        "dataset": "ptb",
        "source": "made up",
        "stand_in": False,
        "sha256": plan.corpus.sha256,
    }
    write_sealed(plan.corpus.source, fetched)
    facts, made = machine.facts(), set()

    def make_up(job: Job, document: str) -> None:
        if job.digest in made:
            return
        made.add(job.digest)
        for need in job.needs:
            make_up(need, document)
        told = job.told()
        result = {"status": "ok", "reason": "", "parts": job.parts}
        if "identity" in told:
            result = hand_made.record(Measurement.of(told["identity"]), 1, False, document)
            own = ("kind", "identity", "parts", "benchmark", "protocol")
            result |= {key: told.get(key) for key in own} | {"machine": facts}
        write_sealed(job.path, result)

    for name in settings["documents"]:
        jobs = [*plan.timings(name, plan.most(name)), *plan.convergences(name)]
        for each in plan.checkings(jobs):
            write_sealed(each.path, {"checks": [check.path for check in each.checks]})
        for job in jobs:
            make_up(job, name)


def count_here(arguments: list[str]) -> None:
    """Snakemake, and into work.json its work: calls of Python functions, and instructions run in the project's files."""
    from snakemake import cli

    folder, calls, steps = str(Path.cwd()), 0, 0

    def step(frame, event, argument):
        nonlocal steps
        steps += event == "opcode"
        return step

    def call(frame, event, argument):
        nonlocal calls
        calls += 1
        if frame.f_code.co_filename.startswith(folder):
            frame.f_trace_opcodes = True
            return step
        return None

    sys.settrace(call)
    try:
        cli.main(arguments)
    finally:
        sys.settrace(None)
        Path("work.json").write_text(json.dumps({"calls": calls, "steps": steps}))


if __name__ == "__main__":
    (pretend_here if sys.argv[1] == "--pretend" else count_here)(sys.argv[2:])
