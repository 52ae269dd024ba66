"""A document in full shapes, measured twice: without faults, and with some at random moments. The cells that are ok must
be the same, and what is concluded from them too: no claim may hold in one run and fail in the other, and no cell be
slower than the noise explains.

    python -m tests.faults.long FOLDER [--document stacked-lm] [--rows PATTERN,PATTERN] [--faults 30] [--seed N]

FOLDER gets both runs, and one that was broken off goes on there. Prints a table of the faults, and exits with 1 if
something differs.
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
from measurement.record import read_json  # noqa: E402
from stats.claims import FAILS, HOLDS  # noqa: E402
from tests.scale import copy_repository  # noqa: E402

from .trial import ALONE, SNAKEMAKE, Trial  # noqa: E402

CONFIG = "faults.yaml"
COMMAND = (
    *(f'"{sys.executable}" -c "{ALONE}" && exec env PYTHONPATH=scripts "{SNAKEMAKE}"',),
    *("--cores all --rerun-incomplete --logger cells --configfile", CONFIG, "-- {targets}"),
)
ENDING_S = 2  # what ends with another process looks at it once a second
RUNS = 5  # at most, to complete what the faults have left


def ended(run: Trial, *roles: str) -> bool:
    """Kill what has these roles; whether there was anything."""
    found = [process for role in roles for process in run.of(role)]
    for process in found:
        process.kill()
    return bool(found)


def worker_killed(run: Trial) -> bool:
    return ended(run, "worker time", "worker checking")


def supervisor_killed(run: Trial) -> bool:
    return ended(run, "supervisor time", "supervisor checking")


def snakemake_killed(run: Trial) -> bool:
    return ended(run, "snakemake")


def interrupted(run: Trial) -> bool:
    os.killpg(run.running.pid, signal.SIGINT)
    return True


def power_failure(run: Trial) -> bool:
    run.end_all()
    return True


def suspended(run: Trial) -> bool:
    found = run.of("worker time")
    for process in found:
        process.suspend()
        time.sleep(2)
        process.resume()
    return bool(found)


def record_damaged(run: Trial) -> bool:
    """It is found when the run starts again."""
    files = sorted(run.path("results/records").rglob("*.json"))
    if files:
        file = run.random.choice(files)
        content = file.read_bytes()
        run.harm(file, content[: run.random.randrange(len(content))])
        ended(run, "snakemake")
    return bool(files)


FAULTS: tuple[Callable[[Trial], bool], ...] = (
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
    manifest = f"results/manifests/{document}-{machine.facts()['machine']}.json"
    targets = (manifest, f"results/documents/{document}/sections.json")
    return Trial(folder, targets=targets, command=COMMAND, random=draw)


def harm(run: Trial, number: int, pause_s: float) -> tuple[Counter, list[str]]:
    """Run, with so many faults, each after a random time of `pause_s` on average, and again whenever one has ended the
    run -> ({fault: how often}, lost results)."""
    met: Counter = Counter()
    lost: list[str] = []
    start = time.monotonic()
    run.start()
    while met.total() < number:
        time.sleep(run.random.uniform(0, 2 * pause_s))
        if run.running.poll() == 0:
            print("the run was over before all faults had come", flush=True)
            break
        run.note()
        fault = run.random.choice(FAULTS)
        if run.running.poll() is None and fault(run):
            met[fault.__name__] += 1
            print(f"{time.monotonic() - start:6.0f} s: {fault.__name__}", flush=True)
            time.sleep(ENDING_S)
        lost += run.lost()
        if run.running.poll():
            run.wait()
            run.harmed.clear()
            run.start()
    return met, lost


def completed(run: Trial) -> bool:
    """Whether a run that nothing disturbs ends well, soon."""
    run.wait(patience_s=None)
    return any(run.run_through(patience_s=None) == 0 for _ in range(RUNS))


def verdicts(run: Trial) -> dict[str, str]:
    """{claim: what today's numbers of this machine say}."""
    parts = read_json(str(run.path(run.targets[1])))["parts"]
    data = [part["data"] for part in parts if part["section"] == "claims"]
    claims = [claim for each in data for claim in each["claims"]]
    return {
        f"{claim['name']} ({source})": verdict["verdict"]
        for claim in claims
        for source, verdict in claim["verdicts"].items()
        if source.startswith("now")
    }


def ok(run: Trial) -> set[tuple]:
    """The cells that are ok; how many processes one has may depend on what they measure."""
    return {cell[:-1] for cell in run.ok_cells()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--document", default="stacked-lm")
    parser.add_argument(
        "--rows", help="as in config/quick.yaml, with commas between them; all that stand there"
    )
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    print(f"seed: {arguments.seed}", flush=True)
    folders = [arguments.folder.resolve() / name for name in ("without", "with")]
    rows = arguments.rows.split(",") if arguments.rows else []
    without, harmed = (project(each, arguments.document, rows, draw) for each in folders)
    start, took = time.monotonic(), arguments.folder / "seconds"
    if without.run_through(patience_s=None):
        sys.exit(f"the run without faults failed:\n{without.printed}")
    if not took.exists():
        took.write_text(str(time.monotonic() - start))
    seconds = float(took.read_text())
    print(f"without faults: {seconds:.0f} s, {len(ok(without))} cells ok", flush=True)

    start = time.monotonic()
    met, lost = harm(harmed, arguments.faults, seconds / arguments.faults)
    if not completed(harmed):
        sys.exit(f"the run with faults does not complete:\n{harmed.printed}")
    print(f"with faults: {time.monotonic() - start:.0f} s, {len(ok(harmed))} cells ok")
    for name, number in sorted(met.items()):
        print(f"  {number:3d} {name}")
    same = ok(without) == ok(harmed)
    print(f"lost results: {len(lost)}; the same cells are ok: {same}")
    said = [verdicts(each) for each in (without, harmed)]
    different = [name for name in said[0] | said[1] if said[0].get(name) != said[1].get(name)]
    for name in different:
        print(f"  {name}: {said[0].get(name)} without faults, {said[1].get(name)} with")
    opposite = [name for name in different if {each.get(name) for each in said} == {HOLDS, FAILS}]
    print(f"verdicts: {len(said[0])}, {len(different)} differ, {len(opposite)} are opposite")
    compare = [sys.executable, "scripts", "compare_runs", "--fail"]
    compared = subprocess.run(
        [*compare, *(str(each / "results") for each in folders)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    print(compared.stdout.partition("\n\n")[0] + compared.stderr)
    sys.exit(bool(lost or not same or opposite or compared.returncode))


if __name__ == "__main__":
    main()
