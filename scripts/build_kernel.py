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


def build(kernel: dict, threads: int, database: Path | None, folder: Path) -> None:
    """Write kernel.so and kernel.json of the variant into `folder`."""
    set_threads(threads)
    from kernels.automatic import build_steps, build_unrolled
    from kernels.build import build_template
    from kernels.cuda import build_cuda
    from kernels.database import ScheduleDatabase
    from kernels.target import cpu_target, cuda_target
    from kernels.workload import spec_of

    workload = Workload(kernel["benchmark"], None, seed=0, threads=threads)
    spec, target = spec_of(workload), cpu_target(threads)
    if kernel["variant"] == "template-tuned":
        schedule = ScheduleDatabase(spec.tuned, target, database).best()
        build_template(spec, schedule, target, folder, workload.vocabulary)
    elif kernel["variant"] == "unrolled":
        build_unrolled(spec, target, folder)
    elif kernel["variant"] == "dlight":
        build_cuda(spec, cuda_target(), folder)
    else:
        build_steps(spec, target, folder, database)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True, type=json.loads, help="benchmark, variant, ...")
    parser.add_argument("--tuning", help="what tune_kernel.py wrote; its database lies beside it")
    parser.add_argument(
        "--output", required=True, help="kernel.json; the library, kernel.so, goes beside it"
    )
    arguments = parser.parse_args()
    kernel, output = arguments.kernel, Path(arguments.output)
    threads = kernel["threads"] or machine.usable_cores()
    database = Path(arguments.tuning).with_name("database") if arguments.tuning else None
    library = output.with_name("kernel.so")
    for file in (output, library):
        file.unlink(missing_ok=True)
    # A process of its own: document 002's unrolled functions overflow the compiler's stack.
    process = multiprocessing.get_context("spawn").Process(
        target=build, args=(kernel, threads, database, output.parent)
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
    library.touch()  # empty where it could not be built
    write_json(str(output), state | {"variant": kernel["variant"]})
    if state["status"] != "ok":
        print(f"    kernel {output.parent}: {state['status']}: {state['reason']}", file=sys.stderr)


if __name__ == "__main__":
    main()
