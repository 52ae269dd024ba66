"""A process inside its environment that times one cell by turns, trains one, or makes checks of one implementation.

    python -m measurement.worker JOBS FOLDER

JOBS names a JSON file, a list of jobs (see supervisor.py); FOLDER gets a JSON file for each of them, result-0.json and
so on: a status, a reason, and what was found. Everything that can be said about the framework's own misbehaviour is caught here; a process
that dies is caught by the supervisor.

A process that times imports, builds and warms up, and then takes turns with others that do the same (rounds.py). Whatever it does
it does with the machine's clock, which it gives up between two turns; while it waits for it, FOLDER has a file `waiting`. Each look
is kept in a file as it comes: a process that is started again goes on from there.
"""

import contextlib
import datetime
import gc
import importlib
import os
import sys
import time
import traceback

from measurement import (
    checking,
    compiler_caches,
    devices,
    instructions,
    machine,
    machine_lock,
    memory,
    precision,
    provenance,
    quiet,
    ranges,
    rounds,
    timing,
    training,
    verifying,
)
from measurement.contract import Unsupported
from measurement.record import (
    SPOILT,
    WAITING,
    append_sealed,
    read_json,
    read_sealed_lines,
    write_json,
)
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


def imported(implementation):
    """(an implementation's module, the seconds that importing it took)"""
    start = time.perf_counter()
    module = module_of(implementation)
    return module, time.perf_counter() - start


def ran_as_asked(runner, workload):
    """What a library, or the system, tells of a step that was asked for another format, or held to an instruction set:
    {"precision", "instructions"}, of those asked for. Raises Unsupported where it ran otherwise."""
    told, refused = {}, ""
    if workload.data_type != precision.FLOAT32:
        told["precision"] = runner.precision(*runner.laid_out(*next(workload.batches())))
        refused = precision.refusal(workload.data_type, told["precision"])
    if workload.isa and not refused:
        told["instructions"] = instructions.seen(lambda: timing.some(runner, workload))
        refused = instructions.refusal(workload.isa, told["instructions"])
    if refused:
        raise Unsupported(refused)
    return told


class Prepared(object):
    """What a job's cell needs before it is built."""

    def __init__(self, job, progress):
        self.identity = job["identity"]
        cores = machine.usable_cores()
        if job["benchmark"].get("threads", 1) > cores:
            raise Unsupported(
                "it takes %d threads, and this machine has %d cores" % (job["threads"], cores)
            )
        lacking = instructions.missing(job["benchmark"].get("isa"))
        if lacking:
            raise Unsupported(lacking)
        self.module, import_s = imported(self.identity["implementation"])
        provenance.require(job["held_to"])
        progress("checking" if job["kind"] == "check" else "building")
        self.settings = job["check" if job["kind"] == "check" else "protocol"]
        self.workload = Workload(
            job["benchmark"],
            job["corpus"],
            job["seed"],
            batch=self.settings.get("batch"),
            threads=job["threads"],
            kernel=job.get("kernel"),
        )
        self.weights = self.workload.weights()
        self.setup = {"import_s": import_s}
        formats = getattr(self.module, "DATA_TYPES", (precision.FLOAT32,))
        if self.workload.data_type not in formats:
            raise Unsupported("it computes in %s only" % " and ".join(formats))
        if self.workload.data_type == precision.INT8 and self.identity["phase"] == "training":
            raise Unsupported("int8 is for inference only")

    def build(self, workload, weights=None):
        given = self.weights if weights is None else weights
        return self.module.build(workload, given, self.identity["device"], self.identity["phase"])

    def told(self, found, runner):
        """The fields of a record from what was found."""
        found.setdefault("memory", memory.peaks(runner))
        return dict(found, setup=self.setup, framework=runner.describe())


def checked(job, progress):
    """Check the job's cell."""
    cell = Prepared(job, progress)
    limits = cell.settings["tolerance"], cell.settings["steps"]
    runner, found = checking.check_implementation(
        cell.build, cell.workload, cell.weights, cell.identity["phase"], *limits
    )
    found.update(ran_as_asked(runner, cell.workload))
    return cell.told(found, runner)


def trained(job, progress):
    """Train the job's cell."""
    cell, checkpoint = Prepared(job, progress), training.Checkpoint(**job["checkpoint"])
    # Without dropout: frameworks draw different masks, and what they train could not be compared.
    workload = cell.workload.changed(dropout=0.0)
    runner, found = training.train(
        cell.build, workload, cell.weights, cell.settings, checkpoint, progress
    )
    return cell.told(dict(found, status="ok", reason=""), runner)


