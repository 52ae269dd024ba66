"""What makes a text unusable is said before anything is measured."""

import hashlib
import re
from pathlib import Path

import pytest

from datasets import TextProblem, decoded, ptb
from measurement.record import write_sealed
from plan import text
from plan.jobs import SPLITS
from plan.planner import Plan
from tests.tiny import BENCHMARK, CARRIED, STRIDE
from tests.unit import planned

GOOD = b" a b c \n d e \n"


def counted(**changed: bytes) -> dict:
    contents = dict.fromkeys(SPLITS, GOOD) | changed
    return text.counts(ptb, contents, {split: f"ptb.{split}.txt" for split in contents})


def test_tokens_and_vocabulary() -> None:
    """Words are split at ASCII blanks only, and a start token in the text counts once."""
    assert counted() == {"tokens": dict.fromkeys(SPLITS, 7), "vocabulary": 7}
    assert ptb.tokens("a\u00a0b c\n".encode(), "x") == ["a\u00a0b", "c", ptb.END]
    assert ptb.vocabulary(["<s>", "a", "<s>"]) == ["<s>", "a"]


@pytest.mark.parametrize(
    ("split", "content", "place"),
    [
        ("train", "a b\nd\u00e9\n".encode("latin-1"), "ptb.train.txt, line 2"),
        ("valid", "a b\n".encode("utf-16"), "ptb.valid.txt, line 1"),
        ("test", b"a\nb\n\0\n", "ptb.test.txt, line 3"),
        ("valid", b"\n\n", "ptb.valid.txt"),
        ("valid", b"unheard\n", "'unheard'"),
    ],
)
def test_unusable_files(split: str, content: bytes, place: str) -> None:
    with pytest.raises(TextProblem) as problem:
        counted(**{split: content})
    assert place in str(problem.value) and "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("words", "coding"),
    [("\u201cit\u2019s\u201d", "cp1252"), ("\x81\u00e9", "latin1"), ("a", "utf-16")],
)
def test_the_conversion_that_is_advised_gives_the_text(words: str, coding: str) -> None:
    content = words.encode(coding)
    with pytest.raises(TextProblem) as problem:
        decoded(content, "ptb.train.txt")
    advised = re.search(r"iconv -f (\S+)", str(problem.value))[1]
    assert content.decode(advised) == words


def fits(benchmark: dict, vocabulary: int = 11, tokens: int = 11, trained: tuple = ()) -> None:
    counts = {"tokens": {"train": 1000, "valid": tokens} if trained else {"train": tokens}}
    names = {split: f"a folder/{split}.txt" for split in counts["tokens"]}
    counted = counts | {"vocabulary": vocabulary}
    text.require_fits(counted, names, {"tiny": benchmark}, trained, STRIDE)


@pytest.mark.parametrize("trained", [(), ("tiny",)])
@pytest.mark.parametrize("benchmark", [BENCHMARK, BENCHMARK | CARRIED])
def test_a_text_shorter_than_a_batch(benchmark: dict, trained: tuple) -> None:
    # 3 streams of 4 + 1; windows of 4 + 1 that start at 0, 3, 6.
    least = 15 if "state" in benchmark else 11
    fits(benchmark, tokens=least, trained=trained)
    with pytest.raises(TextProblem, match=f"folder/{'valid' if trained else 'train'}.txt"):
        fits(benchmark, tokens=least - 1, trained=trained)


def test_a_vocabulary_larger_than_a_benchmark() -> None:
    with pytest.raises(TextProblem, match="tiny"):
        fits(BENCHMARK, vocabulary=12)


LONG, SHORT = GOOD * 1000, GOOD
MANY = b" ".join(b"w%d" % number for number in range(20_000))


def planned_on(content: bytes, whence: str) -> Plan:
    """A run on a text in a folder; one that was fetched, with its tokens or not yet; or one that is not there yet."""
    corpus = {"path": whence if whence == "folder" else None}
    corpus["sha256"] = dict.fromkeys(SPLITS, hashlib.sha256(content).hexdigest())
    plan = Plan(planned.config(documents=["stacked-lm"], corpus=corpus))
    if whence in ("folder", "fetched"):
        for file in plan.corpus.files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    if whence == "fetched":
        write_sealed(plan.corpus.source, {"sha256": corpus["sha256"]})
    if whence == "tokens":
        names = {split: str(file) for split, file in plan.corpus.files.items()}
        counted = text.counts(ptb, dict.fromkeys(SPLITS, content), names)
        write_sealed(plan.corpus_job().path, counted)
    return plan


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned.empty_project(tmp_path, monkeypatch)


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("whence", ["folder", "fetched", "tokens"])
@pytest.mark.parametrize(("content", "remedy"), [(SHORT, "longer"), (MANY, "<unk>")])
def test_a_text_that_does_not_fit_stops_a_run(whence: str, content: bytes, remedy: str) -> None:
    plan = planned_on(content, whence)
    with pytest.raises(SystemExit) as stop:
        text.require_fitting(plan)
    said = str(stop.value)
    assert ("folder/ptb.train.txt" if whence == "folder" else "dataset ptb") in said
    assert remedy in said and "\n" not in said


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("content", "whence"), [(LONG, "folder"), (LONG, "fetched"), (SHORT, "unknown")]
)
def test_a_text_that_fits_or_is_not_known_stops_no_run(content: bytes, whence: str) -> None:
    text.require_fitting(planned_on(content, whence))
