"""Build one environment (or look at the one conda or the user provides) and record what is in it.

The record's status is `ok`, `unsupported` (no such interpreter here, or a named one without the framework) or `failed`
(with the reason); the environment's cells take it over, so that one broken environment costs its own rows and no others.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measurement import machine_lock, processes
from measurement.record import note_attempt, write_sealed
from plan import environments, locks, matrix
from plan.environments import EnvironmentProblem, Specification
from plan.locks import Lock

# What pip says of a file that is locked.
NOT_THERE = re.compile(r"No matching distribution found for (\S+)")
ANOTHER_FILE = re.compile(r"DO NOT MATCH THE HASHES.*\n\s+(\S+)")

LEAST_LEFT = 100e6  # bytes


class PipFailed(EnvironmentProblem):
    """With pip's own last words; `output` has all of them."""

    def __init__(self, output: str) -> None:
        errors = [line for line in output.splitlines() if line.startswith("ERROR")]
        super().__init__("pip: " + (" ".join(errors[-2:]) or output.strip()[-300:]))
        self.output = output


def explained(error: Exception, log: Path, folder: Path) -> str:
    """An error in a line. A full disk pip calls `Exception`, and venv does not name it at all."""
    left = shutil.disk_usage(next(each for each in folder.resolve().parents if each.exists())).free
    said = log.exists() and "No space left on device" in log.read_text()
    if said or left < LEAST_LEFT:
        return f"no space left on the disk of {folder} ({left / 1e9:.1f} GB now; an environment takes up to 3)"
    return str(error)


class Unsupported(EnvironmentProblem):
    """The environment cannot be had here, and trying again changes nothing."""


def run_pip(python: Path, arguments: list[str], log) -> None:
    """Run pip; arguments: its command, and that command's own. Raises PipFailed.

    Pip, and not a faster installer: it honours the machine's configuration (index, find-links,
    certificates). One retry a connection, because an unreachable extra index is asked for every
    package; the whole installation is tried twice instead.
    """
    command = [str(python), "-m", "pip", *arguments, "--retries", "1"]
    for attempt in range(2):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log.write(done.stdout)
        if done.returncode == 0:
            return
        log.write(f"attempt {attempt + 1} failed\n")
    raise PipFailed(done.stdout)


def install(python: Path, specification: Specification, lock: Lock | None, log) -> None:
    """Install what is locked, those very files; or the pins and whatever an index finds for them today."""
    requirements = python.parents[1] / "requirements.txt"
    requirements.write_text("\n".join(environments.requirements(specification, lock)) + "\n")
    # Compiling all modules would take three quarters of the time; those that are used the first check compiles.
    options = ["--no-compile", *(["--no-deps", "--require-hashes"] if lock else [])]
    try:
        run_pip(python, ["install", *options, "-r", str(requirements)], log)
    except PipFailed as problem:
        if missing := lock and NOT_THERE.search(problem.output):
            said = f"no reachable index has {missing[1]}"
        elif other := lock and ANOTHER_FILE.search(problem.output):
            said = f"{other[1]} is not the file that was verified"
        else:
            raise
        raise EnvironmentProblem(
            f"{lock.path}: {said}; make lock ENVIRONMENT={specification.name} locks what they have"
        ) from None


def begin_venv(specification: Specification, interpreter: str, folder: Path, log) -> Path:
    """A virtual environment with the specification's pip, and no pins yet. Returns its interpreter."""
    python = folder / "bin" / "python"
    subprocess.run([interpreter, "-m", "venv", str(folder)], check=True, stdout=log, stderr=log)
    if specification.bootstrap:
        run_pip(python, ["install", *specification.bootstrap], log)
    return python


def build_venv(
    specification: Specification, interpreter: str, folder: Path, log, lock: Lock | None = None
) -> Path:
    """A virtual environment with the specification's pins, of the versions that are locked. Returns its interpreter.

    One that is complete is taken as it is: a container brings it along, or another checkout built it. The file
    `complete` has the seconds that it took.
    """
    start = time.time()
    python, complete = folder / "bin" / "python", folder / "complete"
    if complete.exists() and python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    begin_venv(specification, interpreter, folder, log)
    install(python, specification, lock, log)
    complete.write_text(str(time.time() - start))
    return python


