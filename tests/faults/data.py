"""Data that is damaged, foreign, or not what it says: results, texts, mirrors, Snakemake's memory."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from measurement.record import write_sealed

from .processes import GOES_ON
from .trial import REPORT, TIMED, TIMING_S, Missed, Trial, fault

MADE_ANEW = r"is damaged \(.*\); it is made again\."
HOUR_S = 3600


def damaged(pattern: str, how: Callable[[bytes, Trial], bytes]) -> Callable[[Trial], None]:
    """A fault that damages one of the finished results."""

    def harm(trial: Trial) -> None:
        file = trial.any_of(pattern)
        trial.harm(file, how(file.read_bytes(), trial))
        trial.run_through()

    harm.__module__ = __name__
    return harm


def cut(content: bytes, trial: Trial) -> bytes:
    return content[: trial.random.randrange(len(content) - 2)]


def empty(content: bytes, trial: Trial) -> bytes:
    return b""


def flipped(content: bytes, trial: Trial) -> bytes:
    """Another digit at one place: still JSON."""
    places = [place for place, byte in enumerate(content) if 0x31 <= byte <= 0x38]
    place = trial.random.choice(places)
    return content[:place] + bytes([content[place] + 1]) + content[place + 1 :]


def noise(content: bytes, trial: Trial) -> bytes:
    """Blocks of other bytes, as a disk that fails leaves them."""
    start = trial.random.randrange(len(content))
    return (content[:start] + trial.random.randbytes(4096) + content[start + 4096 :])[
        : len(content)
    ]


RECORD, CHECK = "records/**/other/*.json", "checks/**/other/*.json"
for name, how, pattern, change, times in (
    ("a record is cut short", "truncated at a random byte", RECORD, cut, 2),
    ("a record is empty", "truncated to nothing", RECORD, empty, 1),
    ("a digit of a record is another", "one digit anywhere changed", RECORD, flipped, 3),
    ("a record has blocks of other bytes", "4 kB of noise at a random place", RECORD, noise, 2),
    ("an environment's record is cut short", "truncated", "environments/plain-*.json", cut, 2),
    ("the tokens' description is damaged", "one digit changed", "corpus/*/corpus.json", flipped, 2),
    ("the tokens are cut short", "truncated at a random byte", "corpus/*/train.npy", cut, 2),
    ("a token is another", "one byte changed", "corpus/*/valid.npy", flipped, 2),
):
    quick = change is flipped and pattern == RECORD
    more = {"times": times, "ends": True, "quick": quick}
    fault(name, how, MADE_ANEW, **more)(damaged(pattern, change))


@fault(
    "a check is cut short",
    "truncated, and its timing missing",
    MADE_ANEW,
    times=2,
    ends=True,
)
def check_cut(trial: Trial) -> None:
    file = trial.any_of(CHECK)
    trial.harm(file, cut(file.read_bytes(), trial))
    trial.forget(RECORD)
    trial.run_through()


@fault("a record of another cell", "copied over it, under its name", MADE_ANEW, times=3, ends=True)
def foreign_record(trial: Trial) -> None:
    one, other = trial.random.sample(sorted(trial.path("results").glob(RECORD)), 2)
    trial.harm(one, other.read_bytes())
    trial.run_through()


@fault("a check of another cell", "copied over it, its timing missing", MADE_ANEW, ends=True)
def foreign_check(trial: Trial) -> None:
    one, other = sorted(trial.path("results").glob(CHECK))
    trial.harm(one, other.read_bytes())
    trial.forget(RECORD)
    trial.run_through()


@fault("the tokens of two splits are swapped", "renamed", MADE_ANEW, ends=True)
def tokens_swapped(trial: Trial) -> None:
    folder = trial.any_of("corpus/*/corpus.json").parent
    one, other = folder / "train.npy", folder / "valid.npy"
    content = one.read_bytes()
    trial.harm(one, other.read_bytes())
    trial.harm(other, content)
    trial.run_through()


@fault(
    "the text that was fetched is cut short",
    "truncated, and its tokens missing",
    r"is damaged \(ptb\.\w+\.txt next to it was modified\); it is downloaded again\.",
    times=2,
    ends=True,
)
def text_cut(trial: Trial) -> None:
    file = trial.any_of("corpus/sources/*/ptb.*.txt")
    trial.harm(file, cut(file.read_bytes(), trial))
    shutil.rmtree(trial.any_of("corpus/*/corpus.json").parent)
    trial.run_through()


def as_folder(trial: Trial, pattern: str) -> None:
    """A folder in place of a result's file."""
    file = trial.any_of(pattern)
    trial.harm(file, b"")
    file.unlink()
    file.mkdir()


@fault(
    "a folder lies where tokens were",
    "in place of one split's",
    r"corpus\.json is damaged \(\w+\.npy next to it was modified\); it is made again\.",
    ends=True,
)
def tokens_a_folder(trial: Trial) -> None:
    as_folder(trial, "corpus/*/*.npy")
    trial.run_through()


@fault(
    "a folder lies where the text that was fetched was",
    "and its tokens are missing",
    r"is damaged \(ptb\.\w+\.txt next to it was modified\); it is downloaded again\.",
    ends=True,
)
def text_a_folder(trial: Trial) -> None:
    as_folder(trial, "corpus/sources/*/ptb.*.txt")
    shutil.rmtree(trial.any_of("corpus/*/corpus.json").parent)
    trial.run_through()


@fault(
    "the user's corpus folder has another text",
    "a file of it truncated",
    r"corpus\.path: corpus/ptb\.\w+\.txt is not the expected text: SHA-256",
    ends=False,
)
def corpus_cut(trial: Trial) -> None:
    file = trial.random.choice(sorted(trial.path("corpus").glob("ptb.*.txt")))
    file.write_bytes(cut(trial.keep(file), trial))
    trial.run_through()


