"""Snakemake's marks of jobs that did not end (.snakemake/incomplete), of results that are whole all the same: they are written in
one step, with a seal."""

import base64
from contextlib import suppress
from pathlib import Path

from plan.files import damage
from plan.jobs import RESULTS

FOLDER = Path(".snakemake/incomplete")


def take_off_whole() -> None:
    """Take the marks off results that are as they were written: also in a dry run, which Snakemake refuses with them, where
    the folder can be written."""
    for mark in filter(Path.is_file, FOLDER.rglob("*")):
        # A long name is cut into folders, which begin with @.
        coded = str(mark.relative_to(FOLDER)).replace("/@", "").removeprefix("@")
        if _is_whole(base64.urlsafe_b64decode(coded.replace("/", "")).decode()):
            with suppress(OSError):
                mark.unlink()


def _is_whole(path: str) -> bool:
    """Whether a result is as it was written, a kernel's with its library."""
    record = path.removesuffix(".so") + ".json" if path.endswith(".so") else path
    there = path.startswith(f"{RESULTS}/") and Path(path).is_file()
    return there and Path(record).is_file() and not damage(record, {path} - {record})
