"""What the steps that tune and that build a kernel share: a job's kernel, its schedules, and what it waits for."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from kernels.runtime import set_threads
from kernels.spec import KernelSpec
from measurement import instructions, provenance
from measurement.contract import Unsupported
from measurement.record import append_line, read_json, read_lines, read_result


def database_folder(variant: str, target: dict, tuning: str) -> Path:
    """Where the schedules lie: beside tuning.json, apart for each version of TVM and of the code tuned."""
    from kernels.search.fingerprint import fingerprint

    return Path(tuning).with_name("database") / fingerprint(variant, target)


def tune(kernel: dict, tuning: str) -> dict:
    """Bring the database beside `tuning` to kernel["trials"]; returns what tuning.json keeps.

    kernel: shape (of a KernelSpec), variant, trials, isa (an instruction set, or None). Seconds are those of all runs that the database is the work of:
    `tuning_seconds` of the search, `start_seconds` of importing TVM here and in workers. Where nothing can be tuned, a
    status says so, and why.
    """
    start = time.perf_counter()
    spec = KernelSpec(**kernel["shape"])
    set_threads(spec.threads)
    from kernels.variants import target_of, variant_named

    variant, flags = variant_named(kernel["variant"]), instructions.visible(kernel["isa"])
    target = target_of(kernel["variant"], spec.threads, flags)
    imported = time.perf_counter() - start
    folder = database_folder(kernel["variant"], target, tuning)
    try:
        report = asdict(variant.tune(spec, target, kernel["trials"], folder))
    except Unsupported as reason:
        return kernel | {"status": "unsupported", "reason": str(reason)}
    report["start_seconds"] += imported
    history = str(folder / "runs.jsonl")
    if report["new_trials"]:
        append_line(history, report)
    runs = [run for run in read_lines(history) if "tuning_seconds" in run]
    seconds = {name for run in runs for name in run if name.endswith("_seconds")} - {"best_seconds"}
    return kernel | report | {name: sum(run[name] for run in runs) for name in seconds}


def not_had(kernel: dict) -> dict | None:
    """{"status", "reason"} where what a kernel is made with is not there: its environment, a compiler; None where it is."""
    environment = read_json(kernel["reads"]["environment"])
    if environment["status"] != "ok":
        return {key: environment[key] for key in ("status", "reason")}
    if "linker" in kernel["parts"]:
        reason = "TVM needs a C++ compiler to link kernels: install g++ or clang++ and run again"
        return {"status": "unsupported", "reason": reason}
    return None


def require_planned(kernel: dict) -> None:
    """Raise provenance.Changed unless what this process has loaded is what its kernel is named after."""
    environment = read_result(kernel["reads"]["environment"])
    sources = kernel["parts"]["sources"]
    provenance.require({"sources": sources, "environment": environment, "beside": {}})


def waiting(what: str, output: str) -> Callable[[str], None]:
    """Says on the terminal what a job waits for."""
    return lambda line: print(f"    {what} {output}: {line}", flush=True)


def tell_the_terminal(log: str) -> None:
    """Send all that is printed from here on to a file, and the kernels' own warnings to the terminal too."""
    terminal = os.fdopen(os.dup(2), "w")
    with open(log, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    logging.getLogger("kernels").addHandler(logging.StreamHandler(terminal))