def require_framework(
    specification: Specification, source: str, python: str, packages: dict[str, str]
) -> None:
    """Raise unless a named interpreter has what the environment is about: every package that is pinned, in whatever
    version (its record says which), or exactly those of an environment of another time."""
    if lacking := specification.lacking(packages):
        raise Unsupported(f"{python} has no {' and no '.join(lacking)}, which {source} needs")
    others = specification.mismatches(packages)
    if others and matrix.generation(specification.name.removesuffix("-cuda")) != matrix.NOW:
        raise Unsupported(f"{python} does not have the versions of {source}: {'; '.join(others)}")
    if others:
        print(f"    environment {specification.name}: {'; '.join(others)}", file=sys.stderr)


def require_planned(job: dict, specification: Specification, lock: Lock | None) -> None:
    """Raise unless the files say what the environment is named after."""
    now = environments.fingerprint(specification, job["builder"], job["interpreter"], lock)
    if now != job["fingerprint"]:
        raise EnvironmentProblem(
            f"{job['source']}, its lock or its interpreter changed since the run was planned; run the same command again"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, type=json.loads, help="the job, as JSON")
    parser.add_argument("--parent", type=int, help="stop when this process ends")
    parser.add_argument("--log", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    if arguments.parent:
        processes.end_with(arguments.parent)
    job = arguments.job
    folder = Path(job["folder"])

    start = time.time()
    specification = environments.load(job["source"])
    lock = locks.read(Path(job["lock"])) if job["lock"] else None
    record = {
        "environment": specification.name,
        "fingerprint": job["fingerprint"],
        "builder": job["builder"],
        "pins": specification.pins,
        "lock": job["lock"],
        "status": "ok",
        "reason": "",
        "python": None,
        "packages": {},
        "build_s": None,  # conda builds before this runs
    }
    python = job["interpreter"] or sys.executable
    try:
        require_planned(job, specification, lock)
        if job["builder"] == "venv":
            if not job["interpreter"]:
                raise Unsupported(
                    f"no Python {specification.python} on this machine (searched PATH and "
                    "pyenv); install one, set it in `interpreters`, or use --use-conda"
                )
            with (
                machine_lock.hold(
                    False, lambda line: print(f"    {line}", file=sys.stderr), arguments.parent
                ),
                open(arguments.log, "w") as log,
            ):
                python = build_venv(specification, python, folder, log, lock)
            noted = (folder / "complete").read_text()
            record["build_s"] = float(noted) if noted else None
        record.update(environments.inspect(str(python)))
        if job["builder"] == "interpreter":
            require_framework(specification, job["source"], python, record["packages"])
        elif mismatches := specification.mismatches(record["packages"], lock):
            raise EnvironmentProblem(
                f"{python} does not have the versions of {lock.path if lock else job['source']}: "
                + "; ".join(mismatches)
            )
        if not lock and job["builder"] != "interpreter":
            print(
                f"    environment {specification.name}: not locked for Python {record['python']} and these pins, so an "
                f"index chose all beneath them today; to keep it: make lock ENVIRONMENT={specification.name}",
                file=sys.stderr,
            )
    except (EnvironmentProblem, subprocess.SubprocessError, OSError) as error:
        unsupported = isinstance(error, Unsupported)
        record["reason"] = (
            str(error) if unsupported else explained(error, Path(arguments.log), folder)
        )
        record["status"] = "unsupported" if unsupported else "failed"
        print(
            f"    environment {specification.name}: {record['status']}: {record['reason']}",
            file=sys.stderr,
        )
    record["seconds"] = time.time() - start
    note_attempt(job["failures"], record)
    write_sealed(arguments.output, record)


if __name__ == "__main__":
    main()
