"""How planning and reporting grow with the matrix: a table for generated matrices.

    python -m tests.scale [--cells 1000 3000 10000] [--processes 1 3]

A cell is one number of a table: benchmark x implementation x environment x phase x device. It has a check and,
for each process, a timing. The matrix is that of the repository's documents, the one about layers with as many more
of them as it takes. Nothing is measured: outputs are made up, and Snakemake is told that its jobs made them.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = "config/documents/tvm-lstm.yaml"
CELLS_OF_LAYER = 9  # implementations of a layer on a CPU, forward
CELLS_OF_MODEL = 114  # the other document
SAMPLES = 100


def copy_repository(folder: Path) -> None:
    """The repository's files as they lie here, without its tests."""
    listed = subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
    )
    for name in listed.splitlines():
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())


def make_project(folder: Path, cells: int, processes: int) -> Path:
    """A copy of the repository whose documents have about `cells` cells, all on the CPU."""
    copy_repository(folder)
    document = yaml.safe_load((folder / DOCUMENT).read_text())
    benchmarks = document["benchmarks"]
    for number in range(1000, 1000 + (cells - CELLS_OF_MODEL) // CELLS_OF_LAYER - len(benchmarks)):
        width = (32, 64, 128, 256)[number % 4]
        shape = {"features": width, "hidden": width, "layers": 1, "length": number, "batch": 64}
        benchmarks[f"layer-64x{number}x{width}"] = shape
    (folder / DOCUMENT).write_text(yaml.safe_dump(document, sort_keys=False))
    config = {
        "documents": ["stacked-lm", "tvm-lstm"],
        "devices": ["cpu"],
        "protocol": {"processes": processes},
        "interpreters": {file.stem: sys.executable for file in (folder / "envs").glob("*.yaml")},
    }
    (folder / "scale.yaml").write_text(yaml.safe_dump(config))
    return folder


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
    """Make up all outputs, and let Snakemake remember that its jobs made them."""
    options = ["--cores", "2", "--configfile", config, "--quiet", "all"]
    for _ in range(2):  # what a checkpoint decides comes second
        run(folder, "-m", "tests.scale", "--pretend", *options)


def jobs(printed: str) -> dict[str, int]:
    """{rule: number of jobs} of Snakemake's table."""
    return {name: int(number) for name, number in re.findall(r"^(\w+) +(\d+)$", printed, re.M)}


def record(job: dict, machine: dict, packages: dict) -> dict:
    """A record of status `ok` of a timing."""
    wall = random.uniform(1e-3, 1e-2)
    identity = job["identity"]
    return {
        **{"schema_version": 1, "kind": "time", "identity": identity, "status": "ok", "reason": ""},
        **{"benchmark": job["benchmark"], "protocol": job["protocol"], "threads": 2, "seed": 0},
        "warmup": [wall] * 10,
        "samples": [wall * random.uniform(1, 1.01) for _ in range(SAMPLES)],
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


def pretend_here(arguments: list[str]) -> None:
    """Snakemake, which makes up the outputs of all jobs instead of scheduling them, and remembers that it ran them.

    Those after a checkpoint are left: they are known when it has run.
    """
    from snakemake import cli
    from snakemake.scheduling.job_scheduler import JobScheduler

    sys.path.insert(0, str(ROOT / "scripts"))
    from measurement import machine

    facts = machine.facts()
    packages = {found.name: found.version for found in metadata.distributions()}

    def make_up(job) -> None:
        for output in job.output:
            made = {}
            if job.rule.name == "time_cell":
                made = record(json.loads(job.params.job), facts, packages)
            Path(output).parent.mkdir(parents=True, exist_ok=True)
            Path(output).write_text(json.dumps(made, indent=1))

    def schedule(scheduler: JobScheduler) -> bool:
        workflow, dag = scheduler.workflow, scheduler.workflow.dag
        workflow.iocache.deactivate()  # as before any job runs
        workflow.onsuccess(lambda log: None)  # its closing message reads what is made up

        async def finish() -> None:
            wanted = set(dag.needrun_jobs())
            checkpoints = [job for job in wanted if job.is_checkpoint]
            later = set(dag.bfs(dag.depending, *checkpoints)) - set(checkpoints)
            for job in (job for level in dag.toposorted() for job in level):
                if job in wanted - later:
                    make_up(job)
                    await workflow.persistence.finished(job)

        workflow.async_run(finish())
        return True

    JobScheduler.schedule = schedule
    cli.main(arguments)


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


def report_commands(folder: Path) -> tuple[list[str], list[str]]:
    """What the rules collect_records and render_report run."""
    sys.path.insert(0, str(ROOT / "scripts"))
    from plan import configuration

    here = Path.cwd()
    os.chdir(folder)
    config = configuration.validated(yaml.safe_load(Path("scale.yaml").read_text()))
    os.chdir(here)
    table, context = "results/cells.parquet", "results/context.json"
    collect = ["scripts/collect_records.py", "--config", json.dumps(config), "--parquet", table]
    collect += ["--context", context, "--csv", "results/cells.csv"]
    collect += ["--records", "results/records.zip"]
    render = ["scripts/render_report.py", "--cells", table, "--context", context]
    return collect, [*render, "--folder", "results/report"]


def figures(folder: Path, cells: int, processes: int) -> list[str]:
    """A row of the table."""
    make_project(folder, cells, processes)
    planned = snakemake(folder, "-n")
    count = jobs(planned.printed)
    pretend(folder)
    nothing = snakemake(folder, "-n")
    if "Nothing to be done" not in nothing.printed:
        sys.exit(nothing.printed[-3000:])
    collected, rendered = (run(folder, *command) for command in report_commands(folder))
    return [
        *(f"{number:,}" for number in (count["check_implementation"], processes, count["total"])),
        *(
            f"{done.wall_s:.0f} ({done.cpu_s:.0f}), {done.peak_mib:.0f}"
            for done in (planned, nothing, collected, rendered)
        ),
    ]


def main() -> None:
    if sys.argv[1:2] == ["--pretend"]:
        return pretend_here(sys.argv[2:])
    if sys.argv[1:2] == ["--count"]:
        return count_here(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[1000, 3000, 10_000])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 3])
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; wall s (processor s), peak MiB")
    print("| cells | processes | jobs | plan | no-op | collect | render |")
    print("|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for cells in arguments.cells:
        for processes in arguments.processes:
            with tempfile.TemporaryDirectory(prefix="scale-") as folder:
                print(f"| {' | '.join(figures(Path(folder), cells, processes))} |", flush=True)


if __name__ == "__main__":
    main()
