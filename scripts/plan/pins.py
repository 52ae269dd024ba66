"""Pins: where a package's version stands in envs/, and another version in its place."""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from measurement.record import whole
from plan import environments, matrix

FOLDER = Path("envs")
CUDA = "-cuda"
LINE = re.compile(
    r"^(?P<start>\s*-\s+)(?P<name>[A-Za-z0-9][\w.-]*)(?P<extras>\[[^\]]*\])?==(?P<version>[^\s;#]+)",
    re.M,
)


def known_as(package: str) -> str:
    """What a package and its CPU build have in common: `tensorflow` of `tensorflow-cpu`."""
    return canonicalize_name(package).removesuffix("-cpu")


@dataclass(frozen=True)
class Pin:
    """A package and the version asked for; None: the newest."""

    package: str
    version: str | None

    @classmethod
    def read(cls, text: str) -> "Pin":
        """`torch==2.14.0`, `torch`, or the name of an environment, for its first pin; a stop with one line otherwise."""
        package, _, version = (part.strip() for part in text.partition("=="))
        if not version and (file := FOLDER / f"{package}.yaml").exists():
            package = next(iter(environments.load(str(file)).pins))
        try:
            if Requirement(package).name != package:
                raise InvalidRequirement(package)
            return cls(package, str(Version(version)) if version else None)
        except (InvalidRequirement, InvalidVersion):
            sys.exit(
                f"PIN={text} is not a pin: give a package and version (torch==2.14.0), or an "
                "environment for the newest version."
            )


def versions_in(text: str, package: str) -> list[str]:
    """The versions of a package that an environment file pins: one a platform, or none."""
    lines = LINE.finditer(text)
    return [line["version"] for line in lines if known_as(line["name"]) == known_as(package)]


def with_version(text: str, package: str, version: str) -> str:
    """An environment file with another version of a package, and nothing else changed."""

    def changed(line: re.Match) -> str:
        if known_as(line["name"]) != known_as(package):
            return line[0]
        return f"{line['start']}{line['name']}{line['extras'] or ''}=={version}"

    return LINE.sub(changed, text)


def measured() -> list[str]:
    """The environments that cells run in."""
    named = (name for entry in matrix.implementations() for name in entry["environments"])
    return list(dict.fromkeys(named))


def files_with(package: str, within: str | None = None) -> dict[Path, str]:
    """{environment file: its text} where a package is pinned: of today's environments, or of one by its name, CUDA
    builds with them. A stop with one line if there is none."""
    names = [within] if within else [each for each in measured() if matrix.today(each) == each]
    files = [FOLDER / f"{name}{build}.yaml" for name in names for build in ("", CUDA)]
    texts = {file: file.read_text(encoding="utf-8") for file in files if file.exists()}
    found = {file: text for file, text in texts.items() if versions_in(text, package)}
    if not found:
        others = [name for name in sorted(measured()) if versions_in(_text_of(name), package)]
        hint = f"; those that do: {', '.join(others)} (IN={others[0]})" if others else ""
        where = f"envs/{within}.yaml does not pin" if within else "No current environment pins"
        sys.exit(f"{where} {package}{hint}.")
    return found


def _text_of(environment: str) -> str:
    file = FOLDER / f"{environment}.yaml"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def names_of(files: Iterable[Path]) -> list[str]:
    """The environments that files are of; a CUDA build is one of its environment."""
    return list(dict.fromkeys(file.stem.removesuffix(CUDA) for file in files))


def write(texts: Mapping[Path, str]) -> None:
    """Write environment files, each whole."""
    for file, text in texts.items():
        with whole(str(file)) as stream:
            stream.write(text)
    environments.forget()


def releases(versions: Iterable[str], since: str) -> list[str]:
    """Of some versions the last patch of every minor release, from `since` on, oldest first."""
    known = sorted(v for each in versions if not (v := Version(each)).is_prerelease)
    last = {one.release[:2]: str(one) for one in known if one >= Version(since)}
    return list(last.values())


def available(package: str, environment: str, has: dict) -> list[str]:
    """The versions of a package that an environment's index has for its Python, by pip, the newest first; a stop with one line
    if it has none. `has` is what `environments.here` says."""
    specification = environments.load(has["source"])
    found = environments.find_interpreter(specification.python)
    version = found[1].rsplit(".", 1)[0] if found else None
    options = [part for line in specification.pip if line.startswith("--") for part in line.split()]
    if version:
        options += ["--python-version", version, "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "index", "versions", package, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if line := re.search(r"^Available versions: (.+)$", done.stdout, re.M):
        return line[1].split(", ")
    problem = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
    sys.exit(f"{environment}: no version of {package} was found ({problem}).")
