"""Files of results: what is wrong with one, and where it goes then."""

import json
import os
import sys
from collections.abc import Iterable
from functools import cache
from itertools import chain, count
from pathlib import Path

from measurement import record


@cache
def _damage(sealed: bool, path: str, written_ns: int, size: int) -> str:
    """What is wrong with a result's file of that time and size."""
    return record.damage(path, sealed)


@cache
def _seal(path: str, written_ns: int, size: int) -> str:
    length = len(record.SEALED) + record.SEAL_DIGITS + len(record.CLOSING)
    with open(path, "rb") as stream:
        stream.seek(max(0, size - length - 1))
        end = stream.read().rstrip()[-length:]
    named = end.startswith(record.SEALED)
    return end[len(record.SEALED) : -len(record.CLOSING)].decode() if named else ""


@cache
def _sha256(path: str, written_ns: int, size: int) -> str:
    return record.sha256(path)


def _as_it_is(path: str) -> tuple[str, int, int]:
    """A file with what tells that it has not been written since."""
    stat = os.stat(path)
    return path, stat.st_mtime_ns, stat.st_size


def damage(path: str, beside: Iterable[str] = (), sealed: bool = True) -> str:
    """What is wrong with a result's file, or with files `beside` it whose digests stand in it; "" where nothing is, or no
    file is there. Records have to be `sealed`, lists of them not."""
    if os.path.isdir(path):
        return "it is a folder"
    try:
        wrong = _damage(sealed, *_as_it_is(path))
        noted = (
            json.loads(Path(path).read_text(encoding="utf-8")).get("sha256_beside", {})
            if beside
            else {}
        )
        for file in [] if wrong else beside:
            name = os.path.basename(file)
            if name in noted and not os.path.exists(file):
                return f"{name} next to it is missing"
            if name in noted and (os.path.isdir(file) or noted[name] != sha256(file)):
                return f"{name} next to it was modified"
        return wrong
    except FileNotFoundError:
        return ""
    except ValueError:
        return wrong


def seal(path: str) -> str:
    """The seal of a result's file, which no other measurement has; "" of one that has none."""
    return _seal(*_as_it_is(path))


def sha256(path: str) -> str:
    """Of a file, read once as long as it is the same."""
    return _sha256(*_as_it_is(path))


def say(line: str) -> None:
    """What became of a file."""
    print(line, file=sys.stderr, flush=True)


say_once = cache(say)


def aside(path: str) -> str:
    """Where what is damaged is kept: beside itself, under a name that nothing has."""
    names = (f"{path}.{number}.damaged" for number in count(2))
    return next(name for name in chain([f"{path}.damaged"], names) if not os.path.lexists(name))


def set_aside(path: str, beside: Iterable[str] = (), dry: bool = False) -> bool:
    """Take a damaged file, and those `beside` it, out of the way of the next one, and say so; a `dry` run says it only.
    -> whether it is damaged"""
    wrong = damage(path, beside)
    if wrong and dry:
        say_once(f"{path} is damaged ({wrong}); a run sets it aside and makes it again.")
    elif wrong:
        kept = aside(path)
        for file, place in ((path, kept), *((each, aside(each)) for each in beside)):
            if os.path.exists(file):
                os.replace(file, place)
        say(f"{path} is damaged ({wrong}); it is made again. The old file is {kept}.")
    return bool(wrong)
