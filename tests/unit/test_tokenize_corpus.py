"""Tokenizing: document 001's rules on a small text, and its counts on the real files."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from datasets import ptb
from steps import tokenize_corpus
from tests.conftest import ROOT

PTB = ROOT.parent / "shared" / "ptb"
TRAIN = " the cat <unk> the N \n the cat \n sat \n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, text in {"train": TRAIN, "valid": " cat \n", "test": "\n sat the \n"}.items():
        (tmp_path / f"ptb.{split}.txt").write_text(text)
    return tmp_path


def test_tokens(folder: Path) -> None:
    tokens, vocabulary = tokenize_corpus.tokenize(ptb, folder, ["train", "valid", "test"])
    # By frequency, ties by first occurrence; a newline is a token, even that of an empty line.
    assert vocabulary == ["<s>", "the", "</s>", "cat", "<unk>", "N", "sat"]
    assert tokens["train"].tolist() == [1, 3, 4, 1, 5, 2, 1, 3, 2, 6, 2]
    assert tokens["valid"].tolist() == [3, 2]
    assert tokens["test"].tolist() == [2, 6, 1, 2]
    assert {values.dtype for values in tokens.values()} == {np.dtype(np.int32)}


@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank is not beside this repository")
def test_penn_treebank() -> None:
    tokens, vocabulary = tokenize_corpus.tokenize(ptb, PTB, ["train", "valid", "test"])
    sizes = {split: len(values) for split, values in tokens.items()}
    assert sizes == {"train": 929_589, "valid": 73_760, "test": 82_430}
    assert len(vocabulary) == 10_001
    assert max(values.max() for values in tokens.values()) == 10_000
    text = (PTB / "ptb.valid.txt").read_text().split("\n", 1)[0].split()
    assert [vocabulary[token] for token in tokens["valid"][: len(text) + 1]] == [*text, "</s>"]


# Of the stand-in's texts as they were first published, of PTB's size to the token, its vocabulary and frequencies of words: another
# digest is another corpus.
DIGESTS = {
    "train": "afcaf05ac59dbcd1cea4036223c4745c6a311f8a4ed5c2737bb671c910139a12",
    "valid": "40bf0992f338c5feb39b62c858a6c5fe87af6f8cae9b57c70ddf5ab69de9d6f3",
    "test": "cf4ecfc805ab9eb6618dfcb58eef94485417cc3fc0d7c6095addbf417b00d12e",
}


@pytest.mark.parametrize("split", DIGESTS)
def test_the_stand_in_never_changes(split: str) -> None:
    assert hashlib.sha256(ptb.stand_in(split).encode()).hexdigest() == DIGESTS[split]
