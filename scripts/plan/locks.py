"""Locks: what an environment was verified with, package by package.

Pins name what is measured, a lock all that lies beneath: the same pins, resolved in two years or by another index, are
another environment. It is a requirements file of pip's, with a version and the digests of the files that were
installed, for one platform and one Python.
"""

import hashlib
import json
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from measurement.record import whole

PLATFORM = f"{sys.platform}-{platform.machine()}"
FORMAT = """\
# {name}: what `make lock ENVIRONMENT={name}{how}` found, and renews
# {platform}, Python {python}, pip {pip}, for the pins {pins}
{requirements}
"""
HEADER = re.compile(r"# \S+, Python (\d+\.\d+)\S*, pip \S+, for the pins ([0-9a-f]{8})")
PACKAGE = re.compile(r"([a-z0-9-]+)==([A-Za-z0-9.!+]+)((?: --hash=sha256:[0-9a-f]{64})+)")


class EnvironmentProblem(Exception):
    """An environment file or an interpreter is not usable; the message says which and what to do."""


class LockProblem(EnvironmentProblem):
    """A lock cannot be read; the message says which and what to do."""


@dataclass(frozen=True)
class Lock:
    """A lock's file, the Python that it is for (`3.11`), the digest of the pins that it was made for, and
    {package: (version, digests of its files)}."""

    path: str
    python: str
    pins: str
    packages: dict[str, tuple[str, tuple[str, ...]]]

    @property
    def requirements(self) -> list[str]:
        """The lines that pip takes."""
        return [
            " ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in digests)])
            for name, (version, digests) in sorted(self.packages.items())
        ]

    @property
    def versions(self) -> dict[str, str]:
        return {name: version for name, (version, _) in sorted(self.packages.items())}


def digest_of_pins(pip: tuple[str, ...]) -> str:
    """Eight digits naming the lines of a `pip:` section."""
    return hashlib.sha256(json.dumps(pip).encode()).hexdigest()[:8]


def path_of(source: str, python: str) -> Path:
    """Where the lock of an environment file lies, for this platform and a Python `3.11` or `3.11.7`."""
    minor = ".".join(python.split(".")[:2])
    return Path(source).parent / "locks" / f"{PLATFORM}-py{minor}" / f"{Path(source).stem}.txt"


def paths_of(source: str, python: str | None) -> list[Path]:
    """Its locks that are there for this platform, of one Python, or (None) of any."""
    lock = path_of(source, python or "*")
    return list(lock.parent.parent.glob(f"{lock.parent.name}/{lock.name}"))


def read(path: Path) -> Lock:
    """Parse a lock. Raises LockProblem, also for any option of pip's but digests."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    header = next(filter(None, map(HEADER.fullmatch, lines)), None)
    packages = [PACKAGE.fullmatch(line) for line in lines if not line.startswith("#")]
    if not header or not all(packages):
        raise LockProblem(
            f"{path} is not a lock: it needs a header line, and `package==version --hash=sha256:...` in all "
            f"others; make it again: make lock ENVIRONMENT={path.stem}"
        )
    return Lock(
        str(path),
        python=header[1],
        pins=header[2],
        packages={
            found[1]: (found[2], tuple(re.findall("[0-9a-f]{64}", found[3]))) for found in packages
        },
    )


def write(lock: Lock, python: str, pip: str, how: str = "") -> None:
    """`python` and `pip`: the versions that it was made with; how: what the command has beside the environment."""
    path = Path(lock.path)
    facts = {"name": path.stem, "platform": PLATFORM, "python": python, "pip": pip, "how": how}
    with whole(str(path)) as stream:
        stream.write(
            FORMAT.format(**facts, pins=lock.pins, requirements="\n".join(lock.requirements))
        )


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What a renewed lock has another version of, in words."""
    return [
        f"{name}: {before.get(name, 'none')} -> {after.get(name, 'none')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
