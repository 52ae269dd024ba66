"""Data that is damaged, foreign, or not what it says: results, texts, mirrors, Snakemake's memory."""

import json
import os
import shutil
import time
from collections.abc import Callable

from measurement.record import write_sealed

from .processes import GOES_ON
from .trial import REPORT, TIMING_S, Missed, Trial, fault

MADE_ANEW = r"is damaged \(.*\); it is made again\."
HOUR_S = 3600
Change = Callable[[bytes, Trial], bytes]


def damaged(how: str, pattern: str, *ways: Change) -> Callable[[Trial], None]:
    """A fault that damages one of the finished results, in one of some ways."""

    def harm(trial: Trial) -> None:
        file = trial.any_of(pattern)
        trial.harm(file, trial.next_of(*ways)(file.read_bytes(), trial))

    harm.__doc__ = how
    return harm


def cut(content: bytes, trial: Trial) -> bytes:
    """At a random byte, or at the first one."""
    return trial.random.choice([content[: trial.random.randrange(len(content) - 2)], b""])


def flipped(content: bytes, trial: Trial) -> bytes:
    """Another digit at one place: still JSON."""
    places = [place for place, byte in enumerate(content) if 0x31 <= byte <= 0x38]
    place = trial.random.choice(places)
    return content[:place] + bytes([content[place] + 1]) + content[place + 1 :]


def noise(content: bytes, trial: Trial) -> bytes:
    """Blocks of other bytes, as a disk that fails leaves them."""
    start = trial.random.randrange(len(content))
    found = content[:start] + trial.random.randbytes(4096) + content[start + 4096 :]
    return found[: len(content)]


def unsealed(content: bytes, trial: Trial) -> bytes:
    """A record of samples divided by ten."""
    record = json.loads(content)
    del record["seal"]
    record["samples"] = [sample / 10 for sample in record["samples"]]
    return json.dumps(record, indent=1).encode()


RECORD, CHECK = "records/**/other/*.json", "checks/**/other/*.json"
for name, how, times, pattern, *ways in (
    ("a digit of a record is another", "one digit anywhere changed", 3, RECORD, flipped),
    ("a record is damaged", "cut, 4 kB of noise, or unsealed", 3, RECORD, cut, noise, unsealed),
    ("an environment's record is cut short", "truncated", 2, "environments/plain-*.json", cut),
    ("the tokens' description is damaged", "one digit changed", 2, "corpus/*/corpus.json", flipped),
    ("tokens are damaged", "truncated, or one byte changed", 2, "corpus/*/*.npy", cut, flipped),
):
    quick = (pattern, ways) == (RECORD, [flipped])
    fault(name, MADE_ANEW, times=times, quick=quick)(damaged(how, pattern, *ways))


@fault("a check is damaged", MADE_ANEW, times=2)
def check_damaged(trial: Trial) -> None:
    """truncated, or another cell's copied over it; its timing missing"""
    one, other = trial.random.sample(sorted(trial.path("results").glob(CHECK)), 2)
    trial.harm(one, trial.next_of(cut(one.read_bytes(), trial), other.read_bytes()))
    trial.forget(RECORD)


@fault("a record of another cell", MADE_ANEW, times=3)
def foreign_record(trial: Trial) -> None:
    """copied over it, under its name"""
    one, other = trial.random.sample(sorted(trial.path("results").glob(RECORD)), 2)
    trial.harm(one, other.read_bytes())


@fault("the tokens of two splits are swapped", MADE_ANEW)
def tokens_swapped(trial: Trial) -> None:
    """renamed"""
    folder = trial.any_of("corpus/*/corpus.json").parent
    one, other = folder / "train.npy", folder / "valid.npy"
    content = one.read_bytes()
    trial.harm(one, other.read_bytes())
    trial.harm(other, content)


@fault(
    "the text that was fetched is cut short",
    r"is damaged \(ptb\.\w+\.txt next to it was modified\); it is downloaded again\.",
    times=2,
)
def text_cut(trial: Trial) -> None:
    """truncated, and its tokens missing"""
    file = trial.any_of("corpus/sources/*/ptb.*.txt")
    trial.harm(file, cut(file.read_bytes(), trial))
    shutil.rmtree(trial.any_of("corpus/*/corpus.json").parent)


@fault(
    "a folder lies where a file was",
    r"is damaged \([\w.]+\.(npy|txt) next to it was modified\); it is (made|downloaded) again\.",
    times=2,
)
def folder_in_place(trial: Trial) -> None:
    """in place of one split's tokens, or of its text, whose tokens are missing"""
    file = trial.any_of(trial.next_of("corpus/*/*.npy", "corpus/sources/*/ptb.*.txt"))
    trial.harm(file, b"")
    file.unlink()
    file.mkdir()
    if file.suffix == ".txt":
        shutil.rmtree(trial.any_of("corpus/*/corpus.json").parent)


