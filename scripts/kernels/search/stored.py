"""MetaSchedule's database on disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path

from tvm.s_tir import meta_schedule as ms

_FILES = ("database_workload.json", "database_tuning_record.json", "runs.jsonl")


def open_json_database(directory: Path) -> ms.database.JSONDatabase:
    """Open or create the database in `directory`; a corrupted one is set aside and reported."""
    directory.mkdir(parents=True, exist_ok=True)
    try:
        return ms.database.JSONDatabase(work_dir=str(directory))
    except Exception as error:
        # TVM reports a damaged file by various exception types.
        moved = set_aside(directory, "corrupted")
        logging.getLogger(__name__).warning(
            f"The tuning database in {directory} is corrupted ({_first_line(error)}). "
            f"It was moved to {', '.join(moved)}; tuning starts afresh."
        )
        return ms.database.JSONDatabase(work_dir=str(directory))


def set_aside(directory: Path, why: str) -> list[str]:
    """Rename the files of a database, so that the next one begins afresh; their new paths."""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    moved = []
    for path in _existing(directory / name for name in _FILES):
        moved.append(str(path.rename(path.with_name(f"{path.name}.{why}-{stamp}"))))
    return moved


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.exists()]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
