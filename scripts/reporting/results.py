"""Results folders: manifests say which cells a document has on a machine, and which records their numbers come from.

A results folder is any folder with `manifests/` and the records that they name: `results/` itself, or what `make pack`
made, unzipped. Manifests of several machines may lie in one; each is a part of the report.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import fastjsonschema

from measurement.record import SCHEMA_VERSION, read_result
from plan import configuration
from plan.jobs import MANIFEST_VERSION
from plan.matrix import Measurement
from plan.reading import on_one_line, shown

MANIFESTS = "manifests"
MEND = "delete it and run again"
# What may have infinities: how far a row that computes something else is off.
ERRORS = ("check", "verification")
ELSEWHERE = "use the version of the workflow that measured it, or measure again with this one"
CELL = ("benchmark", "implementation", "environment", "phase", "device")


@dataclass(frozen=True)
class Row:
    """One row of a manifest: a cell, and its records, or the status and the reason for which it has none."""

    cell: Measurement
    records: tuple[dict, ...] = ()
    paths: tuple[str, ...] = ()
    status: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Part:
    """What one machine has of one document."""

    path: Path  # of its manifest
    manifest: dict
    cells: list[Row]
    training: list[Row]

    @property
    def machine(self) -> str:
        return self.manifest["machine"]

    @property
    def records(self) -> Iterator[dict]:
        for row in (*self.cells, *self.training):
            yield from row.records


@cache
def _validate(name: str) -> Callable[[dict], dict]:
    """A schema as a function: there are many records, and each has a number a batch."""
    return fastjsonschema.compile(configuration.schema(name))


def _valid(path: Path, content: object, name: str, version: int) -> dict:
    """What a file holds; a stop with one line if it is of another version, or not what its schema says."""
    found = content.get("schema_version") if isinstance(content, dict) else None
    if found != version:
        said = f"has {name} schema {shown(repr(found))}, this workflow reads {version}"
        sys.exit(f"{path} {said}; {ELSEWHERE}.")
    computed = {k: v for k, v in content.items() if name == "manifest" or k not in ERRORS}
    try:
        json.dumps(computed, allow_nan=False)
    except ValueError:
        sys.exit(f"{path} is not a valid {name}: it has a number that is infinite or none; {MEND}.")
    try:
        return _validate(name)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        said = next(iter(configuration.problems(content, name)), str(error))
        sys.exit(f"{path} is not a valid {name}: {shown(said)}; {MEND}.")


def read_record(path: Path) -> dict:
    """One record, held against its schema; a stop with one line if it is not what this workflow writes."""
    if not path.exists():
        sys.exit(f"{path} is missing, but a manifest next to it names it; copy the folder again.")
    return _valid(path, read_result(str(path)), "record", SCHEMA_VERSION)


def read_manifest(path: Path) -> dict:
    """One manifest; a stop with one line if it is of another version, or names what is not below its folder."""
    manifest = read_result(str(path), sealed=False)  # those of earlier packs have no seal
    return _valid(path, manifest, "manifest", MANIFEST_VERSION)


def _plain(facts: object) -> object:
    """What a machine says of itself, without what would break a heading or a table."""
    if isinstance(facts, dict):
        return {key: _plain(value) for key, value in facts.items()}
    if isinstance(facts, list):
        return [_plain(value) for value in facts]
    return on_one_line(facts).replace("|", "/") if isinstance(facts, str) else facts


def read(path: Path) -> Part:
    """A manifest with the records that it names, which lie beside the folder it is in."""
    manifest, folder = read_manifest(path), path.parent.parent

    def row(found: dict, paths: Sequence[str]) -> Row:
        records = tuple(read_record(folder / each) for each in paths)
        for record in records:  # a cluster's nodes go by the name that the configuration gives them
            record["machine"] = _plain(record["machine"] | {"machine": manifest["machine"]})
        status, reason = found.get("status") or "", found.get("reason") or ""
        return Row(Measurement.of(found), records, tuple(paths), status, reason)

    cells = [row(found, found["records"]) for found in manifest["cells"]]
    training = [
        row(found, [found["record"]] if found.get("record") else [])
        for found in manifest["training"]
    ]
    return Part(path, manifest, cells, training)


def manifests_in(folder: Path, document: str = "*") -> list[Path]:
    """The manifests of a results folder, of one document or of all; a stop with one line if it has none at all."""
    if not any((folder / MANIFESTS).glob("*.json")):
        sys.exit(
            f"{folder} is not a results folder: it has no {MANIFESTS}/*.json (`make report` writes them)."
        )
    return sorted(
        path
        for path in (folder / MANIFESTS).glob(f"{document}-*.json")
        if document == "*" or read_manifest(path)["document"] == document
    )


def of_document(document: str, own: Iterable[Path], folders: Iterable[Path]) -> list[Path]:
    """The manifests that a document's report is made of: `own` first, then all others of the document that lie beside
    them or in `folders`. A machine takes part once: a second time is refused with one line."""
    own = list(own)
    searched = [*{each.parent.parent for each in own}, *folders]
    others = [path for folder in searched for path in manifests_in(folder, document)]
    found: dict[str, Path] = {}
    for path in dict.fromkeys([*own, *others]):
        machine = read_manifest(path)["machine"]
        if machine in found:
            sys.exit(
                f"also_report: {path.parent.parent} has records of the machine {machine}, as has "
                f"{found[machine].parent.parent}; leave one out, and use `make compare` for two runs of one machine."
            )
        found[machine] = path
    return list(found.values())


def members(folder: Path) -> dict[str, Path]:
    """{name below a results folder: file} of its manifests, and the records they name: what has to be
    sent."""
    found = {}
    for path in manifests_in(folder):
        manifest = read_manifest(path)
        named = [each for row in manifest["cells"] for each in row["records"]]
        named += [row["record"] for row in manifest["training"] if row.get("record")]
        found |= {f"{MANIFESTS}/{path.name}": path} | {name: folder / name for name in named}
    return found


def machines_in(folder: Path) -> list[str]:
    return list(dict.fromkeys(read_manifest(path)["machine"] for path in manifests_in(folder)))


def dump(content: object) -> str:
    """JSON that is the same for the same content."""
    return json.dumps(content, indent=1, allow_nan=False) + "\n"
