"""Build one kernel into a shared library with its metadata beside it.

kernel.json has a status as records have: a kernel that cannot be built costs its own cells only.
"""

import argparse
import json
import multiprocessing
import sys
from pathlib import Path

from kernels.run import set_threads
from measurement import machine
from measurement.record import read_json, write_json
from measurement.workload import Workload


def build(kernel: dict, threads: int, database: Path, folder: Path) -> None:
    """Write kernel.so and kernel.json of the variant into `folder`."""
    set_threads(threads)
    from kernels.automatic import build_steps, build_unrolled
    from kernels.build import build_template
    from kernels.database import ScheduleDatabase
    from kernels.target import cpu_target
    from kernels.workload import spec_of

    spec = spec_of(Workload(kernel["benchmark"], None, seed=0, threads=threads))
    target = cpu_target(threads)
    if kernel["variant"] == "template-tuned":
        build_template(spec, ScheduleDatabase(spec, target, database).best(), target, folder)
    elif kernel["variant"] == "unrolled":
        build_unrolled(spec, target, folder)
    else:
        tuned = database if kernel["variant"] == "default-rules" else None
        build_steps(spec, target, folder, tuned)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True, type=json.loads, help="benchmark, variant, ...")
    parser.add_argument("--database", required=True, type=Path)
    parser.add_argument("--tuning", help="what tune_kernel.py wrote, if the kernel is tuned")
    parser.add_argument("--output", required=True, help="kernel.json; the library lies beside it")
    arguments = parser.parse_args()
    kernel, output = arguments.kernel, Path(arguments.output)
    threads = kernel["threads"] or machine.usable_cores()
    output.unlink(missing_ok=True)
    # A process of its own: document 002's unrolled functions overflow the compiler's stack.
    process = multiprocessing.get_context("spawn").Process(
        target=build, args=(kernel, threads, arguments.database, output.parent)
    )
    process.start()
    process.join(kernel["build_limit_s"])
    if process.is_alive():
        process.kill()
        process.join()
        state = {"status": "timeout", "reason": f"not built after {kernel['build_limit_s']} s"}
    elif process.exitcode or not output.exists():
        reason = f"the compiler ended with exit status {process.exitcode}; see results/logs/kernels"
        state = {"status": "failed", "reason": reason}
    else:
        state = {"status": "ok", "reason": "", **read_json(str(output))}
    if arguments.tuning:
        state["tuning"] = read_json(arguments.tuning)
    write_json(str(output), state | {"variant": kernel["variant"]})
    if state["status"] != "ok":
        print(f"    kernel {output.parent}: {state['status']}: {state['reason']}", file=sys.stderr)


if __name__ == "__main__":
    main()
