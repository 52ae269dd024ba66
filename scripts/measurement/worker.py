"""A fresh process that times or trains one cell, or makes checks of one implementation, inside its environment.

    python -m measurement.worker JOBS FOLDER

JOBS names a JSON file, a list of jobs (see supervisor.py); FOLDER gets a JSON file for each of them, result-0.json and
so on: a status, a reason, and what was found. Everything that can be said about the framework's own misbehaviour is caught here; a process
that dies is caught by the supervisor.
"""

import gc
import importlib
import os
import sys
import time
import traceback

from implementations.contract import Unsupported
from measurement import checking, machine, memory, precision, timing, training, verifying
from measurement.record import read_json, write_json
from measurement.workload import Workload

OUT_OF_MEMORY_SIGNS = ("out of memory", "resourceexhausted", "can't allocate memory", "bad_alloc")


def module_of(implementation):
    """`pytorch/fine-grained` -> the module implementations.pytorch.fine_grained."""
    return importlib.import_module(
        "implementations." + implementation.replace("/", ".").replace("-", "_")
    )


def run(job, progress):
    """Check, time or train the job's cell. Returns the fields of its record."""
    identity, settings = job["identity"], job["check" if job["kind"] == "check" else "protocol"]
    cores = machine.usable_cores()
    if job["benchmark"].get("threads", 1) > cores:
        raise Unsupported(
            "it takes %d threads, and this machine has %d cores" % (job["threads"], cores)
        )
    start = time.perf_counter()
    module = module_of(identity["implementation"])
    imported = time.perf_counter()
    progress("checking" if job["kind"] == "check" else "building")
    workload = Workload(
        job["benchmark"],
        job["corpus"],
        job["seed"],
        batch=settings.get("batch"),
        threads=job["threads"],
        kernel=job.get("kernel"),
    )
    weights = workload.weights()
    drawn = time.perf_counter()
    setup = {"import_s": imported - start}
    if workload.data_type not in getattr(module, "DATA_TYPES", (precision.FLOAT32,)):
        raise Unsupported("it computes in float32 only")

    def build(workload, weights=weights):
        return module.build(workload, weights, identity["device"], identity["phase"])

    if job["kind"] == "check":
        limits = settings["tolerance"], settings["steps"]
        runner, found = checking.check_implementation(
            build, workload, weights, identity["phase"], *limits
        )
        if workload.data_type != precision.FLOAT32:
            batch = runner.laid_out(*next(workload.batches()))
            found["precision"] = runner.precision(*batch)
            refused = precision.refusal(found["precision"])
            if refused:
                raise Unsupported(refused)
    elif job["kind"] == "train":
        checkpoint = training.Checkpoint(**job["checkpoint"])
        # Without dropout: frameworks draw different masks, and what they train could not be compared.
        runner, found = training.train(
            build, workload.changed(dropout=0.0), weights, settings, checkpoint, progress
        )
        found.update(status="ok", reason="")
    else:
        runner = build(workload)
        setup["build_s"] = time.perf_counter() - drawn
        gpu = None
        if identity["device"] == "gpu":
            gpu = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0]
        found = timing.time_batches(runner, workload, settings, progress, gpu)
        setup["first_step_s"] = found["warmup"][0]
        found.update(windows=workload.window_count(), memory=memory.peaks(runner))
        changed = found.pop("changes")
        found.update(verifying.verify(runner, workload, weights, identity["phase"]))
        if changed and found["status"] == "ok":
            reason = "the framework changed its settings while it was timed: %s" % changed
            found.update(status="failed", reason=reason)
    found.setdefault("memory", memory.peaks(runner))
    return dict(found, setup=setup, framework=runner.describe())


def attempt(job, progress):
    """Run a job; whatever happens, return a result."""
    try:
        return run(job, progress)
    except Unsupported as error:
        return {"status": "unsupported", "reason": str(error)}
    except Exception as error:
        traceback.print_exc()
        message = "%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0][:300])
        scarce = isinstance(error, MemoryError) or any(
            sign in (type(error).__name__ + str(error)).lower() for sign in OUT_OF_MEMORY_SIGNS
        )
        return {"status": "out-of-memory" if scarce else "failed", "reason": message}


def main():
    """Run the jobs one after the other, and leave a result of each."""
    jobs, folder = read_json(sys.argv[1]), sys.argv[2]
    last = [-1.0]
    for number, job in enumerate(jobs):
        name = "{benchmark} {implementation} {phase} {device} in {environment}".format(
            **job["identity"]
        )

        def progress(message, kind=job["kind"], name=name):
            if (
                time.monotonic() - last[0] >= 1
            ):  # a line a second in the log is enough to see that it lives
                last[0] = time.monotonic()
                sys.stderr.write("%s %s: %s\n" % (kind, name, message))

        found = attempt(job, progress)
        write_json(os.path.join(folder, "result-%d.json" % number), found)
        gc.collect()  # the model of this job, before the next one's


if __name__ == "__main__":
    main()
    # All is written. Frameworks take half a second to take themselves apart, of every process of a run.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
