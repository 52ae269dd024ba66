"""Results folders: this run's own records, and folders of other runs (`results/` itself, or what `make pack` made).

A folder has records.zip, which holds the records that a run's numbers come from and no others, context.json, and
cells.parquet or cells.csv.
"""

import json
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import fastjsonschema

from measurement.record import SCHEMA_VERSION, read_json
from plan import configuration
from plan.matrix import DEVICES, Cell

ARCHIVE, CONTEXT = "records.zip", "context.json"
# In the archive: what the run measured, and trained; others' records lie elsewhere.
OWN, TRAINED = "records/", "training/"
Cells = dict[Cell, list[dict]]  # the records of a cell's processes, in order


@cache
def _validate() -> Callable[[dict], dict]:
    """The schema of records as a function: there are many, and each has a number a batch."""
    return fastjsonschema.compile(configuration.schema("record"))


def cell_of(record: dict) -> Cell:
    identity = record["identity"]
    return Cell(**{key: value for key, value in identity.items() if key != "process"})


def _require_version(record: dict, where: str, advice: str) -> None:
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        sys.exit(
            f"{where} has record schema {version}, this workflow reads {SCHEMA_VERSION}; {advice}."
        )


def _accepted(record: dict, where: str, advice: str) -> dict:
    """A record, if it is what this workflow writes."""
    _require_version(record, where, advice)
    try:
        return _validate()(record)
    except fastjsonschema.JsonSchemaValueException:
        mistake = configuration.problems(record, "record")[0]
        sys.exit(f"{where} is not a valid record: {mistake}; {advice}.")


def read_record(path: str) -> dict:
    """One record of this run, held against its schema."""
    return _accepted(read_json(path), path, "delete it and run again")


def by_machine(records: Iterable[dict]) -> dict[str, Cells]:
    """{machine: {cell: records}}. What two machines measured is never one cell."""
    found: dict[str, Cells] = {}
    for record in records:
        cells = found.setdefault(record["machine"]["machine"], {})
        cells.setdefault(cell_of(record), []).append(record)
    return found


def _others(folder: Path, part: str = OWN) -> Iterator[tuple[str, dict]]:
    """(where, record) of what the run of a folder measured (`part`), unchecked; a stop with one line if that cannot be read."""
    archive = folder / ARCHIVE
    for file in (archive, folder / CONTEXT):
        if not file.exists():
            sys.exit(
                f"{folder} is no results folder: it has no {file.name} (`make report` leaves one)."
            )
    try:
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                if name.startswith(part):
                    yield f"{archive}: {name}", json.loads(packed.read(name))
    except (zipfile.BadZipFile, ValueError) as error:
        sys.exit(f"{archive} is damaged ({error}); fetch it again.")


ELSEWHERE = "use the version of the workflow that measured it, or measure again with this one"


def records(folder: Path, part: str = OWN) -> list[dict]:
    """The records of a results folder, each held against its schema."""
    return [_accepted(record, where, ELSEWHERE) for where, record in _others(folder, part)]


def require_readable(folders: list[str]) -> None:
    """Stop with one line, before anything is measured, if a folder is none or of another version."""
    for folder in map(Path, folders):
        if first := next(_others(folder), None):
            _require_version(first[1], first[0], ELSEWHERE)


def devices(config: dict) -> list[str]:
    """The devices that took part in this run or in one that is also reported."""
    contexts = [read_json(str(Path(folder) / CONTEXT)) for folder in config["also_report"]]
    took_part = {
        device for each in (config, *(c["config"] for c in contexts)) for device in each["devices"]
    }
    return [device for device in DEVICES if device in took_part]
