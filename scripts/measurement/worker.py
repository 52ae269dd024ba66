"""A fresh process that times or trains one cell, or makes checks of one implementation, inside its environment.

    python -m measurement.worker JOBS FOLDER

JOBS names a JSON file, a list of jobs (see supervisor.py); FOLDER gets a JSON file for each of them, result-0.json and
so on: a status, a reason, and what was found. Everything that can be said about the framework's own misbehaviour is caught here; a process
that dies is caught by the supervisor.

Several timings are of one implementation. Each has a process of its own, that has run nothing but it; all but the last are
forked from this one, when it has imported the framework and before it computes anything: starting one takes longer than
most timings.
"""

import datetime
import gc
import importlib
import os
import signal
import sys
import time
import traceback

from implementations.contract import Unsupported
from measurement import (
    caches,
    checking,
    instructions,
    loaded,
    machine,
    memory,
    precision,
    ranges,
    timing,
    training,
    verifying,
)
from measurement.record import SPOILT, read_json, write_json
from measurement.workload import Workload

OUT_OF_MEMORY_SIGNS = (
    *("out of memory", "resourceexhausted", "can't allocate memory", "bad_alloc"),
    "alloc_failed",  # cuBLAS and cuDNN
)


def module_of(implementation):
    """`pytorch/fine-grained` -> the module implementations.pytorch.fine_grained."""
    return importlib.import_module(
        "implementations." + implementation.replace("/", ".").replace("-", "_")
    )


STARTED = time.monotonic()
PROCESS = os.getpid()  # also in those that are forked from it
IMPORTED = {}  # {implementation: (its module, seconds)}, by this process or the one that it was forked from


def imported(implementation):
    """(an implementation's module, the seconds that importing it took)"""
    if implementation not in IMPORTED:
        start = time.perf_counter()
        module = module_of(implementation)
        IMPORTED[implementation] = module, time.perf_counter() - start
    return IMPORTED[implementation]


def ran_as_asked(runner, workload):
    """What a library, or the system, tells of a step that was asked for another format, or held to an instruction set:
    {"precision", "instructions"}, of those asked for. Raises Unsupported where it ran otherwise."""
    told, refused = {}, ""
    if workload.data_type != precision.FLOAT32:
        told["precision"] = runner.precision(*runner.laid_out(*next(workload.batches())))
        refused = precision.refusal(told["precision"])
    if workload.isa and not refused:
        told["instructions"] = instructions.seen(lambda: timing.some(runner, workload))
        refused = instructions.refusal(workload.isa, told["instructions"])
    if refused:
        raise Unsupported(refused)
    return told


def run(job, progress):
    """Check, time or train the job's cell. Returns the fields of its record."""
    identity, settings = job["identity"], job["check" if job["kind"] == "check" else "protocol"]
    cores = machine.usable_cores()
    if job["benchmark"].get("threads", 1) > cores:
        raise Unsupported(
            "it takes %d threads, and this machine has %d cores" % (job["threads"], cores)
        )
    lacking = instructions.missing(job["benchmark"].get("isa"))
    if lacking:
        raise Unsupported(lacking)
    module, import_s = imported(identity["implementation"])
    loaded.require(job["held_to"])
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
    setup = {"import_s": import_s}
    if workload.data_type not in getattr(module, "DATA_TYPES", (precision.FLOAT32,)):
        raise Unsupported("it computes in float32 only")

    def build(workload, weights=weights):
        return module.build(workload, weights, identity["device"], identity["phase"])

    if job["kind"] == "check":
        limits = settings["tolerance"], settings["steps"]
        runner, found = checking.check_implementation(
            build, workload, weights, identity["phase"], *limits
        )
        found.update(ran_as_asked(runner, workload))
    elif job["kind"] == "train":
        checkpoint = training.Checkpoint(**job["checkpoint"])
        # Without dropout: frameworks draw different masks, and what they train could not be compared.
        runner, found = training.train(
            build, workload.changed(dropout=0.0), weights, settings, checkpoint, progress
        )
        found.update(status="ok", reason="")
    else:
        gpu, marked = None, ranges.unmarked
        compiled = job.get("compiled")
        found_compiled = bool(compiled) and caches.share(compiled)
        if identity["device"] == "gpu":
            gpu = os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0]
            marked = ranges.marked() if settings["nvtx"] else marked
        if "profiler" in job:
            marked = ranges.sampled(*job["profiler"])
        with marked("build"):
            runner = build(workload)
        setup["build_s"] = time.perf_counter() - drawn
        with marked(identity["phase"]):
            found = timing.time_batches(runner, workload, settings, progress, gpu, marked)
        setup["first_step_s"] = found["warmup"][0]
        found.update(windows=workload.window_count(), memory=memory.peaks(runner))
        changed = found.pop("changes")
        with marked("verify"):
            found.update(verifying.verify(runner, workload, weights, identity["phase"]))
        found["found_compiled"] = found_compiled
        if compiled and found["status"] == "ok":
            caches.leave(compiled)
        if changed and found["status"] == "ok":
            reason = "the framework changed its settings while it was timed: %s" % changed
            found.update(status="failed", reason=reason)
    found.setdefault("memory", memory.peaks(runner))
    return dict(found, setup=setup, framework=runner.describe(), forked=os.getpid() != PROCESS)


