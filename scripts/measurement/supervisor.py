"""Runs a worker in a fresh process, outlives whatever happens to it, and writes the record."""

import argparse
import datetime
import functools
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from measurement import departures, instructions, loaded, machine, memory, turns
from measurement.record import (
    SCHEMA_VERSION,
    SPOILT,
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
CLOCKS = ("time", "train")  # kinds of jobs; checks compute beside each other
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

# Where compilers keep what they have compiled for the next process, which would find it instead of building it: in 2 s
# instead of 18 to 22, torch.compile of five steps of a cell (PyTorch 2.13). Theano's is below TMPDIR.
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")


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
    if device == "gpu":
        variables.update(machine.visible_gpus(workers))
        # All CUDA libraries obey it: no product is rounded to TF32, whatever a framework's own default is. XLA has kernels
        # of its own, which JAX asks; and it would take three quarters of a GPU's memory, which two checks share.
        variables["NVIDIA_TF32_OVERRIDE"] = "0"
        variables["JAX_DEFAULT_MATMUL_PRECISION"] = "highest"
        variables["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    else:
        variables["CUDA_VISIBLE_DEVICES"] = "-1"  # a CUDA build would start a context otherwise
        if departure != departures.DEFAULT_MALLOC:
            variables.update(memory.KEPT)
    variables.update(instructions.switches(isa, variables))
    variables["PYTHONPATH"] = SCRIPTS
    variables["PYTHONNOUSERSITE"] = "1"
    variables["PYTHONHASHSEED"] = "0"
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return variables


def with_own_caches(variables, folder):
    """Environment variables of a process whose temporary files and compiled code go to a folder of its own."""
    caches = {name: os.path.join(folder, name.lower()) for name in CACHES}
    return dict(variables, TMPDIR=folder, **caches)


def _reason_of_death(code, kills_before, printed):
    """Status and reason for a worker that left no result; printed: the end of what it printed."""
    lacking = instructions.lacking(printed)
    if code == -signal.SIGABRT and lacking:  # an error of C++ that nobody caught
        return "unsupported", lacking
    if code < 0:
        name = signal.Signals(-code).name
        kills = machine.out_of_memory_kills()
        if code == -signal.SIGKILL and kills is not None and kills > (kills_before or 0):
            return "out-of-memory", "the system killed the process for want of memory"
        return "failed", "the process was ended by signal %s" % name
    return "failed", "the process ended with exit status %d before it left a result" % code


def _end(log, most=4096):
    """The last characters of a log."""
    with open(log, "rb") as stream:
        stream.seek(max(0, os.path.getsize(log) - most))
        return stream.read().decode(errors="replace")


def _wait(process, results, timeout_s, parent):
    """Wait until a worker ends, or is longer than `timeout_s` at one of its tasks; `results` are the files that it
    writes, one after the other. Returns its exit status, or None if it is out of time, by a clock that nobody sets."""
    finished, since = 0, time.monotonic()
    while True:
        try:
            return process.wait(timeout=1)  # a look a second is nothing beside a clock
        except subprocess.TimeoutExpired:
            pass
        now = sum(map(os.path.exists, results))
        if now > finished:
            finished, since = now, time.monotonic()
        if time.monotonic() - since > timeout_s:
            return None
        if parent and not machine.alive(parent):
            raise SystemExit(turns.ENDED)


def run_worker(jobs, log, parent=None):
    """Run a worker for tasks of one kind and environment, one after the other. Returns for each task that it came to
    its result, or the status and reason of the worker's death; tasks after that one are left, as are those after one
    that has spoilt the process."""
    with tempfile.TemporaryDirectory(prefix="cell-") as folder, open(log, "a") as output:
        job_path = os.path.join(folder, "jobs.json")
        results = [os.path.join(folder, "result-%d.json" % number) for number in range(len(jobs))]
        temporary = os.path.join(folder, "tmp")
        os.mkdir(temporary)
        write_json(job_path, jobs)
        kills = machine.out_of_memory_kills()
        job = jobs[0]
        process = subprocess.Popen(
            [sys.executable, "-m", "measurement.worker", job_path, folder],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=with_own_caches(
                worker_environment(
                    job["kind"],
                    job["threads"],
                    job["identity"]["device"],
                    job["benchmark"].get("departure"),
                    job["workers"],
                    job["benchmark"].get("isa"),
                ),
                temporary,
            ),
            start_new_session=True,  # so that what it starts, compilers for one, can be ended with it
            preexec_fn=machine.die_with_parent,
        )
        try:
            code = _wait(process, results, job["timeout_s"], parent)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            machine.end_descendants(os.getpid())  # also what has left its session
        # Up to the first that is missing: a task's result is told from others' by its place only.
        there = itertools.takewhile(os.path.exists, results)
        found = [read_json(result) for result in there]
        if len(found) < len(jobs) and (code != SPOILT or not found):
            if parent and not machine.alive(parent):
                raise SystemExit(turns.ENDED)  # with whatever took the result or the process away
            if code is None:
                reason = "not finished after %g s (protocol.timeout_s)" % job["timeout_s"]
                found.append({"status": "timeout", "reason": reason})
            else:
                status, reason = _reason_of_death(code, kills, _end(log))
                found.append({"status": status, "reason": reason})
        return found


def repository():
    """Commit of the workflow and whether its files differ from it, as they did when the run began; None outside a git
    checkout."""
    if RUN in os.environ:
        return json.loads(os.environ[RUN])["repository"]
    try:
        commit, dirty = (
            subprocess.check_output(
                ("git",) + arguments,
                cwd=SCRIPTS,
                stderr=subprocess.DEVNULL,
                universal_newlines=True,
            ).strip()
            for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "dirty": bool(dirty)}


def _key(job, *more):
    """What a checkpoint has to have in common with the run that goes on from it, which may be given more time."""
    free = ("timeout_s", "failed_attempts", "failures", "corpus", "checkpoint", "path")
    same = {name: value for name, value in job.items() if name not in free}
    return hashlib.sha256(json.dumps([same, more], sort_keys=True).encode()).hexdigest()


def _prepared(job):
    """A job with what it reads: (job, {"environment", "corpus", "kernel", "check": their records}, why it is not to be
    run: {"status", "reason"} of the first of them that is not `ok`, or None)."""
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


def _changed(jobs):
    """{"status", "reason"} where this process has loaded other files than jobs were planned with; None where not."""
    try:
        for digest in sorted({job["parts"]["sources"] for job in jobs}):
            loaded.require_planned(digest)
        return None
    except loaded.Changed as changed:
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


def _leave(record, job, path):
    """Write a record, keep a failed attempt, and say on the terminal what became of it."""
    status = record["status"]
    note_attempt(job["failures"], record)
    write_sealed(path, record)
    if status != "ok":
        said = "%s: %s" % (status, record["reason"])
    elif "samples" in record:
        said = "%.4g s a batch" % sorted(record["samples"])[len(record["samples"]) // 2]
    else:
        said = "ok"
    _say(job, said)


def _stopped(number, frame):
    """What a signal does: what runs below is ended on the way out."""
    raise SystemExit("stopped by signal %s" % signal.Signals(number).name)


def supervise(arguments):
    """Carry out what the command line says, when it is its turn on this machine."""
    kind = arguments.job["kind"]
    first = arguments.job["checks"][0] if kind == "checking" else arguments.job
    with turns.turn(kind in CLOCKS, functools.partial(_say, first), arguments.parent):
        carry_out(arguments)


def carry_out(arguments):
    """Run a job, or each check of one that is made of them, unless something upstream already decided its status, and
    write the records."""
    machine.adopt()
    signal.signal(signal.SIGTERM, _stopped)
    signal.signal(signal.SIGINT, _stopped)
    one = arguments.job["kind"] != "checking"
    jobs = [dict(arguments.job, path=arguments.output)] if one else arguments.job["checks"]
    with whole(arguments.log):
        pass  # empty, and a stop with one line where nothing can be written
    started, load = datetime.datetime.utcnow(), os.getloadavg()
    since = time.monotonic()
    prepared = [_prepared(job) for job in jobs]
    pending = [job for job, _, decided in prepared if not decided]
    results = []
    while len(results) < len(pending):
        results += run_worker(pending[len(results) :], arguments.log, arguments.parent)
    results.reverse()
    about = {
        "machine": machine.facts(),
        "inherited": memory.inherited(os.environ),
        "load": {"before": load, "after": os.getloadavg()},
        "repository": repository(),
        "started": started.isoformat() + "Z",
        "seconds": (time.monotonic() - since) / len(jobs),
    }
    changed = _changed(jobs)
    for job, read, decided in prepared:
        found = decided or results.pop()
        if changed and not decided:
            found = changed
        _leave(_record(job, read, found, about), job, job["path"])
        checkpoint = job.get("checkpoint")
        if checkpoint and found["status"] == "ok" and os.path.exists(checkpoint["path"]):
            os.unlink(checkpoint["path"])
    if not one:
        write_sealed(arguments.output, {"checks": [job["path"] for job in jobs]})
