"""Build one kernel into a shared library with its metadata beside it.

kernel.json has a status as records have: a kernel that cannot be built costs its own cells only.
"""

import argparse
import json
import multiprocessing
import os
import shutil
from pathlib import Path

from kernels.jobs import (
    database_folder,
    not_had,
    require_planned,
    tell_the_terminal,
    tune,
    waiting,
)
from kernels.runtime import set_threads
from measurement import devices, instructions, machine, machine_lock, processes, provenance
from measurement.contract import Unsupported
from measurement.record import (
    note_attempt,
    read_json,
    read_result,
    sha256,
    write_json,
    write_sealed,
)
from measurement.workload import Workload


def build(kernel: dict, threads: int, tuning: str | None, folder: Path) -> None:
    """Write kernel.so and kernel.json of the variant into `folder`, or a status of what cannot be built here, unless the
    process that waits for it ends."""
    processes.die_with_parent(multiprocessing.parent_process().pid)
    set_threads(threads)
    from kernels.variants import target_of, variant_named
    from kernels.workload import spec_of

    workload = Workload(kernel["benchmark"], None, seed=0, threads=threads)
    variant = kernel["variant"]
    try:
        flags = instructions.visible(workload.isa)
        spec, target = spec_of(workload), target_of(variant, threads, flags)
        database = database_folder(variant, target, tuning) if tuning else None
        given = [spec, target, folder, database, workload.vocabulary]
        if workload.outputs and not workload.vocabulary:
            given.append(workload.outputs)  # of a classifier, which some variants build
        variant_named(variant).build(*given)
    except Unsupported as reason:
        state = {"status": "unsupported", "reason": str(reason)}
        write_json(str(folder / "kernel.json"), state)
    try:
        require_planned(kernel)
    except provenance.Changed as changed:
        write_json(str(folder / "kernel.json"), {"status": "failed", "reason": str(changed)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True, type=json.loads, help="the job, as JSON")
    parser.add_argument("--parent", type=int, help="stop when this process ends")
    parser.add_argument("--log", required=True, help="file for what TVM prints")
    parser.add_argument("--output", required=True, help="kernel.json; kernel.so goes beside it")
    arguments = parser.parse_args()
    if arguments.parent:
        processes.end_with(arguments.parent)
    with machine_lock.hold(False, waiting("build", arguments.output), arguments.parent):
        tell_the_terminal(arguments.log)
        carry_out(arguments)


def carry_out(arguments: argparse.Namespace) -> None:
    kernel, output = arguments.kernel, Path(arguments.output)
    threads = kernel["threads"] or machine.usable_cores()
    library = output.with_name("kernel.so")
    for file in (output, library):
        file.unlink(missing_ok=True)
    os.environ.update(devices.gpu().visible(1))  # the one that its cells will run on
    os.environ["PYTHONPATH"] = provenance.SCRIPTS  # of TVM's workers
    tuning, tuned = None, kernel["reads"].get("tuning")
    missing = not_had(kernel)
    if tuned and not missing:  # whole already, unless the database was damaged since
        tuning = tune(read_result(tuned), tuned)
        if "status" in tuning:
            missing = {key: tuning[key] for key in ("status", "reason")}
    if missing:
        library.touch()
        write_sealed(
            str(output), missing | {"variant": kernel["variant"], "parts": kernel["parts"]}
        )
        return
    building = output.with_name("building")  # what a killed build leaves is no kernel
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    # A process of its own: document 002's unrolled functions overflow the compiler's stack.
    process = multiprocessing.get_context("spawn").Process(
        target=build, args=(kernel, threads, tuned, building)
    )
    process.start()
    process.join(kernel["build_limit_s"])
    if process.is_alive():
        process.kill()
        process.join()
        state = {"status": "timeout", "reason": f"not built within {kernel['build_limit_s']} s"}
    elif process.exitcode or not (building / output.name).exists():
        reason = f"the compiler ended with exit status {process.exitcode}; see {arguments.log}"
        state = {"status": "failed", "reason": reason}
    else:
        state = {"status": "ok", "reason": "", **read_json(str(building / output.name))}
        for file in building.iterdir():
            if file.name != output.name:
                file.replace(output.with_name(file.name))
    shutil.rmtree(building)
    if tuning:
        state["tuning"] = tuning
    if state["status"] != "timeout":  # a longer limit is another kernel
        note_attempt(kernel["failures"], state)
    library.touch()  # empty where it could not be built
    state |= {"variant": kernel["variant"], "parts": kernel["parts"]}
    write_sealed(str(output), state | {"sha256_beside": {library.name: sha256(str(library))}})


if __name__ == "__main__":
    main()
