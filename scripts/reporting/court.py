"""What `make court` found: per implementation how much was tried, and what is wrong, with a program that shows it."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from reporting import layout

WRONG = ("incorrect", "failed", "timeout", "out-of-memory")
SHOWN = 40  # reproducers of a page
COLUMNS = (
    ("implementation", "row", "code"),
    ("passed", "ok", "whole"),
    ("wrong", "wrong", "whole"),
    ("unsupported", "unsupported", "whole"),
    ("left out", "left-out", "whole"),
    ("largest error", "worst", "error"),
)

REPRODUCER = """\
import sys; sys.path.insert(0, "scripts")  # of this repository, in the environment's Python
from measurement import checking
from measurement.worker import module_of
from measurement.workload import Workload
work = Workload({benchmark}, None, 0)
build = module_of("{row}").build
runner, found = checking.check_implementation(
    lambda work, weights: build(work, weights, "cpu", "{phase}"), work, work.weights(), "{phase}", 1e-4, 3)
print(found["status"], found["reason"], found["errors"])
"""


def rendered(environment: str, record: Mapping, found: Sequence[Mapping], seed: int) -> str:
    """The page, in markdown. record: the environment's; found: a verdict per implementation, case and phase."""
    wrong = [one for one in found if one["status"] in WRONG]
    packages = ", ".join(f"{name} {version}" for name, version in _pinned(record))
    right = sum(one["status"] == "ok" for one in found)
    lines = [
        f"# Correctness of {environment} over drawn shapes",
        "",
        f"{right} checks passed, {len(wrong)} did not (seed {seed}). {packages}.",
        "",
        layout.table(_rows(found), COLUMNS),
        "Left out: shapes and weights for which float32 arithmetic itself, in NumPy, is off by more than 1e-5.",
        "",
    ]
    if wrong:
        lines += ["## What is wrong", ""]
    for one in wrong[:SHOWN]:
        benchmark = json.dumps(one["benchmark"])
        lines += [
            f"### {one['row']}, {one['phase']}: {one['case']}",
            "",
            f"{one['status']}: {' '.join(one['reason'].split())}",
            "",
            "```python",
            REPRODUCER.format(**{**one, "benchmark": benchmark}).rstrip(),
            "```",
            "",
        ]
    if len(wrong) > SHOWN:
        lines.append(f"{len(wrong) - SHOWN} more are not shown.")
    return "\n".join(lines).rstrip() + "\n"


def _pinned(record: Mapping) -> list[tuple[str, str]]:
    """Frameworks of the environment with their versions."""
    names = (
        "torch",
        "tensorflow",
        "tensorflow-cpu",
        "jax",
        "keras",
        "onnxruntime",
        "openvino",
        "numpy",
    )
    packages = {name.lower(): version for name, version in record["packages"].items()}
    return [(name, packages[name]) for name in names if name in packages]


def _rows(found: Sequence[Mapping]) -> list[dict]:
    """Of COLUMNS, an implementation each."""
    rows = []
    for row in dict.fromkeys(one["row"] for one in found):
        own = [one for one in found if one["row"] == row]
        counts = Counter(one["status"] for one in own)
        errors = [one["error"] for one in own if one["status"] == "ok" and one["error"] is not None]
        told = {"row": row, "wrong": sum(counts[status] for status in WRONG)}
        told |= {status: counts[status] for status in ("ok", "unsupported", "left-out")}
        rows.append(told | {"worst": max(errors, default=None)})
    return rows