@fault(
    "a list of failed attempts is cut short",
    "the worker killed, then the last line of results/failures/ truncated",
    TIMED,
    ends=True,
)
def failures_cut(trial: Trial) -> None:
    trial.run_and_kill("worker time", TIMING_S)
    files = list(trial.path("results/failures").rglob("*.jsonl"))
    if not files:
        raise Missed("one that is not tried once more at once")
    for file in files:
        file.write_bytes(file.read_bytes()[:-9])


@fault(
    "Snakemake's memory is damaged",
    "every file of .snakemake/metadata truncated at a random byte",
    TIMED,
    times=2,
)
def memory_cut(trial: Trial) -> None:
    for file in trial.path(".snakemake/metadata").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: trial.random.randrange(20)])
    trial.run_through()


@fault("Snakemake's memory is gone", "rm -r .snakemake", TIMED, ends=True)
def memory_gone(trial: Trial) -> None:
    shutil.rmtree(trial.path(".snakemake"))
    trial.run_through()


@fault(
    "half-written files lie about",
    "temporary files of a killed run beside each record",
    TIMED,
    ends=True,
)
def temporary_left(trial: Trial) -> None:
    for file in list(trial.path("results").rglob("*.json")):
        file.with_name(f"{file.name}.4711.tmp").write_bytes(cut(file.read_bytes(), trial))
    trial.run_through()


@fault(
    "results from the future",
    "all results and sources an hour ahead of the clock",
    TIMED,
    ends=True,
)
def future(trial: Trial) -> None:
    later = time.time() + HOUR_S
    for name in ("results", "scripts", "config", "corpus", "envs", ".snakemake"):
        for file in trial.path(name).rglob("*"):
            os.utime(file, (later, later))
    trial.run_through()


@fault(
    "a mistyped setting in a finished folder",
    "corpus={path: /nowhere}, protocl=..., then the right ones",
    r"Additional properties are not allowed \('protocl'",
    ends=False,
)
def mistyped(trial: Trial) -> None:
    trial.change("tiny.yaml", "protocol:", "protocl:")
    trial.run_through()


@fault(
    "another protocol, killed half way, and back",
    "one batch more, kill -9 of Snakemake",
    GOES_ON,
    times=2,
    ends=False,
)
def other_protocol(trial: Trial) -> None:
    trial.complete()
    trial.command = REPORT
    trial.set_protocol(rounds=13, most_rounds=13)
    trial.timing_under_way()
    trial.one("snakemake").kill()
    trial.wait()


@fault(
    "a folder that another machine has half measured",
    "measured under another machine's name, kill -9 of Snakemake, then here",
    GOES_ON,
    times=2,
    ends=False,
)
def other_machine(trial: Trial) -> None:
    trial.command = REPORT
    trial.settings(machine="other-8c-abcdef")
    trial.timing_under_way()
    trial.one("snakemake").kill()
    trial.wait()


def of_a_pack(trial: Trial) -> Path:
    """One of the records of a folder from another machine, which the next run reports too."""
    trial.command = REPORT
    trial.complete()
    folder = trial.path("elsewhere")
    for name in ("manifests", "records"):
        shutil.copytree(trial.path(f"results/{name}"), folder / name)
    (manifest,) = (folder / "manifests").glob("*.json")
    content = json.loads(manifest.read_text()) | {"machine": "other-8c-abcdef"}
    write_sealed(str(manifest), content)
    trial.settings(also_report=["elsewhere"])
    return trial.random.choice(sorted((folder / "records").rglob("*.json")))


@fault(
    "a damaged record in a folder from elsewhere",
    "also_report of a pack, one of whose records is truncated",
    r"elsewhere/records/.* is damaged \(.*\); (run again, and it is made anew, or fetch it|fetch the folder) again",
    ends=False,
)
def pack_damaged(trial: Trial) -> None:
    record = of_a_pack(trial)
    record.write_bytes(cut(record.read_bytes(), trial))
    trial.run_through()


@fault(
    "a checkpoint is damaged",
    "training killed, its checkpoint truncated or with other bytes",
    r"train plain/faulty .*: ok",
    times=2,
    lab="training",
)
def checkpoint_damaged(trial: Trial) -> None:
    trial.start()
    checkpoint = trial.first_checkpoint()
    trial.one("worker train").kill()
    trial.wait()
    change = trial.random.choice([cut, noise])
    checkpoint.write_bytes(change(checkpoint.read_bytes(), trial))


@fault(
    "a kernel's library is damaged",
    "truncated or with other bytes",
    MADE_ANEW,
    times=2,
    lab="kernels",
    ends=True,
)
def library_damaged(trial: Trial) -> None:
    trial.forget("records", "checks", "manifests")
    file = trial.any_of("kernels/**/kernel.so")
    trial.harm(file, trial.random.choice([cut, noise])(file.read_bytes(), trial))
    trial.harms(file.with_name("kernel.json"))
    trial.run_through()


@fault(
    "a tuning database is damaged",
    "a line of it cut short, and a library to be built from it",
    r"tuning database in .*tuning starts afresh",
    times=2,
    lab="kernels",
    ends=True,
)
def database_damaged(trial: Trial) -> None:
    trial.forget("records", "checks", "manifests")
    file = trial.any_of("tuning/**/database/*/*_record.json")
    file.write_bytes(file.read_bytes()[: -trial.random.randrange(5, 50)])
    trial.forget("kernels")
    trial.run_through()
