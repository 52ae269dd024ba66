"""How planning grows with the matrix: a table for generated matrices.

    python -m tests.scale [--cells 1000 3000 10000] [--processes 1 3]

A cell is one number of a table: benchmark x implementation x environment x phase x device. The matrix is that of two
of the repository's documents, the one about layers with as many more of them as it takes. Nothing is measured: results
are made up. `quick` measures the matrix of config/quick.yaml as it is.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import yaml

sys.path.insert(
    0, str(Path("scripts").resolve())
)  # of the repository, or of the copy that is planned
from measurement import machine
from measurement.record import SCHEMA_VERSION, write_sealed
from plan import configuration, matrix
from plan.jobs import Job
from plan.planner import Plan

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = "config/documents/tvm-lstm.yaml"
LAYER = "layer-128x128x128"
SAMPLES = 100


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


def make_project(folder: Path, cells: int, processes: int) -> Path:
    """A copy of the repository whose documents have about `cells` cells, all on the CPU."""
    copy_repository(folder)
    documents = ["stacked-lm", "tvm-lstm"]
    have = [cell for name in documents for cell in matrix.cells_of(name) if cell.device == "cpu"]
    a_layer = sum(cell.benchmark == LAYER for cell in have)
    document = yaml.safe_load((folder / DOCUMENT).read_text())
    for number in range(1000, 1000 + max(0, cells - len(have)) // a_layer):
        width = (32, 64, 128, 256)[number % 4]
        shape = {"features": width, "hidden": width, "layers": 1, "length": number, "batch": 64}
        document["benchmarks"][f"layer-64x{number}x{width}"] = shape
    (folder / DOCUMENT).write_text(yaml.safe_dump(document, sort_keys=False))
    protocol = {"processes": processes, "most_processes": processes}
    write_config(folder, {"documents": documents, "protocol": protocol})
    return folder


def write_config(folder: Path, config: dict) -> None:
    """scale.yaml, for cells of the CPU; environments are this interpreter."""
    here = {file.stem: sys.executable for file in (folder / "envs").glob("*.yaml")}
    settings = config | {"devices": ["cpu"], "interpreters": here}
    (folder / "scale.yaml").write_text(yaml.safe_dump(settings))


@dataclass
class Run:
    """What a command printed and took, with the processes that it started."""

    printed: str
    wall_s: float
    cpu_s: float  # the processor's own, whatever else runs
    peak_mib: float


def run(folder: Path, *command: str) -> Run:
    """Run a command of this interpreter to its end, with its own peak memory."""
    log, start = folder / "printed.txt", time.perf_counter()
    with open(log, "w") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)[:200]}\n{log.read_text()[-3000:]}")
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return Run(log.read_text(), wall, cpu, usage.ru_maxrss / 1024)


def snakemake(folder: Path, *arguments: str) -> Run:
    options = ["--cores", "2", "--configfile", "scale.yaml", *arguments]
    return run(folder, "-m", "snakemake", *options)


def pretend(folder: Path, config: str = "scale.yaml") -> None:
    """Make up the results of all jobs, and Snakemake's memory of them; then let it judge and list them."""
    run(folder, "-m", "tests.scale", "--pretend", config)
    options = ["--cores", "2", "--configfile", config, "--quiet", "all"]
    run(folder, "-m", "snakemake", *options, "--touch", "--forceall", "--", "measure")
    run(folder, "-m", "snakemake", *options)


def jobs(printed: str) -> dict[str, int]:
    """{rule: number of jobs} of Snakemake's table."""
    return {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.M)}