@fault(
    "the user's corpus folder has another text",
    r"corpus\.path: corpus/ptb\.\w+\.txt is not the expected text",
    ends=False,
)
def corpus_cut(trial: Trial) -> None:
    """a file of it truncated"""
    file = trial.random.choice(sorted(trial.path("corpus").glob("ptb.*.txt")))
    file.write_bytes(cut(trial.keep(file), trial))


@fault("a list of failed attempts is cut short")
def failures_cut(trial: Trial) -> None:
    """the worker killed, then the last line of results/failures/ truncated"""
    trial.run_and_kill("worker time", TIMING_S)
    files = list(trial.path("results/failures").rglob("*.jsonl"))
    if not files:
        raise Missed("worker time")
    for file in files:
        file.write_bytes(file.read_bytes()[:-9])


@fault("Snakemake's memory is damaged", times=2, ends=None)
def memory_cut(trial: Trial) -> None:
    """every file of .snakemake/metadata truncated at a random byte"""
    for file in trial.path(".snakemake/metadata").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: trial.random.randrange(20)])


@fault("Snakemake's memory is gone")
def memory_gone(trial: Trial) -> None:
    """rm -r .snakemake"""
    shutil.rmtree(trial.path(".snakemake"))


@fault("half-written files lie about")
def temporary_left(trial: Trial) -> None:
    """temporary files of a killed run beside each record"""
    for file in list(trial.path("results").rglob("*.json")):
        file.with_name(f"{file.name}.4711.tmp").write_bytes(cut(file.read_bytes(), trial))


@fault("results from the future", quick=True)
def future(trial: Trial) -> None:
    """all results and sources an hour ahead of the clock"""
    later = time.time() + HOUR_S
    for name in ("results", "scripts", "config", "corpus", "envs", ".snakemake"):
        for file in trial.path(name).rglob("*"):
            os.utime(file, (later, later))
    kept = {name: each[::2] for name, each in trial.whole().items()}
    trial.harmed |= kept.keys()  # the run mends their times
    trial.run_through()
    now = trial.whole()
    assert all(now[name][::2] == each for name, each in kept.items())


@fault("a run of other settings that was killed", GOES_ON, times=2, ends=False)
def other_settings(trial: Trial) -> None:
    """one batch more, or under another machine's name; kill -9 of Snakemake, then as before"""
    if trial.next_of("protocol", "machine") == "protocol":
        trial.set_protocol(rounds=13, most_rounds=13)
    else:
        trial.settings(machine="other-8c-abcdef")
    trial.timing_under_way(REPORT)
    trial.one("snakemake").kill()


@fault(
    "a damaged record in a folder from elsewhere",
    r"elsewhere/records/.* is damaged \(.*\);",
    times=2,
    ends=False,
)
def pack_damaged(trial: Trial) -> None:
    """also_report of a pack, one of whose records is truncated, or of other samples without a seal"""
    trial.command = REPORT
    trial.complete()
    folder = trial.path("elsewhere")
    for name in ("manifests", "records"):
        shutil.copytree(trial.path(f"results/{name}"), folder / name)
    (manifest,) = (folder / "manifests").glob("*.json")
    content = json.loads(manifest.read_text()) | {"machine": "other-8c-abcdef"}
    write_sealed(str(manifest), content)
    trial.settings(also_report=["elsewhere"])
    record = trial.random.choice(sorted((folder / "records").rglob("*.json")))
    record.write_bytes(trial.next_of(cut, unsealed)(record.read_bytes(), trial))


@fault("a checkpoint is damaged", r"train plain/faulty .*: ok", times=2, lab="training", ends=None)
def checkpoint_damaged(trial: Trial) -> None:
    """training killed, its checkpoint truncated or with other bytes"""
    trial.start()
    checkpoint = trial.first_checkpoint()
    trial.one("worker train").kill()
    trial.wait()
    change = trial.random.choice([cut, noise])
    checkpoint.write_bytes(change(checkpoint.read_bytes(), trial))


@fault("a kernel's library is damaged", MADE_ANEW, times=2, lab="kernels")
def library_damaged(trial: Trial) -> None:
    """truncated or with other bytes"""
    trial.forget("records", "checks", "manifests")
    file = trial.any_of("kernels/**/kernel.so")
    trial.harm(file, trial.random.choice([cut, noise])(file.read_bytes(), trial))
    trial.harms(file.with_name("kernel.json"))


@fault(
    "a tuning database is damaged",
    r"tuning database in .*tuning starts afresh",
    times=2,
    lab="kernels",
)
def database_damaged(trial: Trial) -> None:
    """a line of it cut short, and a library to be built from it"""
    trial.forget("records", "checks", "manifests")
    file = trial.any_of("tuning/**/database/*/*_record.json")
    file.write_bytes(file.read_bytes()[: -trial.random.randrange(5, 50)])
    trial.forget("kernels")
