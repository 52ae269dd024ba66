"""Virtual environments: made, and filled by pip with what is pinned and locked."""

import re
import shutil
import subprocess
import time
from pathlib import Path

from plan import environments
from plan.environments import EnvironmentProblem, Specification
from plan.locks import Lock

# What pip says of a file that is locked.
NOT_THERE = re.compile(r"No matching distribution found for (\S+)")
CONFLICT = re.compile(r"The conflict is caused by:\n((?: {4}\S.*\n)+)")
ANOTHER_FILE = re.compile(r"DO NOT MATCH THE HASHES.*\n\s+(\S+)")

LEAST_LEFT = 100e6  # bytes


class PipFailed(EnvironmentProblem):
    """With pip's own last words; `output` has all of them."""

    def __init__(self, output: str) -> None:
        errors = [line for line in output.splitlines() if line.startswith("ERROR")]
        said = " ".join(errors[-2:]) or output.strip()[-300:]
        if conflict := CONFLICT.search(output):
            said = "; ".join(conflict[1].split("\n    ")).strip()[:600]
        super().__init__(f"pip: {said}")
        self.output = output


def explained(error: Exception, log: Path, folder: Path) -> str:
    """An error in a line. A full disk pip calls `Exception`, and venv does not name it at all."""
    left = shutil.disk_usage(next(each for each in folder.resolve().parents if each.exists())).free
    said = log.exists() and "No space left on device" in log.read_text(encoding="utf-8")
    if said or left < LEAST_LEFT:
        return f"no space left on the disk of {folder} ({left / 1e9:.1f} GB now; an environment takes up to 3)"
    return str(error)


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
