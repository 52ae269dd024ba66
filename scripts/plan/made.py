"""Files that are made of others: tables, sections, figures, pages, archives. The step that makes some leaves a note below
results/made/: the digests of them, and of all that they were made of. By it a file is known that is empty, cut short,
altered, or made of what is not there any more, whatever its time says."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from measurement.record import damage, read_result, write_sealed
from plan.jobs import RESULTS, aside, sha256

NOTES = f"{RESULTS}/made"
STAMP = ".snakemake_timestamp"  # Snakemake's own, in folders that it makes
# Which environment renders decides nothing that is rendered, and its record is among a step's inputs only once.
LEFT_OUT = f"{RESULTS}/environments/"


def note_of(outputs: Sequence[str]) -> str:
    """The file of the note about some files that are made together."""
    return f"{NOTES}/{os.path.relpath(outputs[0], RESULTS)}.json"


def digests(paths: Iterable[str]) -> dict[str, str]:
    """{file: its digest} of those that are there; of a folder all files below it."""
    found = {}
    for path in paths:
        below = (
            [str(file) for file in sorted(Path(path).rglob("*"))] if os.path.isdir(path) else [path]
        )
        for file in below:
            if os.path.isfile(file) and os.path.basename(file) != STAMP:
                found[file] = sha256(file)
    return found


def of_inputs(paths: Iterable[str]) -> dict[str, str]:
    """Likewise, of what something is made of."""
    return digests(path for path in paths if not path.startswith(LEFT_OUT))


def note(outputs: Sequence[str], of: Mapping[str, str]) -> None:
    """Note what some files are, and the digests of what they were made of."""
    write_sealed(note_of(outputs), {"made": digests(outputs), "of": dict(of)})


def forget(outputs: Sequence[str]) -> None:
    """Take a note away; a folder in its place is somebody's, and kept beside it."""
    path = note_of(outputs)
    if os.path.isdir(path):
        os.replace(path, aside(path))
    Path(path).unlink(missing_ok=True)


def _noted(outputs: Sequence[str]) -> dict | None:
    path = note_of(outputs)
    return read_result(path) if os.path.isfile(path) and not damage(path) else None


def is_whole(outputs: Sequence[str], inputs: Iterable[str]) -> bool:
    """Whether some files are there, as they were made, of what `inputs` are now."""
    noted = _noted(outputs)
    return bool(noted) and noted["made"] == digests(outputs) and noted["of"] == of_inputs(inputs)


def wrong(outputs: Sequence[str]) -> str:
    """What happened to some files since they were made, in words; "" where nothing did, or they never were."""
    noted = _noted(outputs)
    if noted is None:
        there = [path for path in outputs if os.path.exists(path)]
        return f"{there[0]} has no note of what it was made from" if there else ""
    now = digests(outputs)
    for file in sorted({*noted["made"], *now}):
        if file not in now:
            return f"{file} is missing"
        if noted["made"].get(file) != now[file]:
            return f"{file} is damaged (it was modified)"
    return ""
