"""What is published here would be accepted today, but for that it is published already."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import accept_pack
from tests.conftest import ROOT

PACKS = [accept_pack.OURS, *sorted((ROOT / accept_pack.ACCEPTED).glob("*"))]


@pytest.fixture(scope="module")
def tree_of(tmp_path_factory: pytest.TempPathFactory) -> Callable:
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    if subprocess.run(asked, cwd=ROOT, capture_output=True).stdout != b"false\n":
        pytest.skip("no history here, of which packs name commits")
    return accept_pack.trees(tmp_path_factory.mktemp("trees"))


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_it_is_accepted(pack: Path, tree_of: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accept_pack, "taken", lambda *_: [])
    assert accept_pack.refusals(pack, tree_of) == []
