"""Records reach the disk whole or not at all, and what goes wrong is said in one line."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from measurement import record


def test_a_reader_never_sees_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the one step that puts the new file in place, the old one stands there; nothing is left beside it."""
    path = tmp_path / "new" / "folder" / "record.json"
    record.write_json(str(path), {"version": "old"})
    seen = []
    replace = record.os.replace

    def spy(source: str, target: str) -> None:
        seen.append((json.loads(Path(source).read_text()), json.loads(Path(target).read_text())))
        replace(source, target)

    monkeypatch.setattr(record.os, "replace", spy)
    record.write_json(str(path), new := {"version": "new", "samples": [1.5, None]})
    assert seen == [(new, {"version": "old"})]
    assert record.read_json(str(path)) == new and [*path.parent.iterdir()] == [path]


def test_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk; it needs a process of its own."""
    path = tmp_path / "record.json"
    record.write_json(str(path), {"version": "old"})
    code = (
        "import sys; from measurement.record import write_json; "
        "write_json(sys.argv[1], {'samples': [0.1] * 100000})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd="scripts",
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"cannot write {path}: ")
    assert done.stderr.count("\n") == 1
    assert record.read_json(str(path)) == {"version": "old"}
    assert list(tmp_path.iterdir()) == [path]


def test_path_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SystemExit, match=r"^cannot write .*file/record\.json: .*same command"):
        record.write_json(str(tmp_path / "file" / "record.json"), {})


@pytest.mark.parametrize("content", ["", '{"status": "ok", "samp', "not JSON"])
def test_damaged_record(tmp_path: Path, content: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(content)
    with pytest.raises(SystemExit, match=r"record\.json is damaged \(.*delete it") as stop:
        record.read_json(str(path))
    assert "\n" not in stop.value.code


class TestSeal:
    @staticmethod
    def sealed(tmp_path: Path) -> Path:
        path = tmp_path / "cell" / "forward-cpu-1.0123456789ab.json"
        record.write_sealed(str(path), {"status": "ok", "samples": [0.125, 3.5], "seal": "old"})
        return path

    def test_a_sealed_file_is_json_and_whole(self, tmp_path: Path) -> None:
        path = self.sealed(tmp_path)
        assert record.damage(str(path)) == ""
        assert record.read_result(str(path)) == {"status": "ok", "samples": [0.125, 3.5]}
        again = json.loads(path.read_text())
        record.write_sealed(str(path), again)
        assert json.loads(path.read_text()) == again  # whatever wrote it, it is the same seal

    def test_every_byte_counts(self, tmp_path: Path) -> None:
        path = self.sealed(tmp_path)
        content = path.read_bytes()
        for place in range(len(content) - 1):  # the last one ends the line
            path.write_bytes(content[:place])
            assert record.damage(str(path)), place
            path.write_bytes(content[:place] + b"7" + content[place + 1 :])
            assert record.damage(str(path)) or content[place : place + 1] == b"7", place

    def test_one_that_was_copied_elsewhere_is_known(self, tmp_path: Path) -> None:
        path = self.sealed(tmp_path)
        other = path.with_name("forward-cpu-1.ba9876543210.json")
        other.write_bytes(path.read_bytes())
        assert record.damage(str(other)) == "it was modified"
        moved = tmp_path / "there" / "cell" / path.name  # with its folder, to another machine
        moved.parent.mkdir(parents=True)
        moved.write_bytes(path.read_bytes())
        assert record.damage(str(moved)) == ""
        with pytest.raises(SystemExit, match=r"is damaged \(it was modified\)"):
            record.read_result(str(other))

    def test_one_without_a_seal_is_damaged(self, tmp_path: Path) -> None:
        path = tmp_path / "record.json"
        for content, wrong, unsealed in (
            ('{"a": 1}', "it has no seal", ""),
            ("[1]", "it is not a record", "it is not a record"),
            ("", "it is not JSON", "it is not JSON"),
        ):
            path.write_text(content)
            for sealed, said in ((True, wrong), (False, unsealed)):
                found = record.damage(str(path), sealed)
                assert found.startswith(said) and bool(found) == bool(said)
        path.write_text('{"a": 1}')
        with pytest.raises(SystemExit, match=r"is damaged \(it has no seal\); run again"):
            record.read_result(str(path))
        assert record.read_result(str(path), sealed=False) == {"a": 1}


def test_a_line_that_was_cut_short_was_a_failed_attempt(tmp_path: Path) -> None:
    path = tmp_path / "failures.jsonl"
    for number in range(2):
        record.append_line(str(path), {"number": number})
    path.write_bytes(path.read_bytes()[:-3])
    assert record.read_lines(str(path)) == [{"number": 0}, record.CUT_SHORT]
    record.append_line(str(path), {"number": 2})
    assert record.read_lines(str(path)) == [{"number": 0}, record.CUT_SHORT, {"number": 2}]
    path.write_text("")
    assert record.read_lines(str(path)) == [record.CUT_SHORT]