def first(error, tells):
    """Of an error and those that it came after, one of which `tells(error)` holds, else None. What breaks off the capture
    of a CUDA graph, for one, ends in another error."""
    while error is not None and not tells(error):
        error = error.__cause__ or error.__context__
    return error


def _whole(error):
    return "%s: %s" % (type(error).__name__, str(error).strip())


def _scarce(error):
    signs = any(sign in _whole(error).lower() for sign in OUT_OF_MEMORY_SIGNS)
    return signs or isinstance(error, MemoryError)


def verdict_of(error):
    """{"status", "reason"} of a job that an error has ended."""
    if isinstance(error, Unsupported):
        return {"status": "unsupported", "reason": str(error)}
    scarce = first(error, _scarce)
    lacking = None if scarce else first(error, lambda each: instructions.lacking(_whole(each)))
    if lacking:
        return {"status": "unsupported", "reason": instructions.lacking(_whole(lacking))}
    message = _whole(scarce or error).split("\n")[0][:400]
    return {"status": "out-of-memory" if scarce else "failed", "reason": message}


def attempt(job, progress):
    """Run a job; whatever happens, return a result. None counts of what its record is not named after."""
    found = _attempt(job, progress)
    try:
        loaded.require(job["held_to"])  # with what was imported on the way
    except loaded.Changed as changed:
        found = {"status": "failed", "reason": str(changed)}
        if job["kind"] == "train" and os.path.exists(job["checkpoint"]["path"]):
            os.unlink(job["checkpoint"]["path"])
    return found


def _attempt(job, progress):
    try:
        return run(job, progress)
    except Exception as error:
        if not isinstance(error, Unsupported):
            traceback.print_exc()
        return verdict_of(error)


def forked(leave, folder):
    """Have `leave()` leave its result from a process that is forked from this one, with a folder for temporary files and
    compiled code of its own; -> how that ended, in words."""
    sys.stdout.flush()
    sys.stderr.flush()
    parent, child = os.getpid(), os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return "the process was ended by signal %s" % signal.Signals(os.WTERMSIG(status)).name
        return "the process ended before it left a result"
    try:
        machine.die_with_parent(parent)
        caches.work_in(folder)
        leave()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def forks(job):
    """Whether a timing may run in a process that is forked from this one, which imports what it needs."""
    try:
        module, _ = imported(job["identity"]["implementation"])
    except Exception:  # the job itself says so
        return False
    return getattr(module, "FORKS", True)


def teller(job):
    """A function that writes into the log how far a job is: a line a second is enough to see that it lives."""
    name = "{benchmark} {implementation} {phase} {device} in {environment}".format(
        **job["identity"]
    )
    last = [-1.0]

    def progress(message):
        if time.monotonic() - last[0] >= 1:
            last[0] = time.monotonic()
            sys.stderr.write("%s %s: %s\n" % (job["kind"], name, message))

    return progress


def leave(job, result, since):
    """Run a job and write its result, with when it began, `since` a point of the monotonic clock, and what it took; -> what
    was found"""
    before = datetime.timedelta(seconds=time.monotonic() - since)
    started = datetime.datetime.utcnow() - before
    found = attempt(job, teller(job))
    at = {"started": started.isoformat() + "Z", "seconds": time.monotonic() - since}
    write_json(result, dict(found, at=at))
    return found


def main():
    """Run the jobs one after the other, and leave a result of each; -> exit status."""
    jobs, folder = read_json(sys.argv[1]), sys.argv[2]
    since = STARTED
    for number, job in enumerate(jobs):
        result = os.path.join(folder, "result-%d.json" % number)
        if job["kind"] == "time" and number < len(jobs) - 1:
            reason = ""
            if forks(job):
                now = time.monotonic()
                own = os.path.join(folder, "forked-%d" % number)
                reason = forked(lambda: leave(job, result, now), own)
                since = time.monotonic()  # importing is nobody's, and stands in all records
            if not os.path.exists(result):
                write_json(result, {"status": "failed", "reason": reason})
            continue
        found = leave(job, result, since)
        since = time.monotonic()
        if found["status"] == "failed" and job["identity"]["device"] == "gpu":
            return SPOILT
        gc.collect()  # the model of this job, before the next one's
    return 0


if __name__ == "__main__":
    status = main()
    # All is written. Frameworks take half a second to take themselves apart, of every process of a run.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
