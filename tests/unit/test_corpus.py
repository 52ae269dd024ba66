"""Which text a run measures on, before anything is fetched."""

import hashlib
from pathlib import Path

import pytest

from measurement.record import write_sealed
from plan.corpus import Corpus

TEXTS = {split: f" {split} words \n" for split in ("train", "valid", "test")}
DIGESTS = {split: hashlib.sha256(text.encode()).hexdigest() for split, text in TEXTS.items()}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `texts` has the wanted files."""
    monkeypatch.chdir(tmp_path)
    Path("texts").mkdir()
    for split, text in TEXTS.items():
        Path(f"texts/ptb.{split}.txt").write_text(text)


def corpus(**changes: object) -> Corpus:
    settled = {
        "dataset": "ptb",
        "path": "texts",
        "mirrors": ["https://example.org/{split}"],
        "sha256": DIGESTS,
    }
    return Corpus(settled | {"stand_in": False, "stride": 3} | changes)


def fetched(corpus: Corpus, digests: dict[str, str]) -> None:
    write_sealed(corpus.source, {"sha256": digests})


def test_a_file_that_is_missing() -> None:
    corpus().require_files()
    Path("texts/ptb.test.txt").unlink()
    with pytest.raises(SystemExit, match=r"^corpus.path: texts/ptb.test.txt does not exist.*$"):
        corpus().require_files()


def test_another_text() -> None:
    Path("texts/ptb.valid.txt").write_text(" valid word")
    expected = rf"texts/ptb\.valid\.txt .*corpus\.sha256\.valid is {DIGESTS['valid'][:12]}.*$"
    with pytest.raises(SystemExit, match=rf"^corpus\.path: {expected}"):
        corpus().require_files()


def test_text_of_a_folder_is_known() -> None:
    """It has been looked at: no file of an earlier run is asked."""
    named = corpus()
    fetched(named, dict.fromkeys(TEXTS, "0" * 64))
    assert named.known and named.text() == DIGESTS


def test_where_the_text_comes_from() -> None:
    """One folder a text that is wanted; which mirror gave it does not matter."""
    fetched_from = corpus(path=None)
    assert corpus(path=None, mirrors=[]).source == fetched_from.source
    assert corpus(path=None, stride=2).source == fetched_from.source
    others = {
        corpus().source,
        corpus(path="elsewhere").source,
        corpus(path=None, stand_in=True).source,
        corpus(path=None, sha256=DIGESTS | {"test": "0" * 64}).source,
    }
    assert len(others) == 4 and fetched_from.source not in others


@pytest.mark.parametrize("path", ["texts", None])
def test_a_text_that_was_cut_short_is_taken_aside(path: str | None) -> None:
    """Also one that came from a folder: no tokens are made of it."""
    given = corpus(path=path)
    fetched(given, DIGESTS)
    folder = Path(given.source).parent
    for split, text in TEXTS.items():
        (folder / f"ptb.{split}.txt").write_text(text)
    assert not given.set_aside()
    (folder / "ptb.valid.txt").write_text("cut")
    cut = corpus(path=path)
    assert cut.set_aside(dry=True) and Path(cut.source).exists()
    assert cut.set_aside() and not Path(cut.source).exists()
