"""Packs of others: one that was measured is accepted, forged ones are not. Each is forged as somebody would who knows the files:
seals, names and the pack's digests are made again."""

import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from measurement.record import write_sealed
from plan.jobs import digest_of
from reporting import packs, results

from .conftest import Project, copied


@pytest.fixture(scope="module")
def measured(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with two processes a row, whose code is in a repository."""
    project = copied(finished, tmp_path_factory.mktemp("accept"))
    shutil.rmtree(project.path("report/example"))
    shutil.rmtree(project.path("report/machines"))
    packed(project.path("results"), project.path("one-process.zip"))
    project.edit("tiny.yaml", "processes: 1", "processes: 2")
    project.snakemake()
    person = "-c user.name=A -c user.email=a@example.org"
    for command in ("init --quiet", "add scripts envs", f"{person} commit -qm all"):
        project.run(["git", *command.split()])
    return project


def _manifests(folder: Path) -> list[Path]:
    return sorted((folder / results.MANIFESTS).glob("*.json"))


def packed(folder: Path, archive: Path) -> Path:
    """As `make pack` does, of whatever lies there."""
    members = results.members(folder)
    with zipfile.ZipFile(archive, "w") as stream:
        for name, file in members.items():
            stream.write(file, f"{archive.stem}/{name}")
        stream.writestr(f"{archive.stem}/{packs.NOTE}", packs.note(folder, members, None))
    return archive


def accept(project: Project, *archives: Path, ok: bool) -> str:
    return project.run([sys.executable, "scripts", "accept_pack", *map(str, archives)], ok)


@contextmanager
def changed(file: Path) -> Iterator[dict]:
    """The content of a result, to be changed, which is then sealed again."""
    content = json.loads(file.read_text())
    yield content
    write_sealed(str(file), content)


class Forgery:
    """A results folder with one record to be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (self.manifest,) = _manifests(folder)
        self.row = json.loads(self.manifest.read_text())["cells"][0]["records"]

    def record(self, number: int = 0) -> Path:
        return self.folder / self.row[number]

    def listed(self, number: int, *names: str) -> None:
        """Other records in the manifest in the place of one, or none."""
        self.row[number : number + 1] = names
        with changed(self.manifest) as manifest:
            manifest["cells"][0]["records"] = self.row

    def rename(self, number: int, change: Callable[[dict], None]) -> None:
        """Change what a record is named after, and its name."""
        content = json.loads(self.record(number).read_text())
        change(content)
        name = self.row[number].removeprefix("records/").rpartition("-")[0]
        name += f"-{content['identity']['process']}"
        new = f"records/{name}.{digest_of(['time', name, content['parts']], 12)}.json"
        write_sealed(str(self.folder / new), content)
        self.listed(number, new)


def edit(change: Callable[[dict], None]) -> Callable[[Forgery], None]:
    def forge(forgery: Forgery) -> None:
        with changed(forgery.record()) as record:
            change(record)

    return forge


def scaled(factor: float) -> Callable[[dict], None]:
    """Other times in all places."""

    def change(record: dict) -> None:
        record["samples"] = [factor * each for each in record["samples"]]
        for look in record["looks"]:
            look["batches"] = [factor * each for each in look["batches"]]

    return change


def fewer(record: dict) -> None:
    """One look fewer than the protocol asks for."""
    record["looks"] = record["looks"][: record["protocol"]["rounds"] - 1]
    for name, of_look in (("samples", "batches"), ("faults", "faults")):
        record[name] = [each for look in record["looks"] for each in look[of_look]]


def twice(forgery: Forgery) -> None:
    """One process, sold as two."""
    first = json.loads(forgery.record(0).read_text())
    forgery.rename(1, lambda record: record.update(first | {"identity": record["identity"]}))


def at_once(record: dict) -> None:
    """The second look begins in the first one."""
    one, other = record["looks"][:2]
    start = datetime.fromisoformat(one["start"].replace("Z", ""))
    start += timedelta(seconds=one["interference"]["wall_s"] - 0.1)
    one["interference"]["wall_s"] += 10.0
    other["start"] = start.isoformat() + "Z"


def unsealed(forgery: Forgery) -> None:
    text = forgery.record().read_text()
    forgery.record().write_text(text.replace('"seed": 0', '"seed": 1'))


def other_sources(record: dict) -> None:
    record["parts"]["sources"] = "0" * 8


FORGED = {
    "samples that no look has": edit(lambda r: r["samples"].__setitem__(0, r["samples"][0] / 2)),
    "a look is missing": edit(fewer),
    "faster than the machine": edit(scaled(1e-9)),
    "longer than it ran": edit(scaled(1e3)),
    "more CPU time than there is": edit(lambda r: r["interference"].update(own_cpu_s=1e4)),
    "longer in parts than in all": edit(lambda r: r.update(seconds=1e-3)),
    "looks at once": edit(at_once),
    "wrong in its check": edit(lambda r: r["check"]["errors"].update(output=0.1)),
    "wrong after it was timed": edit(lambda r: r["verification"]["errors"].update(output=0.1)),
    "another version": edit(lambda r: r["environment"]["packages"].update(numpy="99.1")),
    "no such commit": edit(lambda r: r.update(repository={"commit": "f" * 40, "dirty": False})),
    "another benchmark": edit(lambda r: r["benchmark"].update(hidden=5)),
    "another protocol": edit(lambda r: r["protocol"].update(rounds=1)),
    "other code": lambda forgery: forgery.rename(0, other_sources),
    "one process as two": twice,
    "a process is missing": lambda forgery: forgery.listed(1),
    "without a seal": unsealed,
}


def test_one_process_is_enough_where_the_protocol_asks_for_one(measured: Project) -> None:
    accept(measured, measured.path("one-process.zip"), ok=True)
    measured.path("report/machines/one-process.zip").unlink()


def test_what_was_measured_is_accepted(measured: Project, tmp_path: Path) -> None:
    archive = packed(measured.path("results"), tmp_path / "theirs.zip")
    accept(measured, archive, ok=True)
    kept = measured.path("report/machines/theirs.zip")
    assert kept.read_bytes() == archive.read_bytes()
    again = Path(shutil.copy(archive, tmp_path / "again.zip"))
    said = accept(measured, kept, again, ok=False)
    kept.unlink()
    (line,) = [line for line in said.splitlines() if str(again) in line]
    assert str(kept.relative_to(measured.root)) in line


def test_forged_ones_are_refused(measured: Project, tmp_path: Path) -> None:
    archives = {kind: tmp_path / f"{number}.zip" for number, kind in enumerate(FORGED)}
    for kind, forge in FORGED.items():
        forgery = Forgery(Path(shutil.copytree(measured.path("results"), tmp_path / kind)))
        forge(forgery)
        packed(forgery.folder, archives[kind])
    lines = accept(measured, *archives.values(), ok=False).splitlines()
    assert not [*measured.path("report/machines").glob("*.zip")]
    said = {kind: [line for line in lines if f"{each} " in line] for kind, each in archives.items()}
    assert [
        kind for kind in FORGED if not any("/forward-cpu-" in line for line in said[kind])
    ] == []
