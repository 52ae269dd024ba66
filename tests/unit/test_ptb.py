"""The stand-in for PTB: its size to the token, the same on every machine."""

import hashlib
from collections import Counter

import pytest

from datasets import ptb

TOKENS = {"train": 929_589, "valid": 73_760, "test": 82_430}
# Of the texts as they were first published: another digest is another corpus.
DIGESTS = {
    "train": "afcaf05ac59dbcd1cea4036223c4745c6a311f8a4ed5c2737bb671c910139a12",
    "valid": "40bf0992f338c5feb39b62c858a6c5fe87af6f8cae9b57c70ddf5ab69de9d6f3",
    "test": "cf4ecfc805ab9eb6618dfcb58eef94485417cc3fc0d7c6095addbf417b00d12e",
}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {split: ptb.stand_in(split) for split in TOKENS}


@pytest.mark.parametrize("split", TOKENS)
def test_size_is_exactly_that_of_ptb(texts: dict[str, str], split: str) -> None:
    lines = texts[split].count("\n")
    assert len(texts[split].split()) + lines == TOKENS[split]
    assert lines == {"train": 42_068, "valid": 3_370, "test": 3_761}[split]
    assert all(line.strip() for line in texts[split].splitlines())


def test_vocabulary_is_that_of_the_training_split(texts: dict[str, str]) -> None:
    words = {split: set(text.split()) for split, text in texts.items()}
    assert len(words["train"]) == 9_999  # with <s> and the end of a sentence: 10,001
    assert words["valid"] <= words["train"]
    assert words["test"] <= words["train"]


@pytest.mark.parametrize("split", TOKENS)
def test_text_never_changes(texts: dict[str, str], split: str) -> None:
    assert hashlib.sha256(texts[split].encode()).hexdigest() == DIGESTS[split]


def test_frequencies_fall_as_in_ptb(texts: dict[str, str]) -> None:
    """PTB's most frequent word is 5.7 % of its words, the hundredth 0.10 %, the thousandth 0.012 %."""
    counts = [count for _, count in Counter(texts["train"].split()).most_common()]
    words = sum(counts)
    for rank, share in ((1, 0.057), (100, 0.00098), (1000, 0.000123)):
        assert counts[rank - 1] / words == pytest.approx(share, rel=0.25)