class TimedProcess(object):
    """A process that times a cell by turns."""

    def __init__(self, job, progress, folder):
        self._job, self._progress = job, progress
        self._waiting = os.path.join(folder, WAITING)
        self._looks = read_sealed_lines(job["looks"]) if "looks" in job else []
        self._life = 1 + max([look["life"] for look in self._looks] or [0])
        self._table, self._held_s = rounds.Alone(), 0.0

    @contextlib.contextmanager
    def _clock(self):
        """The machine's clock; until it is this process's it waits."""
        open(self._waiting, "w").close()
        with machine_lock.hold(True, self._progress):
            os.unlink(self._waiting)
            since = time.monotonic()
            try:
                yield
            finally:
                self._held_s += time.monotonic() - since

    def run(self):
        """Set up, take turns, verify; -> the fields of the record."""
        job, identity = self._job, self._job["identity"]
        if "turns" in job:
            compared = "{benchmark} {phase} {device}".format(**identity)
            self._table = rounds.Table(job["turns"], compared)
        try:
            with self._clock():
                self._set_up()
            self._table.ready()
            while not self._enough():
                self._turn()
        finally:
            self._table.leave()
        with self._clock():
            found = self._verified()
        return dict(found, seconds=self._held_s)

    def _set_up(self):
        job, identity = self._job, self._job["identity"]
        self._cell = cell = Prepared(job, self._progress)
        device, self._marked = devices.of(identity["device"]), ranges.unmarked
        self._found_compiled = bool(job.get("compiled")) and compiler_caches.share(job["compiled"])
        profiler = device.profiler_ranges() if cell.settings["nvtx"] else None
        if profiler:
            self._marked = ranges.marked(*profiler)
        if "profiler" in job:
            self._marked = ranges.sampled(*job["profiler"])
        start = time.perf_counter()
        with self._marked("build"):
            self._runner = cell.build(cell.workload)
        cell.setup["build_s"] = time.perf_counter() - start
        given = self._runner, cell.workload, cell.settings, self._progress
        with self._marked(identity["phase"]):
            self._timing = timing.Clock(*given, device=device, ranges=self._marked)
        cell.setup["first_step_s"] = self._timing.warmup[0]
        if job.get("compiled"):
            compiler_caches.leave(job["compiled"])

    def _turn(self):
        """Wait for this process's turn, and look."""
        open(self._waiting, "w").close()
        block, number = self._table.wait()
        with self._clock(), self._marked(self._cell.identity["phase"]):
            look = self._timing.look()
            look.update(block=block, round=number, life=self._life)
            if "looks" in self._job:
                append_sealed(self._job["looks"], look)
        self._looks.append(look)
        median = sorted(look["batches"])[len(look["batches"]) // 2]
        self._table.done(number, None if self._timing.disturbed(look) else median)

    def _enough(self):
        """Whether this process has looked often enough: as often as the protocol says, for as long as it says, or until it is
        decided how its row compares with others'. Disturbed looks do not count, up to as many again."""
        asked = self._cell.settings
        calm = [look for look in self._looks if not self._timing.disturbed(look)]
        for looks, times in ((calm, 1), (self._looks, 2)):
            seconds = sum(sum(look["batches"]) for look in looks)
            enough = asked["most_s"] is not None and seconds >= times * asked["most_s"]
            if enough and len(looks) >= times * asked["least_rounds"]:
                return True
            if len(looks) >= times * asked["most_rounds"]:
                return True
        decided = len(calm) >= asked["rounds"]
        return decided and self._table.decided(self._job["target_interval"])

    def _verified(self):
        """What was found, after one more batch that is held against the reference."""
        cell, runner = self._cell, self._runner
        with self._marked(cell.identity["phase"]):
            found = dict(quiet.of_looks(self._looks), **self._timing.finish())
        found.update(windows=cell.workload.window_count(), memory=memory.peaks(runner))
        found.update(lives=self._life, found_compiled=self._found_compiled)
        changed = found.pop("changes")
        with self._marked("verify"):
            found.update(
                verifying.verify(runner, cell.workload, cell.weights, cell.identity["phase"])
            )
        if changed and found["status"] == "ok":
            reason = "the framework changed its settings while it was timed: %s" % changed
            found.update(status="failed", reason=reason)
        return cell.told(found, runner)


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


def attempt(job, progress, folder):
    """Run a job; whatever happens, return a result. None counts of what its record is not named after."""
    found = _attempt(job, progress, folder)
    try:
        provenance.require(job["held_to"])  # with what was imported on the way
    except provenance.Changed as changed:
        found = {"status": "failed", "reason": str(changed)}
        if job["kind"] == "train" and os.path.exists(job["checkpoint"]["path"]):
            os.unlink(job["checkpoint"]["path"])
    if "looks" in job and found["status"] not in ("ok", "out-of-memory"):
        with contextlib.suppress(
            OSError
        ):  # what it has seen is no number; after a lack of memory it is
            os.unlink(job["looks"])
    return found


def _attempt(job, progress, folder):
    try:
        if job["kind"] == "time":
            return TimedProcess(job, progress, folder).run()
        return (checked if job["kind"] == "check" else trained)(job, progress)
    except Exception as error:
        if not isinstance(error, Unsupported):
            traceback.print_exc()
        return verdict_of(error)


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


def main():
    """Run the jobs one after the other, and leave a result of each, with when it began and what it took; -> exit status."""
    jobs, folder = read_json(sys.argv[1]), sys.argv[2]
    since = STARTED
    for number, job in enumerate(jobs):
        before = datetime.timedelta(seconds=time.monotonic() - since)
        started = datetime.datetime.utcnow() - before
        found = attempt(job, teller(job), folder)
        own = found.pop(
            "seconds", time.monotonic() - since
        )  # of a timing without those that it waited
        at = {"started": started.isoformat() + "Z", "seconds": own}
        write_json(os.path.join(folder, "result-%d.json" % number), dict(found, at=at))
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
