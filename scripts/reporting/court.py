"""What `make court` found: per implementation how much was tried, and what is wrong, with a program that shows it if one does."""

from collections import Counter
from collections.abc import Mapping, Sequence

from reporting import layout

WRONG = ("incorrect", "failed", "timeout", "out-of-memory")
FRAMEWORKS = (
    *("torch", "tensorflow", "tensorflow-cpu", "jax", "keras"),
    *("onnxruntime", "openvino", "numpy"),
)
SHOWN = 40  # reproducers of a page
COLUMNS = (
    ("implementation", "row", "code"),
    ("passed", "ok", "whole"),
    ("wrong", "wrong", "whole"),
    ("unsupported", "unsupported", "whole"),
    ("left out", "left-out", "whole"),
    ("largest error", "worst", "error"),
)


def rendered(environment: str, record: Mapping, found: Sequence[Mapping], seed: int) -> str:
    """The page, in markdown. record: the environment's; found: a verdict per implementation, case and phase."""
    wrong = [one for one in found if one["status"] in WRONG]
    versions = {name.lower(): version for name, version in record["packages"].items()}
    packages = ", ".join(f"{name} {versions[name]}" for name in FRAMEWORKS if name in versions)
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
        lines += [
            f"### {one['row']}, {one['phase']}: {one['case']}",
            "",
            f"{one['status']}: {' '.join(one['reason'].split())}",
            "",
            *_reproducer(environment, one, seed),
        ]
    if len(wrong) > SHOWN:
        lines.append(f"{len(wrong) - SHOWN} more are not shown.")
    return "\n".join(lines).rstrip() + "\n"


def _reproducer(environment: str, one: Mapping, seed: int) -> list[str]:
    """What a program without this repository printed, and the program if it shows the error."""
    again = f"`make court ENVIRONMENT={environment} ROWS={one['row']} SEED={seed}` repeats it."
    if not one.get("program"):
        return [f"There is no program without this repository. {again}", ""]
    if not one["shows"]:
        told = "With the framework and NumPy alone, on other random numbers, it does not show"
        return [f"{told} (printed: `{one['printed']}`). {again}", ""]
    program = ["```python", one["program"].rstrip(), "```"]
    return [*program, "", f"Errors of outputs and of gradients, as printed: `{one['printed']}`", ""]


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
