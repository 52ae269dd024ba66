"""Build one environment (or look at the one conda or the user provides) and record what is in it.

The record's status is `ok`, `unsupported` (no such interpreter here, or a named one without the framework) or `failed`
(with the reason); the environment's cells take it over, so that one broken environment costs its own rows and no others. One that has no cells must be there.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from measurement import machine_lock, processes
from measurement.record import note_attempt, write_sealed
from plan import environments, locks, matrix, virtual
from plan.environments import EnvironmentProblem, Specification
from plan.locks import Lock

TOOLS = ("corpus", "report")  # without which there are no pages: a run ends where one is not there


class Unavailable(EnvironmentProblem):
    """The environment cannot be had here, and trying again changes nothing."""


def tell(line: str) -> None:
    print(f"    {line}", file=sys.stderr)


def require_framework(
    specification: Specification, source: str, python: str, packages: dict[str, str]
) -> None:
    """Raise unless a named interpreter has what the environment is about: every package that is pinned, in whatever
    version (its record says which), or exactly those of an environment of another time."""
    if lacking := specification.lacking(packages):
        raise Unavailable(f"{python} has no {' and no '.join(lacking)}, which {source} needs")
    others = specification.mismatches(packages)
    if others and matrix.generation(specification.name.removesuffix("-cuda")) != matrix.NOW:
        raise Unavailable(f"{python} does not have the versions of {source}: {'; '.join(others)}")
    if others:
        tell(f"environment {specification.name}: {'; '.join(others)}")


def require_planned(job: dict, specification: Specification, lock: Lock | None) -> None:
    """Raise unless the files say what the environment is named after."""
    now = environments.fingerprint(specification, job["builder"], job["interpreter"], lock)
    if now != job["fingerprint"]:
        raise EnvironmentProblem(
            f"{job['source']}, its lock or its interpreter changed since the run was planned; run the same command again"
        )


def have(arguments: argparse.Namespace, specification: Specification, record: dict) -> None:
    """Build the environment, if that is for us to do, and write what is in it into its record. Raises EnvironmentProblem."""
    job = arguments.job
    lock = locks.read(Path(job["lock"])) if job["lock"] else None
    require_planned(job, specification, lock)
    python = job["interpreter"] or sys.executable
    if job["builder"] == "venv":
        if not job["interpreter"]:
            raise Unavailable(
                f"no Python {specification.python} on this machine (searched PATH and "
                "pyenv); install one, set it in `interpreters`, or use --use-conda"
            )
        folder = Path(job["folder"])
        with (
            machine_lock.hold(False, tell, arguments.parent),
            open(arguments.log, "w", encoding="utf-8") as log,
        ):
            python = virtual.build_venv(specification, python, folder, log, lock)
        noted = (folder / "complete").read_text(encoding="utf-8")
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
        tell(
            f"environment {specification.name}: not locked for Python {record['python']} and these pins, so an "
            f"index chose all beneath them today; to keep it: make lock ENVIRONMENT={specification.name}"
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
    job, start = arguments.job, time.time()
    specification = environments.load(job["source"])
    record = {
        **{"environment": specification.name, "fingerprint": job["fingerprint"]},
        **{"builder": job["builder"], "pins": specification.pins, "lock": job["lock"]},
        **{"status": "ok", "reason": "", "python": None, "packages": {}},
        "build_s": None,  # conda builds before this runs
    }
    try:
        have(arguments, specification, record)
    except Unavailable as problem:
        record |= {"status": "unsupported", "reason": str(problem)}
    except (EnvironmentProblem, subprocess.SubprocessError, OSError) as error:
        reason = virtual.explained(error, Path(arguments.log), Path(job["folder"]))
        record |= {"status": "failed", "reason": reason}
    if record["status"] != "ok":
        tell(f"environment {specification.name}: {record['status']}: {record['reason']}")
    record["seconds"] = time.time() - start
    note_attempt(job["failures"], record)
    if record["status"] != "ok" and specification.name in TOOLS:
        sys.exit(1)
    write_sealed(arguments.output, record)


if __name__ == "__main__":
    main()
