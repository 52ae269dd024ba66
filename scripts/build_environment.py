"""Build one environment (or look at the one conda or the user provides) and record what is in it.

The record's status is `ok`, `unsupported` (no such interpreter here, or a named one without the framework) or `failed`
(with the reason); the environment's cells take it over, so that one broken environment costs its own rows and no others.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measurement.record import note_attempt, write_json
from plan import environments, matrix
from plan.environments import EnvironmentProblem, Specification


class Unsupported(EnvironmentProblem):
    """The environment cannot be had here, and trying again changes nothing."""


def run_pip(python: Path, arguments: list[str], log) -> None:
    """Run pip; on failure raise with its own last words.

    Pip, and not a faster installer: it honours the machine's configuration (index, find-links,
    certificates). One retry a connection, because an unreachable extra index is asked for every
    package; the whole installation is tried twice instead.
    """
    command = [str(python), "-m", "pip", "install", "--retries", "1", *arguments]
    for attempt in range(2):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        log.write(done.stdout)
        if done.returncode == 0:
            return
        log.write(f"attempt {attempt + 1} failed\n")
    errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
    raise EnvironmentProblem("pip: " + (" ".join(errors[-2:]) or done.stdout.strip()[-300:]))


def build_venv(specification: Specification, interpreter: str, folder: Path, log) -> Path:
    """A virtual environment with the specification's pins. Returns its interpreter.

    One that is complete is taken as it is: a container brings it along, or another checkout built it. The file
    `complete` has the seconds that it took.
    """
    start = time.time()
    python, complete = folder / "bin" / "python", folder / "complete"
    if complete.exists() and python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([interpreter, "-m", "venv", str(folder)], check=True, stdout=log, stderr=log)
    if specification.bootstrap:
        run_pip(python, list(specification.bootstrap), log)
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(specification.pip) + "\n")
    run_pip(python, ["-r", str(requirements)], log)
    complete.write_text(str(time.time() - start))
    return python


def require_framework(
    specification: Specification, source: str, python: str, packages: dict[str, str]
) -> None:
    """Raise unless a named interpreter has what the environment is about: every package that is pinned, in whatever
    version (its record says which), or exactly those of an environment of another time."""
    if lacking := specification.lacking(packages):
        raise Unsupported(f"{python} has no {' and no '.join(lacking)}, which {source} asks for")
    others = specification.mismatches(packages)
    if others and matrix.generation(specification.name.removesuffix("-cuda")) != "now":
        raise Unsupported(f"{python} does not have the versions of {source}: {'; '.join(others)}")
    if others:
        print(f"    environment {specification.name}: {'; '.join(others)}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, type=json.loads, help="what to do, as JSON")
    parser.add_argument("--log", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    job = arguments.job
    folder = Path(job["folder"])

    start = time.time()
    specification = environments.load(job["source"])
    record = {
        "environment": specification.name,
        "fingerprint": job["fingerprint"],
        "builder": job["builder"],
        "pins": specification.pins,
        "status": "ok",
        "reason": "",
        "python": None,
        "packages": {},
        "build_s": None,  # conda builds before this runs
    }
    python = job["interpreter"] or sys.executable
    try:
        if job["builder"] == "venv":
            if not job["interpreter"]:
                raise Unsupported(
                    f"no Python {specification.python} on this machine (looked on PATH and under "
                    "pyenv); install one, name one under `interpreters:`, or use --use-conda"
                )
            with open(arguments.log, "w") as log:
                python = build_venv(specification, python, folder, log)
            noted = (folder / "complete").read_text()
            record["build_s"] = float(noted) if noted else None
        record.update(environments.inspect(str(python)))
        if job["builder"] == "interpreter":
            require_framework(specification, job["source"], python, record["packages"])
        elif mismatches := specification.mismatches(record["packages"]):
            raise EnvironmentProblem(
                f"{python} does not have the versions of {job['source']}: " + "; ".join(mismatches)
            )
    except (EnvironmentProblem, subprocess.SubprocessError, OSError) as error:
        record["reason"] = str(error)
        record["status"] = "unsupported" if isinstance(error, Unsupported) else "failed"
        print(f"    environment {specification.name}: {record['status']}: {error}", file=sys.stderr)
    record["seconds"] = time.time() - start
    note_attempt(job["failures"], record)
    write_json(arguments.output, record)


if __name__ == "__main__":
    main()
