"""Runs a worker in a fresh process, outlives whatever happens to it, and writes the record."""

import argparse
import contextlib
import datetime
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from measurement import (
    compiler_caches,
    devices,
    instructions,
    machine,
    machine_lock,
    memory,
    processes,
    provenance,
)
from measurement.record import (
    SCHEMA_VERSION,
    SPOILT,
    WAITING,
    note_attempt,
    read_json,
    read_result,
    whole,
    write_json,
    write_sealed,
)

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The variable by which a run tells all that it starts where its copy of the scripts lies, and what it is a copy of.
RUN = "WORKFLOW_RUN"
READ = ("environment", "corpus", "kernel", "check")  # the records that a job can read
# Snakemake exports these with its own idea of threads (the rule's `threads`, which may exceed the real
# cores); the protocol decides.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TVM_NUM_THREADS",
    "GOTO_NUM_THREADS",
)

# Beside each other, checks whose threads spin while they wait take five times as long (two of a language model on two
# cores: 25.8 s instead of 6.2 s, of which one takes 5.3 s alone). The reference is fast enough on one thread.
PATIENT = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "OPENBLAS_NUM_THREADS": "1"}


def parse_arguments(description):
    """The arguments common to checking, timing and training."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--job", required=True, type=json.loads, help="what to do, as JSON")
    parser.add_argument(
        "--parent", type=int, help="process that asked for it; without it, this one ends too"
    )
    parser.add_argument("--log", required=True, help="file for what the framework prints")
    parser.add_argument("--output", required=True, help="the record to write")
    return parser.parse_args()


def worker_environment(kind, threads, device, departure=None, workers=1, isa=None):
    """The environment variables of a worker for jobs of a kind, which sees as many GPUs as it has `workers`, or none
    for a cell of the CPU; held to an instruction set where one is given."""
    variables = dict(os.environ, **{name: str(threads) for name in THREAD_VARIABLES})
    if kind == "check":
        variables.update(PATIENT)
    variables.update(devices.variables(device, workers, departure))
    variables.update(instructions.switches(isa, variables))
    variables["PYTHONPATH"] = SCRIPTS
    variables["PYTHONNOUSERSITE"] = "1"
    variables["PYTHONHASHSEED"] = "0"
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return variables


def _reason_of_death(code, kills_before, printed):
    """Status and reason for a worker that left no result; printed: the end of what it printed."""
    lacking = instructions.lacking(printed)
    if code == -signal.SIGABRT and lacking:  # an error of C++ that nobody caught
        return "unsupported", lacking
    if code < 0:
        name = signal.Signals(-code).name
        kills = machine.out_of_memory_kills()
        if code == -signal.SIGKILL and kills is not None and kills > (kills_before or 0):
            return "out-of-memory", "the system killed the process: out of memory"
        return "failed", "the process was ended by signal %s" % name
    return "failed", "the process ended with exit status %d without a result" % code


def _end(log, most=4096):
    """The last characters of a log."""
    with open(log, "rb") as stream:
        stream.seek(max(0, os.path.getsize(log) - most))
        return stream.read().decode(errors="replace")


def _wait(process, take, timeout_s, parent):
    """Wait until a worker ends, or is longer than `timeout_s` at one of its tasks, or turns; `take()` takes the results that it has
    left meanwhile, and says whether there were any, or whether it waits for its turn. Returns its exit status, or None if it is out
    of time, by a clock that nobody sets."""
    since = time.monotonic()
    while True:
        try:
            return process.wait(timeout=1)  # a look a second is nothing beside a clock
        except subprocess.TimeoutExpired:
            pass
        if take():
            since = time.monotonic()
        if time.monotonic() - since > timeout_s:
            return None
        if parent and not processes.alive(parent):
            raise SystemExit(machine_lock.ENDED)


def run_worker(jobs, log, leave, parent=None):
    """Run a worker for tasks of one kind and environment, one after the other. Of each that it comes to, `leave` gets its
    number and its result, as soon as it is there, or the status and reason of the worker's death. Returns how many these
    are: tasks after a death are left, as are those after one that has spoilt the process."""
    with tempfile.TemporaryDirectory(prefix="cell-") as folder, open(log, "a") as output:
        job_path = os.path.join(folder, "jobs.json")
        results = [os.path.join(folder, "result-%d.json" % number) for number in range(len(jobs))]
        temporary = os.path.join(folder, "tmp")
        os.mkdir(temporary)
        write_json(job_path, jobs)
        kills = machine.out_of_memory_kills()
        job, taken = jobs[0], []

        def take():
            before = len(taken)
            # Up to the first that is missing: a task's result is told from others' by its place only.
            for number in range(before, len(jobs)):
                if not os.path.exists(results[number]):
                    break
                taken.append(number)
                leave(number, read_json(results[number]))
            return len(taken) > before or os.path.exists(os.path.join(folder, WAITING))

        process = subprocess.Popen(
            [sys.executable, "-m", "measurement.worker", job_path, folder],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(
                worker_environment(
                    job["kind"],
                    job["threads"],
                    job["identity"]["device"],
                    job["benchmark"].get("departure"),
                    job["workers"],
                    job["benchmark"].get("isa"),
                ),
                **compiler_caches.below(temporary),
            ),
            start_new_session=True,  # so that what it starts, compilers for one, can be ended with it
            preexec_fn=processes.die_with_parent,
        )
        try:
            code = _wait(process, take, job["timeout_s"], parent)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            processes.end_descendants(os.getpid())  # also what has left its session
        take()
        if len(taken) < len(jobs) and (code != SPOILT or not taken):
            if parent and not processes.alive(parent):
                raise SystemExit(
                    machine_lock.ENDED
                )  # with whatever took the result or the process away
            if code is None:
                reason = "not finished after %g s (protocol.timeout_s)" % job["timeout_s"]
                status = "timeout"
            else:
                status, reason = _reason_of_death(code, kills, _end(log))
            taken.append(len(taken))
            leave(taken[-1], {"status": status, "reason": reason})
        return len(taken)


def repository():
    """Commit of the workflow and whether its files differ from it, as they did when the run began; None outside a git
    checkout."""
    if RUN in os.environ:
        return json.loads(os.environ[RUN])["repository"]
    try:
        commit, dirty, ours = (
            subprocess.check_output(
                ("git",) + arguments,
                cwd=SCRIPTS,
                stderr=subprocess.DEVNULL,
                universal_newlines=True,
            ).strip()
            for arguments in (
                ("rev-parse", "HEAD"),
                ("status", "--porcelain"),
                # Nothing, where these files lie in a repository that is not of them: a download inside somebody's own.
                ("ls-files", "--full-name", "measurement/supervisor.py"),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    if ours != "scripts/measurement/supervisor.py":
        return None
    return {"commit": commit, "dirty": bool(dirty)}


def _key(job, *more):
    """What a checkpoint has to have in common with the run that goes on from it, which may be given more time."""
    free = ("timeout_s", "failed_attempts", "failures", "corpus", "checkpoint", "path")
    same = {name: value for name, value in job.items() if name not in free}
    return hashlib.sha256(json.dumps([same, more], sort_keys=True).encode()).hexdigest()


def prepared(job):
    """A job with what it reads: (job, {"environment", "corpus", "kernel", "check": their records}, why it is not to be
    run: {"status", "reason"} of the first of them that is not `ok`, or None)."""
    job = dict(job)
    reads = job.pop("reads")
    read = {name: read_result(reads[name]) if name in reads else None for name in READ}
    job["kernel"] = os.path.dirname(reads["kernel"]) if "kernel" in reads else None
    job["corpus"] = os.path.dirname(os.path.abspath(reads["corpus"])) if read["corpus"] else None
    if "checkpoint" in job:
        # A changed implementation is checked anew: another check.
        key = _key(job, read["environment"]["fingerprint"], read["corpus"], read["check"])
        job["checkpoint"] = {"path": os.path.abspath(job["checkpoint"]), "key": key}
    job["held_to"] = {
        "sources": job["parts"]["sources"],
        "environment": read["environment"],
        "beside": {reads[name]: read[name] for name in ("corpus", "kernel") if read[name]},
    }
    for name in ("environment", "kernel", "check"):
        if read[name] and read[name]["status"] != "ok":
            return job, read, {key: read[name][key] for key in ("status", "reason")}
    return job, read, None


def _changed(job):
    """{"status", "reason"} where this process has loaded other files than a job was planned with; None where not."""
    try:
        return provenance.require_planned(job["parts"]["sources"])
    except provenance.Changed as changed:
        return {"status": "failed", "reason": str(changed)}


def _record(job, read, found, about):
    """The record of a job from what was found, and `about` the circumstances."""
    record = dict(
        found,
        schema_version=SCHEMA_VERSION,
        kind=job["kind"],
        identity=job["identity"],
        parts=job["parts"],
        benchmark=job["benchmark"],
        protocol=job.get("protocol") or job["check"],
        threads=job["threads"],
        seed=job["seed"],
        environment=read["environment"],
        corpus=read["corpus"],
        **about,
    )
    if read["kernel"]:
        record["kernel"] = read["kernel"]
    if read["check"]:
        kept = ("status", "errors", "gradient_error", "dropout", "precision", "instructions")
        record["check"] = {key: read["check"].get(key) for key in kept}
    return record


def _say(job, what):
    """A line on the terminal about a job."""
    name = "{implementation} {phase} on {device}, {benchmark} in {environment}"
    sys.stderr.write("    %s %s: %s\n" % (job["kind"], name.format(**job["identity"]), what))


def _told(record):
    """What became of a job, in short."""
    if record["status"] != "ok":
        return "%s: %s" % (record["status"], record["reason"])
    if "samples" in record:
        return "%.4g s per batch" % sorted(record["samples"])[len(record["samples"]) // 2]
    return "ok"


def _leave(record, job):
    """Write a record, keep a failed attempt, and say on the terminal what became of it. What it was made of goes."""
    note_attempt(job["failures"], record)
    write_sealed(job["path"], record)
    _say(job, _told(record))
    if record["status"] == "ok":
        for path in (job.get("checkpoint", {}).get("path"), job.get("looks")):
            if path and os.path.exists(path):
                os.unlink(path)


def _stopped(number, frame):
    """What a signal does: what runs below is ended on the way out."""
    raise SystemExit("stopped by signal %s" % signal.Signals(number).name)


def supervise(arguments):
    """Carry out what the command line says, when it is its turn on this machine; a timing takes turns by itself."""
    kind = arguments.job["kind"]
    checks = arguments.job.get("checks")
    jobs = checks or [dict(arguments.job, path=arguments.output)]
    say = functools.partial(_say, jobs[0])
    own = (
        contextlib.ExitStack()
        if kind == "time"
        else machine_lock.hold(not checks, say, arguments.parent)
    )
    with own:
        scarce = carry_out(arguments, jobs)
    # Two checks beside each other need more than either: 10 to 13 GB each, of a vocabulary of 35,000 in TensorFlow of 2018.
    if scarce:
        with machine_lock.hold(True, say, arguments.parent):
            carry_out(arguments, scarce, alone=True)
    if checks:
        write_sealed(arguments.output, {"checks": [check["path"] for check in jobs]})


def carry_out(arguments, jobs, alone=False):
    """Run jobs, unless something upstream already decided their status, and write the records. Returns the checks for
    which memory did not last, unless they were alone: they have no record yet."""
    processes.adopt()
    signal.signal(signal.SIGTERM, _stopped)
    signal.signal(signal.SIGINT, _stopped)
    if not alone:
        with whole(arguments.log):
            pass  # empty, and a stop with one line where nothing can be written
    load, now = os.getloadavg(), datetime.datetime.utcnow().isoformat() + "Z"
    facts = {
        "machine": machine.facts(),
        "inherited": memory.inherited(os.environ),
        "repository": repository(),
    }
    last = [time.monotonic()]  # when a result was there, by a clock that nobody sets

    def leave(job, read, found):
        at = found.pop("at", {"started": now, "seconds": time.monotonic() - last[0]})
        last[0] = time.monotonic()
        about = dict(facts, load={"before": load, "after": os.getloadavg()}, **at)
        _leave(_record(job, read, found, about), job)

    pending, scarce = [], []
    for job in jobs:
        ready = prepared(job)
        if ready[2]:
            leave(*ready)
        else:
            pending.append(ready[:2])

    def take(number, found):
        job, read = pending[number]
        if job["kind"] == "check" and found["status"] == "out-of-memory" and not alone:
            _say(job, _told(found) + "; trying again alone on this machine")
            scarce.append(job["path"])
            return
        leave(job, read, _changed(job) or found)

    while pending:
        came = run_worker([job for job, _ in pending], arguments.log, take, arguments.parent)
        pending = pending[came:]
    return [job for job in jobs if job["path"] in scarce]
