"""Stamps of derived files: tables, sections, figures, pages, archives. The step that makes some leaves a stamp below
results/stamps/: the digests of them, and of all that they were made of. By it a file is known that is empty, cut short,
altered, or made of what is not there any more, whatever its time says."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from measurement.record import damage, read_result, write_sealed
from plan.files import aside, sha256
from plan.jobs import RESULTS

FOLDER = f"{RESULTS}/stamps"
TIMESTAMP = ".snakemake_timestamp"  # Snakemake's own, in folders that it makes
# Which environment renders decides nothing that is rendered, and its record is among a step's inputs only once.
LEFT_OUT = f"{RESULTS}/environments/"


def path_of(outputs: Sequence[str]) -> str:
    """The stamp of some files that are made together."""
    return f"{FOLDER}/{os.path.relpath(outputs[0], RESULTS)}.json"


def digests(paths: Iterable[str]) -> dict[str, str]:
    """{file: its digest} of those that are there; of a folder all files below it."""
    found = {}
    for path in paths:
        below = (
            [str(file) for file in sorted(Path(path).rglob("*"))] if os.path.isdir(path) else [path]
        )
        for file in below:
            if os.path.isfile(file) and os.path.basename(file) != TIMESTAMP:
                found[file] = sha256(file)
    return found


def of_inputs(paths: Iterable[str]) -> dict[str, str]:
    """Likewise, of what something is made of."""
    return digests(path for path in paths if not path.startswith(LEFT_OUT))


def write(outputs: Sequence[str], of: Mapping[str, str]) -> None:
    """Write down what some files are, and the digests of what they were made of."""
    write_sealed(path_of(outputs), {"made": digests(outputs), "of": dict(of)})


def forget(outputs: Sequence[str]) -> None:
    """Take a stamp away; a folder in its place is somebody's, and kept beside it."""
    path = path_of(outputs)
    if os.path.isdir(path):
        os.replace(path, aside(path))
    Path(path).unlink(missing_ok=True)


def _read(outputs: Sequence[str]) -> dict | None:
    path = path_of(outputs)
    return read_result(path) if os.path.isfile(path) and not damage(path) else None


def is_whole(outputs: Sequence[str], inputs: Iterable[str]) -> bool:
    """Whether some files are there, as they were made, of what `inputs` are now."""
    stamp = _read(outputs)
    return bool(stamp) and stamp["made"] == digests(outputs) and stamp["of"] == of_inputs(inputs)


def wrong(outputs: Sequence[str]) -> str:
    """What happened to some files since they were made, in words; "" where nothing did, or they never were."""
    stamp = _read(outputs)
    if stamp is None:
        there = [path for path in outputs if os.path.exists(path)]
        return f"{there[0]} has no stamp of what it was made from" if there else ""
    now = digests(outputs)
    for file in sorted({*stamp["made"], *now}):
        if file not in now:
            return f"{file} is missing"
        if stamp["made"].get(file) != now[file]:
            return f"{file} is damaged (it was modified)"
    return ""
