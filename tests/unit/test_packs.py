"""Where a pack's results come from: who packed them, whether they are as packed, and whose key has signed that."""

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from commands import render_pack
from measurement.record import write_sealed
from plan.matrix import Measurement
from reporting import packs, tabulate
from reporting import results as folders
from steps import pack_results

from . import hand_made

BY = "Jane Doe <script>, of a lab"


def key(path: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def committed(cell: object, process: int, record: dict) -> None:
        record["repository"] = {"commit": "0123456789abcdef", "dirty": True}

    one = ["stacked-lm"]
    hand_made.project(tmp_path, committed, benchmarks=one)
    monkeypatch.chdir(tmp_path)
    config = hand_made.configuration("stacked-lm", benchmarks=one)
    hand_made.write_manifest(tmp_path, "stacked-lm", config)
    return tmp_path


def pack(monkeypatch: pytest.MonkeyPatch, archive: Path, *options: object) -> None:
    arguments = ["pack", "results", "--output", archive, *options]
    monkeypatch.setattr(sys, "argv", list(map(str, arguments)))
    pack_results.main()


def packed(project: Path, monkeypatch: pytest.MonkeyPatch, *options: object) -> Path:
    """A folder as it comes out of the archive."""
    pack(monkeypatch, project / "there.zip", *options)
    with zipfile.ZipFile(project / "there.zip") as archive:
        archive.extractall(project)
    return project / "there"


def test_a_solid_archive_holds_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = packed(project, monkeypatch)
    archives = [project / "there.tar.xz", project / "again" / "there.tar.xz"]
    archives[1].parent.mkdir()
    for archive in archives:
        pack(monkeypatch, archive)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with packs.unpacked(archives[0]) as found:
        assert found.name == "there"
        there, here = (
            {p.relative_to(each): p.read_bytes() for p in each.rglob("*") if p.is_file()}
            for each in (found, folder)
        )
    assert there == here
    half = project / "half.tar.xz"
    half.write_bytes(archives[0].read_bytes()[:2000])
    assert "half.tar.xz cannot be read as an archive" in refused(half)
    with tarfile.open(project / "out.tar.xz", "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("../out"))
    assert "'../out'" in refused(project / "out.tar.xz")


def test_who_packed_what(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page says it of what lies elsewhere."""
    folder = packed(project, monkeypatch, "--by", BY)
    found = packs.origin(folder)
    assert found["by"] == "Jane Doe ?script?, of a lab"  # nothing of it is markup
    assert found["commits"] == ["0123456789+"]
    assert found["signed"] == "*unsigned*"
    manifests = [*folders.manifests_in(project / "results"), *folders.manifests_in(folder)]
    own, other = tabulate.about("stacked-lm", [*map(folders.read, manifests)])["machines"]
    assert own["origin"] is None and other["origin"]["by"] == found["by"]


def test_a_list_that_was_changed_is_damaged(project: Path) -> None:
    (path,) = folders.manifests_in(project / "results")
    write_sealed(str(path), json.loads(path.read_text()))
    path.write_text(path.read_text().replace('"preliminary": ', '"preliminary":  '))
    with pytest.raises(SystemExit, match="is damaged"):
        folders.read_manifest(path)


def test_signed_by_somebody_that_is_known_or_not(project: Path, monkeypatch) -> None:
    own = key(project / "own")
    with pytest.raises(SystemExit, match="signs nothing: "):
        packed(project, monkeypatch, "--key", project / "nothing")
    folder = packed(project, monkeypatch, "--key", own)
    monkeypatch.setattr(packs, "SIGNERS", project / "signers")
    said = packs.origin(folder)["signed"]
    assert said.startswith("signed with a key that") and "SHA256:" in said
    public = own.with_suffix(".pub").read_text()
    packs.SIGNERS.write_text(f"jane@lab {public}")
    assert packs.origin(folder)["signed"] == "signed by jane@lab"
    other = key(project / "other").with_suffix(".pub").read_text()
    packs.SIGNERS.write_text(f"jane@lab {other}")
    assert packs.origin(folder)["signed"].startswith("signed with a key that")


def test_what_was_changed_since_it_was_packed(project: Path, monkeypatch) -> None:
    """Also with a seal that is right again: a seal keeps from accidents, a signature from more."""
    folder = packed(project, monkeypatch, "--key", key(project / "own"))
    note, before = folder / packs.NOTE, (folder / packs.NOTE).read_text()
    (record, *_) = (folder / "records").rglob("*.json")
    content = record.read_bytes()

    record.write_bytes(content + b" ")
    with pytest.raises(SystemExit, match=r"does not match .*pack\.json; fetch"):
        packs.origin(folder)
    record.write_bytes(content)
    note.write_text(before.replace('"by": null', '"by": "somebody else"'))
    with pytest.raises(SystemExit, match=r"pack\.json\.sig is not a signature of .*pack\.json"):
        packs.origin(folder)
    note.write_text(before)
    assert packs.origin(folder)["signed"].startswith("signed")

    name = str(record.relative_to(folder))
    files = dict(json.loads(before)["files"])
    del files[name]
    (folder / packs.SIGNATURE).unlink()
    note.write_text(json.dumps(json.loads(before) | {"files": files}))
    with pytest.raises(SystemExit, match=r"does not match"):  # one that was added
        packs.origin(folder)


def test_a_note_that_is_damaged_or_missing(project: Path, monkeypatch) -> None:
    folder = packed(project, monkeypatch, "--key", key(project / "own"))
    (folder / packs.NOTE).unlink()
    with pytest.raises(SystemExit, match=r"pack\.json is missing, which pack\.json\.sig signs"):
        packs.origin(folder)
    (folder / packs.NOTE).write_text('{"files": 1, "by": null, "commits": []}')
    with pytest.raises(SystemExit, match=r"pack\.json is damaged; fetch the folder again"):
        packs.origin(folder)


def refused(*arguments: object) -> str:
    """What `make pages` says instead of making some."""
    with pytest.raises(SystemExit) as stop, packs.unpacked(*arguments) as folder:
        render_pack.documents(folder)
    assert "\n" not in stop.value.code
    return stop.value.code


def test_cells_of_its_maker_s_own_are_left_out(project: Path, monkeypatch) -> None:
    folder = packed(project, monkeypatch)
    (manifest,) = folders.manifests_in(folder)
    own = folders.read_manifest(manifest) | {"document": "cell-theirs"}
    write_sealed(str(manifest.with_name(f"cell-theirs-{own['machine']}.json")), own)
    assert list(render_pack.documents(folder)) == ["stacked-lm"]
    manifest.unlink()
    with pytest.raises(SystemExit):
        render_pack.documents(folder)


def test_pages_are_made_of_a_pack_only(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = packed(project, monkeypatch)
    with packs.unpacked(project / "there.zip") as found:
        assert folders.members(found).keys() == folders.members(folder).keys()
        assert list(render_pack.documents(found)) == ["stacked-lm"]
    renamed = (project / "there.zip").rename(project / "elsewhere.zip")
    with zipfile.ZipFile(renamed, "a") as archive:
        archive.writestr("elsewhere/note", "")  # named as pages call the results
    with packs.unpacked(renamed) as found:
        assert found.name == "elsewhere" and not (found / "note").exists()
    renamed.rename(project / "there.zip")
    with monkeypatch.context() as patch:
        patch.setattr(render_pack.matrix, "implementations", lambda: [])
        assert "which this workflow does not know" in refused(project / "there.zip")
    (project / "text.zip").write_text("text")
    for archive in (project / "text.zip", project / "nowhere.zip"):
        assert refused(archive).startswith(f"{archive} cannot be read as an archive")
    for member, said in (("other/file", "other.zip is not a pack"), ("../out", "'../out'")):
        with zipfile.ZipFile(project / "other.zip", "w") as archive:
            archive.writestr(member, "")
        assert said in refused(project / "other.zip")
    next((folder / "records").rglob("*.json")).write_text("{}")
    assert "does not match" in refused(folder)


def test_a_run_is_packed_over_an_earlier_pack(project: Path, monkeypatch) -> None:
    earlier = packed(project, monkeypatch).rename(project / "earlier")
    (path,) = folders.manifests_in(project / "results")
    manifest = folders.read_manifest(path)
    first, second, *_ = [cell for cell in manifest["cells"] if cell["records"]]
    again = first["records"][0].replace("-1.", "-9.")
    (project / "results" / first["records"][0]).rename(project / "results" / again)
    renewed = {**first, "records": [again]}
    left_out = {**second, "records": [], "status": "not-run", "reason": "left out"}
    write_sealed(str(path), manifest | {"cells": [renewed, left_out]})
    there = packed(project, monkeypatch, "--over", earlier)
    before, after = (
        folders.read_manifest(each / "manifests" / path.name)["cells"] for each in (earlier, there)
    )
    cells = [*map(Measurement.of, after)]
    assert {*cells} == {*map(Measurement.of, before)} and len({*cells}) == len(cells)
    assert renewed in after
    assert [cell for cell in after if cell != renewed] == [cell for cell in before if cell != first]
    assert all(file.exists() for file in folders.members(there).values())
    assert not (there / first["records"][0]).exists()
