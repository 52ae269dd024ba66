"""Whether somebody else's results may be published beside ours: what can be worked out again from a pack's records is.

A pack's digests show damage, not fraud: whoever writes records can write digests. So records are held against what our own code
would have written, and against each other. Somebody who runs this workflow and then changes numbers with care is not found out;
who that was, a signature tells (reporting/packs.py).

Each check yields (what is wrong, which file); `refusals` makes a line of each kind.
"""

import datetime
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from packaging.version import InvalidVersion, Version

from measurement import checking, machine, quiet, shapes, verifying
from measurement.precision import FLOAT32
from plan import configuration, environments, locks, matrix
from plan.jobs import digest_of
from plan.matrix import Measurement
from reporting.results import CELL, Part

SLACK_S = 0.02  # readings of two clocks
TICKS_S = 0.1  # of CPU time, which the system counts in steps of 10 ms
LONG_S = 0.01  # batches on a CPU that are longer...
LEAST_SHARE = 0.8  # ...fill most of the time; in our packs at least 0.85
OVER_PEAK = 1.05  # a reading of the peak takes 10 ms, and clocks vary
MACHINE = re.compile(r"[\w.]+-\d+c-[0-9a-f]{6}")
LOCK = re.compile(r"envs/locks/[\w.-]+/[\w.-]+\.txt")

# Run in a folder with the workflow's files of a commit.
DIGESTS = """
import json, sys
sys.path.insert(0, "scripts")
from plan import sources
from plan.planner import MEASURE
print(json.dumps({name: sources.digest(*MEASURE, file) for name, file in json.loads(sys.argv[1]).items()}))
"""

Found = Iterator[tuple[str, str]]
Read = dict[str, dict]  # records by file


def refusals(parts: Sequence[Part], tree_of: Callable[[str | None], Path | None]) -> list[str]:
    """Why the results of one machine may not stand beside others, a line a kind; none: they may. tree_of: the folder with the
    workflow's files of a commit (None: today's), or None where it has no such commit."""
    records, found = _records(parts), defaultdict(list)
    checks = [_protocol(parts), _identities(parts), _code(records, tree_of)]
    checks += [_errors(records), _times(records), _peaks(records), _looks(records), _apart(records)]
    for check in checks:
        for wrong, file in check:
            found[wrong].append(file)
    return [
        f"{wrong}: {files[0]}" + f", and {len(files) - 1} more" * (len(files) > 1)
        for wrong, files in found.items()
    ]


def _records(parts: Iterable[Part]) -> Read:
    rows = [row for part in parts for row in (*part.cells, *part.training)]
    return {path: each for row in rows for path, each in zip(row.paths, row.records, strict=True)}


def _timed(records: Read) -> Iterator[tuple[str, dict]]:
    for path, record in records.items():
        if record["status"] == "ok" and record["kind"] == "time":
            yield path, record


def _protocol(parts: Iterable[Part]) -> Found:
    """Each row has as many processes as the protocol asks for, without gaps; `_looks` counts their looks. A run of before there
    were looks could end between two processes of a row: its pages say how many there are."""
    quick = configuration.mapping("config/quick.yaml")["protocol"]["processes"]
    for part in parts:
        protocol, name = part.manifest["protocol"], f"manifests/{part.path.name}"
        if part.manifest["preliminary"]:
            yield "it was not measured to the end (`preliminary`)", name
        for row in part.cells:
            if not row.records or any(
                each["status"] != "ok" or "looks" not in each for each in row.records
            ):
                continue  # such a row has no number, or is of before there were looks
            numbers = sorted(each["identity"].get("process", 0) for each in row.records)
            if numbers != [*range(1, len(numbers) + 1)]:
                yield "processes of a row are missing, or there twice", row.paths[0]
            once = matrix.is_one_of(protocol.get("one_process", []), row.cell)
            # A row that a later run has renewed (packs.joined) has another protocol than its manifest.
            renewed = not row.records[0]["protocol"].items() <= protocol.items()
            asked = 1 if once else quick if renewed else protocol.get("processes", 0)
            if len(numbers) < asked:
                yield "a row has fewer processes than its protocol asks for", row.paths[0]


def _identities(parts: Iterable[Part]) -> Found:
    """A file's name is the digest of what its record says, and the record is of its row and machine."""
    for part in parts:
        for row in (*part.cells, *part.training):
            for path, record in zip(row.paths, row.records, strict=True):
                if not _is_named_after(path, record, row.cell):
                    yield "its name does not follow from what it says", path
                if record["parts"].get("machine") != part.machine:
                    yield "it is of another machine than its manifest", path
                own = machine.digest(record["machine"])
                if MACHINE.fullmatch(part.machine) and own != part.machine[-6:]:
                    wrong = "its machine's name does not follow from what it says of the machine"
                    yield wrong, path


