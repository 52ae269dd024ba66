"""Importing this takes away bytecode that a full disk has cut short: import it before any other module of ours.

CPython before 3.14 does not look how much of it was written (issue 126606), and fails at every later import of its module
with `EOFError: marshal data too short`. What is cut short ends with a page. This file's own is smaller than one.
"""

from contextlib import suppress
from pathlib import Path

PAGE = 4096  # bytes; of larger ones too


def sweep(folder: Path) -> None:
    """Delete bytecode below a folder that may be cut short; of what is whole, one file in 4096, which is made again."""
    for file in folder.rglob("*.pyc"):
        if file.stat().st_size % PAGE == 0:
            with suppress(OSError):  # as where nothing can be written
                file.unlink()


for _folder in (Path(__file__).parent, Path(__file__).parent / "recurrent_cells"):
    sweep(_folder)
