"""`make court ENVIRONMENT=pytorch`: every implementation of an environment through the correctness gate over drawn shapes, and a page
of what is wrong.

Shapes are those that benchmarks rarely have: one step, one row, sizes that no vector fits, a thousand steps, large weights, several
layers; and as many at random as asked for. Outputs, losses, all gradients and three updates are compared with the float64 reference. A
case in which float32 itself is imprecise is left out.

Exit status: 0; 1 if something is wrong; 2 if the environment cannot be had.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from commands import unable
from commands.run_workflow import begin, make, options
from measurement.supervisor import worker_environment
from plan import configuration, environments, matrix, own_cell, pins
from plan.jobs import RESULTS
from plan.planner import Plan
from reporting import court, page, reproducers

TOLERANCE = 1e-4
LONGEST_S = 300  # of one case
CELLS = ("lstm", "gru", "slstm")
NAMED: dict[str, dict] = {
    "one step": {"length": 1},
    "one row": {"batch": 1},
    "one row, one step": {"batch": 1, "length": 1},
    "odd sizes": {"batch": 3, "length": 7, "features": 5, "hidden": 13},
    "wider than long": {"features": 257, "hidden": 130, "length": 2},
    "two units": {"hidden": 2, "features": 1},
    "a thousand steps": {"length": 1000, "batch": 2, "hidden": 6, "features": 3},
    "large weights": {"weight_range": 2.0, "length": 3},
    "weights near zero": {"weight_range": 1e-4},
    "four layers": {"layers": 4, "length": 3},
}
USUAL = {"batch": 4, "length": 6, "features": 8, "hidden": 16, "layers": 1}


def cases(seed: int, count: int) -> Iterator[tuple[str, dict, str]]:
    """(name, benchmark, phase) of every case; count: of those at random."""
    draw = random.Random(seed)
    around = own_cell.template()["around"]
    shapes = dict(NAMED)
    for number in range(count):
        largest = {"batch": 33, "length": 20, "features": 70, "hidden": 70, "layers": 2}
        shapes[f"random {number + 1}"] = {
            key: draw.randint(1, most) for key, most in largest.items()
        }
    for name, sizes in shapes.items():
        for cell in CELLS:
            own = {} if cell == "lstm" else {"cell": cell}
            for phase in matrix.PHASES:
                yield f"{name}, {cell}", {**USUAL, **around, **sizes, **own}, phase


def rows(environment: str) -> list[str]:
    """The implementations of an environment that compute classifiers on a CPU, without kernels that are built before."""
    names = ("flexible-lstm", "own-lstm")
    return [
        entry["implementation"]
        for entry in matrix.implementations()
        if any(matrix.takes_part(entry["benchmarks"], name) for name in names)
        and any(environment in matrix.environments(entry, name) for name in names)
        and "cpu" in entry.get("devices", matrix.DEVICES)
        and not entry.get("kernel")
    ]


def judged(python: str, row: str, asked: Sequence[tuple[str, dict, str]]) -> list[dict]:
    """A verdict per case. A process that dies costs the case at which it did."""
    found: list[dict] = []
    phases = matrix.implementation(row).get("phases", matrix.PHASES)
    left = [case for case in asked if case[2] in phases]
    variables = worker_environment("check", 1, "cpu")
    while left:
        told = {"implementation": row, "tolerance": TOLERANCE, "cases": left}
        command = [python, "-m", "measurement.court"]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(told),
                capture_output=True,
                text=True,
                env=variables,
                timeout=LONGEST_S * len(left),
            )
            printed, why = done.stdout, f"the process ended with status {done.returncode}"
            why += f": {(done.stderr.strip().splitlines() or [''])[-1][:300]}"
        except subprocess.TimeoutExpired as problem:
            printed = (problem.stdout or b"").decode()
            why = f"no answer within {LONGEST_S} s a case"
        lines = [json.loads(line) for line in printed.splitlines() if line.startswith("[")]
        if len(lines) < len(left):
            lines.append([len(lines), "failed", why, None])
        for place, status, reason, error in lines:
            name, benchmark, phase = left[place]
            verdict = {"status": status, "reason": reason, "error": error}
            found.append(
                {"row": row, "case": name, "benchmark": benchmark, "phase": phase, **verdict}
            )
        left = left[len(lines) :]
    return found


def reproduced(python: str, one: Mapping) -> dict:
    """A verdict with the program that may show it without this repository, and what it printed when it was run."""
    program = reproducers.program(one["row"], one["benchmark"])
    if program is None:
        return dict(one)
    # recurrent_cells is a package of its own
    variables = dict(os.environ, PYTHONPATH=str(Path("packages/recurrent_cells/src").resolve()))
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [Path(python).absolute(), "-c", program],
                capture_output=True,
                text=True,
                env=variables,
                cwd=folder,
                timeout=LONGEST_S,
            )
        except subprocess.TimeoutExpired:
            return {**one, "program": program, "shows": False, "printed": "nothing in time"}
    lines = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()
    failed = one["status"] != "incorrect" and done.returncode != 0
    shows = failed or (done.returncode == 0 and reproducers.shows(done.stdout))
    return {**one, "program": program, "shows": shows, "printed": lines[-1][:300]}


def interpreter(environment: str, config: dict) -> tuple[str, Mapping]:
    """The environment's Python, built where it is not there yet, and its record."""
    job = Plan(config).environment(environment)
    if not job.done():
        make(config, [job.path])
    record = json.loads(Path(job.path).read_text(encoding="utf-8"))
    if record["status"] != "ok":
        unable(f"{environment}: {record['reason']}")
    return environments.python(job.order), record


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("environment", help="an environment of envs/")
    parser.add_argument("--rows", default="*", help="implementations, with *")
    parser.add_argument("--random", type=int, default=4, help="random shapes beside the named ones")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    begin(asked.parent)
    config = configuration.given(asked.configfile, asked.config)
    known = rows(asked.environment)
    names = [row for row in known if matrix.takes_part([asked.rows], row)]
    if not names:
        said = f"no implementation {asked.rows}" if known else "no environment to check"
        there = ", ".join(known or filter(rows, pins.measured()))
        unable(f"ENVIRONMENT={asked.environment}: {said}; there are: {there}")
    python, record = interpreter(asked.environment, config)
    drawn, found = list(cases(asked.seed, asked.random)), []
    output = Path(RESULTS, "court", f"{asked.environment}.md")
    for row in names:
        own = judged(python, row, drawn)
        own = [reproduced(python, one) if one["status"] in court.WRONG else one for one in own]
        found += own
        wrong = sum(one["status"] in court.WRONG for one in own)
        print(f"{row}: {len(own)} cases, {wrong} wrong", flush=True)
        page.write(output, court.rendered(asked.environment, record, found, asked.seed))
    print(f"Page: {output.with_suffix('.html')} (and .md)")
    sys.exit(any(one["status"] in court.WRONG for one in found))


if __name__ == "__main__":
    main()
