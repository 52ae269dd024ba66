"""A run's own copy of the scripts: what it plans by and what its measuring processes run from, so that whoever edits during
a run edits the next one."""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import bytecode
from measurement import supervisor
from measurement.record import refused
from plan import own, sources
from plan.jobs import RESULTS

FOLDER = Path(RESULTS, "sources")
# A link to packages/recurrent_cells/src; in a copy, a folder.
PACKAGE = sources.SCRIPTS / "recurrent_cells"


def contents(folder: Path) -> dict[str, bytes]:
    """{name: what stands in it} of all files of a folder with scripts/, but for bytecode; with the cells that are
    somebody's own where they are imported from."""
    tops = [folder / sources.SCRIPTS, folder / PACKAGE]  # rglob follows no link below its top
    found = [file for top in tops for file in top.rglob("*")]
    files = {file.relative_to(folder): file for file in found if "__pycache__" not in file.parts}
    cells = (folder / own.FOLDER).glob("*/*.py")
    files |= {own.PACKAGE / file.relative_to(folder / own.FOLDER): file for file in cells}
    return {str(name): files[name].read_bytes() for name in sorted(files) if files[name].is_file()}


def digest_of(files: dict[str, bytes]) -> str:
    """Twelve hexadecimal digits naming some files, byte by byte."""
    digests = [f"{name} {hashlib.sha256(content).hexdigest()}" for name, content in files.items()]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:12]


def made() -> Path:
    """The copy of the scripts as they are now, made if it is not there, or not whole."""
    files = contents(Path())
    copy = FOLDER / digest_of(files)
    if copy.exists() and digest_of(contents(copy)) != copy.name:
        shutil.rmtree(copy)
    if not copy.exists():
        temporary = copy.with_name(f"{copy.name}.{os.getpid()}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            for name, content in files.items():
                file = temporary / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                file.chmod(0o444)  # who means to edit it means another one
            (temporary / "planned").mkdir()
            temporary.rename(copy)
        except OSError:
            if not copy.exists():  # no other process was faster
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    bytecode.sweep(copy)
    return copy


def take(dry: bool = False) -> Path:
    """The folder that this run's measuring processes run from: what has begun it has made the copy, or this process does.
    From now on it plans by that copy, and so does all that it starts. A `dry` run makes none: it plans by the scripts
    themselves."""
    given = json.loads(os.environ.get(supervisor.RUN, "{}"))
    if not given or not Path(given["sources"], sources.SCRIPTS).exists():
        os.environ.pop(supervisor.RUN, None)
        if dry:
            return sources.SCRIPTS
        try:
            copy = made()
        except OSError as error:
            sys.exit(refused(f"cannot write {FOLDER}: {error.strerror}"))
        given = {"sources": str(copy), "repository": supervisor.repository()}
        os.environ[supervisor.RUN] = json.dumps(given)
    sources.read_from(Path(given["sources"]))
    return Path(given["sources"], sources.SCRIPTS)