def record(job: dict, machine: dict, packages: dict) -> dict:
    """A record of status `ok` of a timing, a check or a training run."""
    wall = random.uniform(1e-3, 1e-2)
    identity = job["identity"]
    return {
        **{"schema_version": SCHEMA_VERSION, "kind": job["kind"], "status": "ok", "reason": ""},
        **{"identity": identity, "parts": job["parts"], "benchmark": job["benchmark"]},
        **{"protocol": job.get("protocol"), "threads": 2, "seed": 0},
        "warmup": [wall] * 10,
        "samples": [wall * random.uniform(1, 1.01) for _ in range(SAMPLES)],
        "faults": [0] * SAMPLES,
        "verification": {"errors": {"output": 1e-7}, "finished": True, "seconds": 0.5},
        "interference": {"wall_s": 1.0, "own_cpu_s": 2.0, "other_cpu_s": 0.0, "steal_s": 0.0},
        "setup": {"import_s": 1.0, "build_s": 1.0, "first_step_s": 3.0},
        "memory": {"process_peak_bytes": 2**30, "device_peak_bytes": None},
        "framework": {
            **{"framework": "A framework", "framework_version": "9.8.7", "build": {}},
            "settings": {"threads": 2},
        },
        "windows": 0,
        "check": {"status": "ok", "errors": {"output": 1e-7}, "gradient_error": None},
        "environment": {
            **{"environment": identity["environment"], "fingerprint": "0123abcd"},
            **{"builder": "venv", "status": "ok", "reason": "", "python": "3.11.7"},
            **{"pins": {"numpy": packages["numpy"]}, "packages": packages},
        },
        "corpus": None,
        "machine": machine,
        "load": {"before": [0, 0, 0], "after": [0, 0, 0]},
        "repository": None,
        "started": "2026-01-01T00:00:00Z",
        "seconds": 10.0,
    }


def pretend_here(config: str) -> None:
    """Make up the results of this folder's jobs, of as many processes as there may be."""
    settings = configuration.validated(yaml.safe_load(Path(config).read_text()))
    plan = Plan(settings, cores=2)
    fetched = {
        "dataset": "ptb",
        "source": "made up",
        "stand_in": False,
        "sha256": plan.corpus.sha256,
    }
    write_sealed(plan.corpus.source, fetched)
    facts = machine.facts()
    packages = {found.name: found.version for found in metadata.distributions()}
    made = set()

    def make_up(job: Job) -> None:
        if job.digest in made:
            return
        made.add(job.digest)
        for need in job.needs:
            make_up(need)
        told = job.told()
        result = {"status": "ok", "reason": "", "parts": job.parts}
        if "identity" in told:
            result = record(told, facts, packages)
        write_sealed(job.path, result)

    for name in settings["documents"]:
        jobs = [*plan.timings(name, plan.most(name)), *plan.convergences(name)]
        for each in plan.checkings(jobs):
            write_sealed(each.path, {"checks": [check.path for check in each.checks]})
        for job in jobs:
            make_up(job)


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


def figures(folder: Path) -> list[str]:
    """A row of the table, after its first columns."""
    planned = snakemake(folder, "-n")
    count = jobs(planned.printed)
    pretend(folder)
    plan_again, nothing = snakemake(folder, "-n"), snakemake(folder)
    for each in (plan_again, nothing):
        if "Nothing to be done" not in each.printed:
            sys.exit(each.printed[-3000:])
    return [
        *(f"{count[rule]:,}" for rule in ("check_implementation", "time_cell", "total")),
        *(
            f"{done.wall_s:.1f} ({done.cpu_s:.1f}), {done.peak_mib:.0f}"
            for done in (planned, plan_again, nothing)
        ),
    ]


def main() -> None:
    if sys.argv[1:2] == ["--pretend"]:
        return pretend_here(sys.argv[2])
    if sys.argv[1:2] == ["--count"]:
        return count_here(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, nargs="*", default=[1000, 3000, 10_000])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 3])
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; wall s (processor s), peak MiB")
    print("| cells | processes | checking | timings | jobs | plan | plan again | no-op run |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for cells in ["quick", *arguments.cells]:
        for processes in arguments.processes if cells != "quick" else ["quick"]:
            with tempfile.TemporaryDirectory(prefix="scale-") as name:
                folder = Path(name)
                if cells == "quick":
                    copy_repository(folder)
                    quick = yaml.safe_load((folder / "config/quick.yaml").read_text())
                    # Nothing here makes up a training run.
                    quick["overrides"]["cudnn-lstm-ptb"]["training"]["implementations"] = []
                    write_config(folder, quick)
                else:
                    make_project(folder, cells, processes)
                row = [
                    f"{cells:,}" if cells != "quick" else cells,
                    str(processes),
                    *figures(folder),
                ]
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
