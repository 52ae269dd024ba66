"""A text of one's own: what makes it unusable is said before anything is measured."""

import pytest

from datasets import TextProblem, ptb
from plan import text
from plan.jobs import SPLITS
from tests.tiny import BENCHMARK, CARRIED, STRIDE

GOOD = b" a b c \n d e \n"


def counted(**changed: bytes) -> dict:
    contents = dict.fromkeys(SPLITS, GOOD) | changed
    return text.counts(ptb, contents, {split: f"ptb.{split}.txt" for split in contents})


def test_counts() -> None:
    assert counted() == {"tokens": dict.fromkeys(SPLITS, 7), "vocabulary": 7}


def test_words_are_split_at_ascii_blanks_only() -> None:
    assert ptb.tokens("a\u00a0b c\n".encode(), "x") == ["a\u00a0b", "c", ptb.END]


def test_start_token_in_the_text_counts_once() -> None:
    assert ptb.vocabulary(["<s>", "a", "<s>"]) == ["<s>", "a"]


@pytest.mark.parametrize(
    ("split", "content", "place"),
    [
        ("train", "a b\nd\u00e9\n".encode("latin-1"), "ptb.train.txt, line 2"),
        ("valid", "a b\n".encode("utf-16"), "ptb.valid.txt, line 1"),
        ("test", b"\xef\xbb\xbfa b\n", "ptb.test.txt, line 1"),
        ("test", b"a\nb\n\0\n", "ptb.test.txt, line 3"),
        ("train", b"", "ptb.train.txt"),
        ("valid", b"\n\n", "ptb.valid.txt"),
        ("valid", b"unheard\n", "'unheard'"),
    ],
)
def test_unusable_files(split: str, content: bytes, place: str) -> None:
    with pytest.raises(TextProblem) as problem:
        counted(**{split: content})
    assert place in str(problem.value) and "\n" not in str(problem.value)


def fits(benchmark: dict, vocabulary: int = 11, tokens: int = 11, trained: tuple = ()) -> None:
    counts = {"tokens": {"train": 1000, "valid": tokens} if trained else {"train": tokens}}
    names = {split: f"a folder/{split}.txt" for split in counts["tokens"]}
    counted = counts | {"vocabulary": vocabulary}
    text.require_fits(counted, names, {"tiny": benchmark}, trained, STRIDE)


@pytest.mark.parametrize("trained", [(), ("tiny",)])
@pytest.mark.parametrize("benchmark", [BENCHMARK, BENCHMARK | CARRIED])
def test_a_text_shorter_than_a_batch(benchmark: dict, trained: tuple) -> None:
    least = (
        15 if "state" in benchmark else 11
    )  # 3 streams of 4 + 1; windows of 4 + 1 that start at 0, 3, 6
    fits(benchmark, tokens=least, trained=trained)
    with pytest.raises(TextProblem, match=f"folder/{'valid' if trained else 'train'}.txt"):
        fits(benchmark, tokens=least - 1, trained=trained)


def test_a_vocabulary_larger_than_a_benchmark() -> None:
    with pytest.raises(TextProblem, match="tiny"):
        fits(BENCHMARK, vocabulary=12)
