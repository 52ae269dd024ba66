"""The first command on a GPU: every row that a GPU can run, at tiny shapes against the reference, before anything is timed.

    .venv/bin/python -m tests.contract.on_gpu [--python python3] [IMPLEMENTATION ...]

Needs what `make measure` needs, and frameworks in the interpreter that is named. A pattern chooses implementations
(`pytorch/*`). Prints a line a row, shape and phase; the exit status is 1 where one is wrong or fails.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from measurement.supervisor import worker_environment  # noqa: E402
from plan import matrix  # noqa: E402
from tests import tiny  # noqa: E402

AT_ONCE, SECONDS = 4, 240
WIDE = json.dumps({"hidden": 64, "embedding": 64, "batch": 20, "length": 9})


def shapes(entry: dict) -> list[str]:
    """What run_contract.py is given after an implementation's name."""
    names = matrix.document("cudnn-lstm-ptb")["benchmarks"]
    if any(matrix.takes_part(entry["benchmarks"], name) for name in names):
        return ["", WIDE, json.dumps(tiny.CARRIED)]
    return ["", WIDE] if matrix.takes_part(entry["benchmarks"], "stacked-lm") else ["one-way"]


def verdicts(python: str, entry: dict) -> list[tuple[str, str, str, str]]:
    """(row and shape, phase, status, error or reason) of one implementation, in a process of its own."""
    name = entry["implementation"]
    names = [f"{name} {shape}".strip() for shape in shapes(entry)]
    command = [python, "tests/contract/run_contract.py", "--device=gpu", *names]
    variables = worker_environment("check", threads=4, device="gpu")
    variables["PYTHONPATH"] += f":{ROOT}"
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS,
            env=variables,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [(name, "-", "timeout", f"not finished after {SECONDS} s")]
    if done.returncode:
        return [(name, "-", "failed", done.stderr.strip()[-1500:])]
    return [
        (row, phase, *said(found))
        for row, phases in json.loads(done.stdout.splitlines()[-1]).items()
        for phase, found in phases.items()
    ]


def said(found: dict) -> tuple[str, str]:
    """(status, largest error or reason) of a verdict; a framework that is not there is no failure."""
    reason = found["reason"].strip()
    if found["status"] == "failed" and "ModuleNotFoundError" in reason.rpartition("\n")[2]:
        return "unsupported", reason.rpartition("\n")[2]
    errors = found.get("errors")
    return found["status"], reason or (f"{max(errors.values()):.1e}" if errors else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="python3")
    parser.add_argument("implementations", nargs="*", default=["pytorch/*", "jax/*", "flashrnn/*"])
    arguments = parser.parse_args()
    entries = [
        entry
        for entry in matrix.implementations()
        if matrix.takes_part(arguments.implementations, entry["implementation"])
        and "gpu" in entry.get("devices", matrix.DEVICES)
        and entry["family"] not in ("ceiling", "data-parallel")
        and not entry.get("kernel")
    ]
    wrong = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for found in pool.map(lambda entry: verdicts(arguments.python, entry), entries):
            for row, phase, status, said in found:
                wrong += status not in ("ok", "unsupported")
                print(f"{status:12} {row} {phase}: {said}", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