def _is_named_after(path: str, record: dict, cell: Measurement) -> bool:
    parts, about = record["parts"], record["environment"]
    process = record["identity"].get("process")
    name = f"{cell.name}-{process}" if process else cell.name
    folder = {"time": "records", "train": "convergence"}.get(record["kind"])
    said = {
        "benchmark": digest_of(record["benchmark"]),
        "protocol": digest_of(record["protocol"]),
        "seed": str(record["seed"]),
        "threads": str(record["threads"]),
    }
    environment = f"{about['environment'].removesuffix('-cuda')}-"
    return (
        path == f"{folder}/{name}.{digest_of([record['kind'], name, parts], 12)}.json"
        and all(record["identity"].get(key) == getattr(cell, key) for key in CELL)
        and parts | said == parts
        and parts.get("environment", "").startswith(environment)
    )


def _code(records: Read, tree_of: Callable[[str | None], Path | None]) -> Found:
    """The scripts that measured, and the versions that were installed, are those of commits of ours."""
    trees = {commit: tree_of(commit) for commit in {*map(_commit, records.values())}}
    names = tuple(sorted({*map(_implementation, records.values())}))
    known = defaultdict(set)  # {implementation: what its records' `sources` may be}
    for tree in {*filter(None, trees.values())}:
        for name, digest in _digests(tree, names).items():
            known[name].add(digest)
    for path, record in records.items():
        tree = trees[_commit(record)]
        if tree is None:
            yield "it was measured at a commit that this repository does not have", path
            continue
        if record["parts"].get("sources") not in known[_implementation(record)]:
            yield "its scripts are not those of its commit", path
        if wrong := _versions(record, tree):
            yield wrong, path


def _commit(record: dict) -> str | None:
    return (record.get("repository") or {}).get("commit")


def _implementation(record: dict) -> str:
    return record["identity"]["implementation"]


