"""Tokenizing: document 001's rules on a small text, and its counts on the real files."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from datasets import TextProblem, ptb
from measurement.record import write_sealed
from steps import tokenize_corpus
from tests.conftest import ROOT

PTB = ROOT.parent / "shared" / "ptb"
TRAIN = " the cat <unk> the N \n the cat \n sat \n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, text in {"train": TRAIN, "valid": " cat \n", "test": "\n sat the \n"}.items():
        (tmp_path / f"ptb.{split}.txt").write_text(text)
    return tmp_path


def run_main(monkeypatch: pytest.MonkeyPatch, source: Path, output: Path) -> dict:
    """What tokenize_corpus.py leaves in corpus.json."""
    write_sealed(
        str(output / "source.json"), {"dataset": "ptb", "source": "a test", "stand_in": False}
    )
    description = source / "source.json" if source == output else output / "source.json"
    options = {"--source": description, "--stride": 3, "--output": output / "corpus.json"}
    flat = [str(part) for option in options.items() for part in option]
    monkeypatch.setattr(sys, "argv", ["tokenize_corpus.py", *flat])
    tokenize_corpus.main()
    return json.loads((output / "corpus.json").read_text())


def test_tokens(folder: Path) -> None:
    tokens, vocabulary = tokenize_corpus.tokenize(ptb, folder, ["train", "valid", "test"])
    # By frequency, ties by first occurrence; a newline is a token, even that of an empty line.
    assert vocabulary == ["<s>", "the", "</s>", "cat", "<unk>", "N", "sat"]
    assert tokens["train"].tolist() == [1, 3, 4, 1, 5, 2, 1, 3, 2, 6, 2]
    assert tokens["valid"].tolist() == [3, 2]
    assert tokens["test"].tolist() == [2, 6, 1, 2]
    assert {values.dtype for values in tokens.values()} == {np.dtype(np.int32)}


def test_unknown_word(folder: Path) -> None:
    (folder / "ptb.test.txt").write_text(" the dog sat \n")
    with pytest.raises(TextProblem, match=r"^test .*'dog'"):
        tokenize_corpus.tokenize(ptb, folder, ["train", "test"])


def test_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_main(monkeypatch, folder, folder)
    assert found["tokens"] == {"train": 11, "valid": 2, "test": 4}
    assert (found["vocabulary"], found["stride"]) == (7, 3)
    assert (found["source"], found["stand_in"]) == ("a test", False)
    assert np.load(folder / "valid.npy").tolist() == [3, 2]
    assert (folder / "vocabulary.txt").read_text().split() == [
        *("<s>", "the", "</s>", "cat", "<unk>", "N", "sat")
    ]


@pytest.mark.skipif(not PTB.is_dir(), reason="the Penn Treebank is not beside this repository")
def test_penn_treebank() -> None:
    tokens, vocabulary = tokenize_corpus.tokenize(ptb, PTB, ["train", "valid", "test"])
    sizes = {split: len(values) for split, values in tokens.items()}
    assert sizes == {"train": 929_589, "valid": 73_760, "test": 82_430}
    assert len(vocabulary) == 10_001
    assert max(values.max() for values in tokens.values()) == 10_000
    text = (PTB / "ptb.valid.txt").read_text().split("\n", 1)[0].split()
    assert [vocabulary[token] for token in tokens["valid"][: len(text) + 1]] == [*text, "</s>"]
