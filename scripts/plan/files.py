"""Files of results: what is wrong with one, and where it goes then."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, wraps
from itertools import chain, count
from pathlib import Path

from measurement import record


def once(read: Callable[..., str]) -> Callable[..., str]:
    """A function of a file, which is read once as long as it has the same time and size."""
    cached = cache(lambda path, written_ns, size, *more: read(path, *more))

    @wraps(read)
    def answer(path: str, *more: object) -> str:
        stat = os.stat(path)
        return cached(path, stat.st_mtime_ns, stat.st_size, *more)

    return answer


_damage, sha256 = once(record.damage), once(record.sha256)


@once
def seal(path: str) -> str:
    """The seal of a result's file, which no other measurement has; "" of one that has none."""
    length = len(record.SEALED) + record.SEAL_DIGITS + len(record.CLOSING)
    with open(path, "rb") as stream:
        stream.seek(max(0, os.path.getsize(path) - length - 1))
        end = stream.read().rstrip()[-length:]
    named = end.startswith(record.SEALED)
    return end[len(record.SEALED) : -len(record.CLOSING)].decode() if named else ""


def damage(path: str, beside: Iterable[str] = (), sealed: bool = True) -> str:
    """What is wrong with a result's file, or with files `beside` it whose digests stand in it; "" where nothing is, or no
    file is there. Records have to be `sealed`, lists of them not."""
    if os.path.isdir(path):
        return "it is a folder"
    try:
        wrong = _damage(path, sealed)
        if wrong or not beside:
            return wrong
        noted = json.loads(Path(path).read_text(encoding="utf-8")).get("sha256_beside", {})
        for file in beside:
            name = os.path.basename(file)
            if name in noted and not os.path.exists(file):
                return f"{name} next to it is missing"
            if name in noted and (os.path.isdir(file) or noted[name] != sha256(file)):
                return f"{name} next to it was modified"
        return ""
    except (FileNotFoundError, ValueError):
        return ""


def bring_to_now(folder: str) -> None:
    """Give files from the future (a clock was set back) the present's time: what Snakemake makes of one looks older than it,
    and counts as not made."""
    now = time.time()
    for place, _, files in os.walk(folder):
        for path in (os.path.join(place, name) for name in files):
            with suppress(OSError):
                if os.lstat(path).st_mtime > now:
                    os.utime(path, (now, now), follow_symlinks=False)


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