@cache
def _digests(tree: Path, implementations: tuple[str, ...]) -> dict[str, str]:
    """{implementation: digest of its scripts in a tree}, by the code that lies there, as what a digest is of has changed."""
    files = {each: matrix.implementation_file(each) for each in implementations}
    there = {each: file for each, file in files.items() if (tree / file).exists()}
    command = [sys.executable, "-c", DIGESTS, json.dumps(there)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    return json.loads(done.stdout or "{}")


def _versions(record: dict, tree: Path) -> str:
    """What of the installed packages is not what a tree's pins and locks say, in words; "" if nothing is. Of a row that was
    never installed nothing is known."""
    about = record["environment"]
    if not about["packages"] or record["status"] == "unsupported":
        return ""
    name, lock = about["environment"], about.get("lock")
    kinds = [f"{name}-cuda"] * (record["identity"]["device"] == "gpu") + [name]
    sources = [tree / f"envs/{kind}.yaml" for kind in kinds]
    source = next(filter(Path.exists, sources), None)
    if source is None or not re.fullmatch(r"[a-z0-9-]+", name):
        return f"its environment is not in envs/ ({name})"
    locked = lock and LOCK.fullmatch(lock) and (tree / lock).exists()
    if lock and not locked:
        return f"its lock is not in envs/locks/ ({lock})"
    specification = environments.load(str(source))
    versions = locks.read(tree / lock) if lock else None
    try:
        if about["builder"] == "interpreter":  # a machine's own, of versions that pages name
            lacking = specification.lacking(about["packages"])
            return f"{lacking[0]} was not installed" if lacking else _framework(record)
        if wrong := specification.mismatches(about["packages"], versions):
            return f"it has other versions than envs/{source.name}: {wrong[0]}"
    except InvalidVersion as error:
        return f"it has a version that cannot be one ({error})"
    return _framework(record)


def _framework(record: dict) -> str:
    """Whether the version that a framework told is one that is installed."""
    told = record.get("framework", {}).get("framework_version", "")
    installed = {Version(each).public for each in record["environment"]["packages"].values()}
    if not told or any(told.startswith(version) for version in installed):
        return ""
    return f"it names a framework's version that was not installed ({told})"


def _errors(records: Read) -> Found:
    """What was timed was right, by today's tolerance."""
    check = configuration.mapping("config/config.yaml")["check"]
    for path, record in _timed(records):
        benchmark, phase = record["benchmark"], record["identity"]["phase"]
        limit = matrix.tolerance(check, benchmark, phase)
        if checking.verdict(record["check"].get("errors") or {}, limit)["status"] != "ok":
            yield "an error of its check is beyond the tolerance", path
        sizes = {key: benchmark[key] for key in ("layers", "length")}
        workload = SimpleNamespace(data_type=benchmark.get("data_type", FLOAT32), **sizes)
        own_limit = partial(verifying.tolerance, workload=workload, phase=phase)
        verified = record["verification"]
        if checking.verdict(verified["errors"], own_limit)["status"] != "ok":
            yield "an error after its last batch is beyond the tolerance", path
        if verified["finished"] is not True or record["check"].get("status") != "ok":
            yield "it is said to be right though a check of it failed", path


def _taken(meter: Mapping) -> float:
    """CPU time that others may have taken between batches (s)."""
    return (meter["steal_s"] or 0) + (meter["other_cpu_s"] or 0)


def _times(records: Read) -> Found:
    """Sums of times fit into those that they are part of, and CPU time into what the cores have."""
    for path, record in _timed(records):
        whole, setup = record["interference"], record["setup"]
        cores = record["machine"]["cores"]
        cpus = float(record["machine"]["cpu"].get("CPU(s)") or cores)
        looks = record.get("looks", [])
        lives = [each for each in looks if each["life"] == record.get("lives", 1)]
        measured = [sum(each["warmup"]) + each["interference"]["wall_s"] for each in lives]
        inside = (
            (setup["build_s"] or 0)
            + sum(record["warmup"])
            + (math.fsum(measured) if looks else whole["wall_s"])
            + record["verification"]["seconds"]
        )
        if inside > record["seconds"] + SLACK_S:
            yield "its parts took longer than the whole process", path
        if setup["first_step_s"] != record["warmup"][0]:
            yield "its first step is not its first batch", path
        inner = [(each["batches"], each["interference"]) for each in looks]
        for samples, meter in [(record["samples"], whole), *inner]:
            if math.fsum(samples) > meter["wall_s"]:
                yield "its batches took longer than the time in which they ran", path
            if meter["own_cpu_s"] > cpus * meter["wall_s"] + TICKS_S:
                yield "it had more CPU time than there is", path
        took, long = math.fsum(record["samples"]), LONG_S * len(record["samples"])
        # Of all looks: one may be a single batch and a pause.
        short = long < took < LEAST_SHARE * (whole["wall_s"] - _taken(whole))
        if short and record["identity"]["device"] == "cpu":
            yield "its batches are too few or too short for the time in which they ran", path


def _peaks(records: Read) -> Found:
    """Nothing multiplies faster than the fastest reading of known work on the machine (CPU, float32, as others have other units)."""
    peaks: dict[int, float] = defaultdict(float)
    for _, record in _timed(records):
        for reading in quiet.readings(record):
            if reading["by"] == "c" and reading["gflops"]:
                peaks[reading["threads"]] = max(peaks[reading["threads"]], reading["gflops"])
    for path, record in _timed(records):
        peak = max((peaks[n] for n in peaks if n <= record["threads"]), default=None)
        single = record["benchmark"].get("data_type", FLOAT32) == FLOAT32
        if peak and single and record["identity"]["device"] == "cpu":
            rate = shapes.forward_flops(record["benchmark"]) / np.median(record["samples"]) / 1e9
            if rate > OVER_PEAK * peak:
                yield "it computes faster than the machine can", path


def _moment(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def _looks(records: Read) -> Found:
    """A process looked as often and as long as its protocol asks for, one look after the other."""
    for path, record in _timed(records):
        protocol, looks = record["protocol"], record.get("looks")
        if looks is None:
            if len(record["samples"]) < _asked(record, "timed_batches", "least_batches"):
                yield "it has fewer batches than its protocol asks for", path
            continue
        batches = [each for look in looks for each in look["batches"]]
        if batches != record["samples"]:
            yield "its batches are not those of its looks", path
        if len(looks) < _asked(record, "rounds", "least_rounds"):
            yield "it looked less often than its protocol asks for", path
        if any(each["interference"]["wall_s"] < protocol["look_s"] - SLACK_S for each in looks):
            yield "it looked for less time than its protocol asks for", path
        if any(sum(each["batches"][:-1]) > protocol["look_s"] + SLACK_S for each in looks):
            yield "it looked for more batches than its protocol asks for", path
        for one, other in pairwise(looks):
            if one["block"] == other["block"] and one["round"] >= other["round"]:
                yield "its looks are not in the order of their rounds", path
            end = _moment(one["start"]) + one["interference"]["wall_s"]
            if end > _moment(other["start"]) + SLACK_S:
                yield "its looks are not one after the other", path


def _asked(record: dict, usual: str, least: str) -> int:
    """How many looks, or of a record of before there were looks batches, its protocol asks for: `usual`, but `least` of a slow
    row."""
    protocol = record["protocol"]
    took = math.fsum(record["samples"]) if "looks" in record else record["interference"]["wall_s"]
    late = protocol["most_s"] is not None and took >= protocol["most_s"]
    return protocol[least if late else usual]


def _apart(records: Read) -> Found:
    """One process measured at a time, none in the future, none twice."""
    spans, seen = [], {}
    for path, record in _timed(records):
        looks = record.get("looks", [])
        own = [(each["start"], each["interference"]["wall_s"]) for each in looks]
        for start, took in own or [(record["started"], record["seconds"])]:
            spans.append((_moment(start), _moment(start) + took, path))
        if seen.setdefault(tuple(record["samples"]), path) != path:
            yield "two processes took the same times to the nanosecond", path
    for before, after in pairwise(sorted(spans)):
        if before[1] > after[0] + SLACK_S:
            yield "two processes measured at the same time", after[2]
    now = datetime.datetime.now(datetime.UTC).timestamp()
    for path in {path for _, end, path in spans if end > now + 86400}:
        yield "it is from the future", path
