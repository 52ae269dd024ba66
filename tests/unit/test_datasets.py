"""Another text is one module: here one read by characters, generated, with a configuration that only names it."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import datasets
from measurement.workload import Workload
from plan import configuration
from plan.corpus import Corpus
from plan.text import counts
from steps import fetch_corpus, tokenize_corpus

ALPHABET = "abcd \n"
MODULE = '''
"""A generated text, by characters."""
import random

from datasets import decoded

TITLE, FILE, MIRRORS, MAX_BYTES = "generated letters", "{split}.letters", (), 1 << 20


def stand_in(split):
    return "".join(random.Random(split).choices(%(alphabet)r, k=2000 if split == "train" else 100))


def tokens(content, name):
    return list(decoded(content, name))


def vocabulary(train):
    return sorted(set(train))


SHA256 = %(digests)r
'''


@pytest.fixture
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of that data set."""
    text = MODULE % {"alphabet": ALPHABET, "digests": {}}
    namespace: dict = {}
    exec(compile(text, "letters", "exec"), namespace)
    digests = {
        split: hashlib.sha256(namespace["stand_in"](split).encode()).hexdigest()
        for split in ("train", "valid", "test")
    }
    (tmp_path / "letters.py").write_text(MODULE % {"alphabet": ALPHABET, "digests": digests})
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(tmp_path)])
    yield "letters"
    sys.modules.pop("datasets.letters", None)


def test_a_text_by_characters(letters: str, tmp_path: Path, monkeypatch) -> None:
    given = {"devices": ["cpu"], "corpus": {"dataset": letters, "stand_in": True, "stride": 3}}
    corpus = Corpus(configuration.validated(given)["corpus"])
    assert [*corpus.text()] == ["train", "valid", "test"]
    assert corpus.file("valid") == "valid.letters"
    assert corpus.source != Corpus(corpus.config | {"dataset": "ptb"}).source
    assert corpus.mirrors == []
    source = tmp_path / "source.json"
    options = {"corpus": json.dumps(corpus.wanted), "mirrors": "[]", "output": source}
    run(fetch_corpus, options, monkeypatch)
    options = {"source": source, "stride": 3, "output": tmp_path / "corpus.json"}
    run(tokenize_corpus, options, monkeypatch)
    found = json.loads((tmp_path / "corpus.json").read_text())
    assert (found["vocabulary"], found["stride"]) == (len(ALPHABET), 3)
    assert found["tokens"] == {"train": 2000, "valid": 100, "test": 100} and found["stand_in"]
    text = datasets.load(letters).stand_in("train")
    tokens = np.load(tmp_path / "train.npy")
    assert "".join(sorted(ALPHABET)[token] for token in tokens) == text
    sizes = {"vocabulary": 6, "embedding": 2, "hidden": 2, "layers": 1, "batch": 2, "length": 5}
    workload = Workload(sizes | {"loss": "ce"}, str(tmp_path), 0)
    inputs, targets = next(workload.batches())
    assert (inputs[1:] == targets[:-1]).all() and inputs.max() < 6


def run(step, options: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    monkeypatch.setattr(sys, "argv", ["step", *flat])
    step.main()


def test_a_data_set_without_digests(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(datasets.load(letters).SHA256, "valid")
    with pytest.raises(SystemExit, match=r"letters\.py.*valid"):
        configuration.validated({"corpus": {"dataset": letters}})


@pytest.mark.parametrize("name", datasets.names())
def test_each_data_set_reads_its_own_text(name: str) -> None:
    dataset = datasets.load(name)
    contents = {split: dataset.stand_in(split).encode() for split in dataset.SHA256}
    files = {split: dataset.FILE.format(split=split) for split in contents}
    assert min(counts(dataset, contents, files)["tokens"].values()) > 0
    assert dataset.TITLE and max(map(len, contents.values())) <= dataset.MAX_BYTES
    assert all("{split}" in address for address in dataset.MIRRORS)
