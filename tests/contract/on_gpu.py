"""The first command on a GPU: every row that a GPU can run, at tiny shapes against the reference, before anything is timed.

    .venv/bin/python -m tests.contract.on_gpu [--python python3] [--seconds 240] [IMPLEMENTATION ...]

Needs what `make measure` needs, and frameworks in the interpreter that is named. A pattern chooses implementations
(`pytorch/*`). Prints a line a row, shape and phase; the exit status is 1 where one is wrong or fails.
"""

import argparse
import functools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from measurement import machine  # noqa: E402
from measurement.supervisor import worker_environment  # noqa: E402
from plan import matrix  # noqa: E402

FRAMEWORKS = ["pytorch/*", "jax/*", "tvm/*", "flashrnn/*"]
WIDE = json.dumps({"hidden": 64, "embedding": 64, "batch": 20, "length": 9})


def shapes(entry: dict) -> list[str]:
    """What run_contract.py is given after an implementation's name."""
    if entry.get("kernel"):
        return [f"built:{entry['kernel']}"]
    if entry["implementation"].startswith("flashrnn/"):
        return [
            WIDE
        ]  # it compiles for each shape anew, for a minute or more, and has no kernel of four units
    names = matrix.document("cudnn-lstm-ptb")["benchmarks"]
    if any(matrix.takes_part(entry["benchmarks"], name) for name in names):
        return ["", WIDE, "carried"]
    return ["", WIDE] if matrix.takes_part(entry["benchmarks"], "stacked-lm") else ["one-way"]


def verdicts(python: str, seconds: float, entry: dict) -> list[tuple[str, str, str, str]]:
    """(row and shape, phase, status, error or reason) of one implementation, in a process of its own."""
    name = entry["implementation"]
    names = [f"{name} {shape}".strip() for shape in shapes(entry)]
    command = [python, "tests/contract/run_contract.py", "--device=gpu", *names]
    variables = worker_environment("check", threads=4, device="gpu")
    variables["PYTHONPATH"] += f":{ROOT}"
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=seconds,
            env=variables,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [(name, "-", "timeout", f"not finished after {seconds:g} s")]
    if done.returncode:
        ended = f"ended with {done.returncode}: {done.stderr.strip()[-1500:]}"
        return [(name, "-", "failed", ended)]
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
    parser.add_argument("--seconds", type=float, default=240, help="that a row may take")
    parser.add_argument("implementations", nargs="*", default=FRAMEWORKS)
    arguments = parser.parse_args()
    entries = [
        entry
        for entry in matrix.implementations()
        if matrix.takes_part(arguments.implementations, entry["implementation"])
        and "gpu" in entry.get("devices", matrix.DEVICES)
        and entry["family"] not in ("ceiling", "data-parallel")
    ]
    wrong = 0
    # Starting a framework and compiling keep a core or two busy.
    with ThreadPoolExecutor(max(1, machine.usable_cores() // 2)) as pool:
        each = functools.partial(verdicts, arguments.python, arguments.seconds)
        for found in pool.map(each, entries):
            for row, phase, status, said in found:
                wrong += status not in ("ok", "unsupported")
                print(f"{status:12} {row} {phase}: {said}", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
