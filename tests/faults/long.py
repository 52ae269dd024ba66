"""A document in full shapes, measured twice: without faults, and with some at random moments. The cells that are ok and
the verdicts must be the same.

    python -m tests.faults.long FOLDER [--document stacked-lm] [--rows PATTERN ...] [--faults 30] [--seed N]

FOLDER gets both runs, and one that was broken off goes on there. Prints a table of the faults, and exits with 1 if
cells differ or `make compare` sees a regression.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
from measurement import machine  # noqa: E402
from tests.scale import copy_repository  # noqa: E402

from .trial import ALONE, SNAKEMAKE, Trial  # noqa: E402

CONFIG = "faults.yaml"
COMMAND = (
    *(f'"{sys.executable}" -c "{ALONE}" && exec env PYTHONPATH=scripts "{SNAKEMAKE}"',),
    *("--cores all --rerun-incomplete --logger cells --configfile", CONFIG, "-- {targets}"),
)


def worker_killed(run: Trial) -> None:
    end(run.of("worker time") + run.of("worker checking"))


def supervisor_killed(run: Trial) -> None:
    end(run.of("supervisor time") + run.of("supervisor checking"))


def snakemake_killed(run: Trial) -> None:
    end(run.of("snakemake"))


def interrupted(run: Trial) -> None:
    os.killpg(run.running.pid, signal.SIGINT)


def power_failure(run: Trial) -> None:
    run.end_all()


def suspended(run: Trial) -> None:
    for process in run.of("worker time"):
        process.suspend()
        time.sleep(2)
        process.resume()


def record_damaged(run: Trial) -> None:
    """It is found when the run starts again."""
    files = sorted(run.path("results/records").rglob("*.json"))
    if files:
        file = run.random.choice(files)
        content = file.read_bytes()
        file.write_bytes(content[: run.random.randrange(len(content))])
        run.harms(file)
    end(run.of("snakemake"))


def end(processes: list) -> None:
    for process in processes:
        process.kill()


FAULTS: tuple[Callable[[Trial], None], ...] = (
    *(worker_killed, supervisor_killed, snakemake_killed, interrupted, power_failure),
    *(suspended, record_damaged),
)


def project(folder: Path, document: str, rows: list[str], draw: random.Random) -> Trial:
    """A copy of the repository in a folder, unless it is there, with its run."""
    if not folder.exists():
        folder.mkdir(parents=True)
        copy_repository(folder)
        (folder / ".environments").symlink_to((ROOT / ".environments").resolve())
        config = yaml.safe_load((ROOT / "config/quick.yaml").read_text())
        if rows:
            config["overrides"][document]["implementations"] = rows
        config |= {"documents": [document], "devices": ["cpu"]}
        (folder / CONFIG).write_text(yaml.safe_dump(config))
    target = f"results/manifests/{document}-{machine.facts()['machine']}.json"
    return Trial(folder, targets=(target,), command=COMMAND, random=draw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--document", default="stacked-lm")
    parser.add_argument(
        "--rows", nargs="*", default=[], help="those of the quick protocol, if none"
    )
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    print(f"seed: {arguments.seed}", flush=True)
    folders = [arguments.folder.resolve() / name for name in ("without", "with")]
    without, harmed = (project(each, arguments.document, arguments.rows, draw) for each in folders)
    start = time.monotonic()
    without.run_through(patience_s=None)
    if without.running.returncode:
        sys.exit(f"the run without faults failed:\n{without.printed}")
    seconds = time.monotonic() - start
    print(f"without faults: {seconds:.0f} s, {len(without.ok_cells())} cells ok", flush=True)

    met: Counter = Counter()
    lost: list[str] = []
    start = time.monotonic()
    pause_s = max(4.0, min(seconds, 600) / arguments.faults)
    harmed.start()
    while met.total() < arguments.faults:
        time.sleep(draw.uniform(0, 2 * pause_s))
        if harmed.running.poll() is not None:
            if harmed.running.returncode == 0:
                print("the run was over before all faults had come", flush=True)
                break
        else:
            harmed.note()
            fault = draw.choice(FAULTS)
            fault(harmed)
            met[fault.__name__] += 1
            print(f"{time.monotonic() - start:6.0f} s: {fault.__name__}", flush=True)
            time.sleep(2)  # what ends with another process looks at it once a second
        lost += harmed.lost()
        if harmed.running.poll() is not None:
            harmed.harmed.clear()
            harmed.start()
    while harmed.wait(patience_s=None):
        harmed.start()
    print(f"with faults: {time.monotonic() - start:.0f} s, {len(harmed.ok_cells())} cells ok")
    for name, number in sorted(met.items()):
        print(f"  {number:3d} {name}")
    same = without.ok_cells() == harmed.ok_cells()
    print(f"lost results: {len(lost)}; the same cells are ok: {same}")
    compare = [sys.executable, "scripts/compare_runs.py", "--fail"]
    compared = subprocess.run(
        [*compare, *(str(each / "results") for each in folders)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    print(compared.stdout.partition("\n\n")[0] + compared.stderr)
    sys.exit(bool(lost) or not same or compared.returncode)


if __name__ == "__main__":
    main()
