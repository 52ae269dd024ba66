"""Runs a worker in a fresh process, outlives whatever happens to it, and writes the record."""

import argparse
import datetime
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile

from measurement import departures, machine, memory
from measurement.record import RETRIED, SCHEMA_VERSION, append_line, read_json, write_json

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
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


def parse_arguments(description):
    """The arguments common to checking, timing and training."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--job", required=True, type=json.loads, help="what to do, as JSON")
    parser.add_argument("--environment", required=True, help="the environment's record")
    parser.add_argument(
        "--corpus", help="corpus.json, for a language model; the tokens lie beside it"
    )
    parser.add_argument("--check", help="the check's record (timing and training)")
    parser.add_argument(
        "--checkpoint",
        help="file that an interrupted training run goes on from; removed at its end",
    )
    parser.add_argument("--kernel", help="kernel.json of what was built for this cell, if anything")
    parser.add_argument("--failures", required=True, help="file that keeps failed attempts")
    parser.add_argument("--log", required=True, help="file for what the framework prints")
    parser.add_argument("--output", required=True, help="the record to write")
    return parser.parse_args()


def worker_environment(threads, device, departure=None, workers=1):
    """The environment variables of a worker, which sees as many GPUs as it has `workers`, or none for a cell of the
    CPU."""
    variables = dict(os.environ, **{name: str(threads) for name in THREAD_VARIABLES})
    if device == "gpu":
        variables.update(machine.visible_gpus(workers))
        # All CUDA libraries obey it: no product is rounded to TF32, whatever a framework's own default is.
        variables["NVIDIA_TF32_OVERRIDE"] = "0"
    else:
        variables["CUDA_VISIBLE_DEVICES"] = "-1"  # a CUDA build would start a context otherwise
        if departure != departures.DEFAULT_MALLOC:
            variables.update(memory.KEPT)
    variables["PYTHONPATH"] = SCRIPTS
    variables["PYTHONNOUSERSITE"] = "1"
    variables["PYTHONHASHSEED"] = "0"
    variables.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return variables


def _reason_of_death(code, kills_before):
    """Status and reason for a worker that left no result."""
    if code < 0:
        name = signal.Signals(-code).name
        kills = machine.out_of_memory_kills()
        if code == -signal.SIGKILL and kills is not None and kills > (kills_before or 0):
            return "out-of-memory", "the system killed the process for want of memory"
        return "failed", "the process was ended by signal %s" % name
    return "failed", "the process ended with exit status %d before it left a result" % code


def run_worker(job, log):
    """Run one worker to its end. Returns its result, or the status and reason of its death."""
    with tempfile.TemporaryDirectory(prefix="cell-") as folder, open(log, "w") as output:
        job_path, result = os.path.join(folder, "job.json"), os.path.join(folder, "result.json")
        write_json(job_path, job)
        kills = machine.out_of_memory_kills()
        terminal = os.dup(2)
        process = subprocess.Popen(
            [sys.executable, "-m", "measurement.worker", job_path, result, str(terminal)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(terminal,),
            env=worker_environment(
                job["threads"],
                job["identity"]["device"],
                job["benchmark"].get("departure"),
                job["workers"],
            ),
            start_new_session=True,  # so that what it starts, compilers for one, can be ended with it
            preexec_fn=machine.die_with_parent,
        )
        os.close(terminal)
        try:
            code = process.wait(timeout=job["timeout_s"])
        except subprocess.TimeoutExpired:
            return {
                "status": "timeout",
                "reason": "not finished after %g s (protocol.timeout_s)" % job["timeout_s"],
            }
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if os.path.exists(result):
            return read_json(result)
        status, reason = _reason_of_death(code, kills)
        return {"status": status, "reason": reason}


def _repository():
    """Commit of the workflow and whether its files differ from it; None outside a git checkout."""
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
    free = ("timeout_s", "failed_attempts", "corpus")
    same = {name: value for name, value in job.items() if name not in free}
    return hashlib.sha256(json.dumps([same, more], sort_keys=True).encode()).hexdigest()


def supervise(arguments):
    """Run the job unless something upstream already decided its status, and write its record."""
    job, environment = arguments.job, read_json(arguments.environment)
    check = read_json(arguments.check) if arguments.check else None
    kernel = read_json(arguments.kernel) if arguments.kernel else None
    job["kernel"] = os.path.dirname(arguments.kernel) if arguments.kernel else None
    job["threads"] = job["threads"] or machine.usable_cores()
    job["corpus"] = os.path.dirname(os.path.abspath(arguments.corpus)) if arguments.corpus else None
    if arguments.checkpoint:
        # A changed implementation is checked anew: another check.
        key = _key(job, environment["fingerprint"], read_json(arguments.corpus), check)
        job["checkpoint"] = {"path": os.path.abspath(arguments.checkpoint), "key": key}
    started = datetime.datetime.utcnow()
    load = os.getloadavg()
    if environment["status"] != "ok":
        found = {"status": environment["status"], "reason": environment["reason"]}
    elif kernel and kernel["status"] != "ok":
        found = {"status": kernel["status"], "reason": kernel["reason"]}
    elif check and check["status"] != "ok":
        found = {"status": check["status"], "reason": check["reason"]}
    else:
        found = run_worker(job, arguments.log)
    name = "{implementation} {phase} on {device}".format(**job["identity"])
    record = dict(
        found,
        schema_version=SCHEMA_VERSION,
        kind=job["kind"],
        identity=job["identity"],
        benchmark=job["benchmark"],
        protocol=job.get("protocol") or job["check"],
        threads=job["threads"],
        seed=job["seed"],
        environment=environment,
        corpus=read_json(arguments.corpus) if arguments.corpus else None,
        machine=machine.facts(),
        inherited=memory.inherited(os.environ),
        load={"before": load, "after": os.getloadavg()},
        repository=_repository(),
        started=started.isoformat() + "Z",
        seconds=(datetime.datetime.utcnow() - started).total_seconds(),
    )
    if kernel:
        record["kernel"] = kernel
    if check:
        kept = ("status", "errors", "gradient_error", "dropout")
        record["check"] = {key: check.get(key) for key in kept}
    if found["status"] in RETRIED:
        append_line(
            arguments.failures,
            {"started": record["started"], "status": found["status"], "reason": found["reason"]},
        )
    if found["status"] != "ok":
        sys.stderr.write(
            "    %s %s: %s: %s\n" % (job["kind"], name, found["status"], found["reason"])
        )
    write_json(arguments.output, record)
    if arguments.checkpoint and found["status"] == "ok" and os.path.exists(arguments.checkpoint):
        os.unlink(arguments.checkpoint)
