"""Environments: one file of pins each, read by conda and by the virtual-environment builder alike.

An environment is identified by a fingerprint of its *parsed* file and of what will run it, so that a
comment changes nothing and a version bump changes everything that depends on it.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from plan import locks
from plan.locks import EnvironmentProblem, Lock
from plan.reading import FileProblem, read_yaml, shown, strange

SCRIPTS = Path(__file__).resolve().parent.parent
CONDA_FILES = Path("results/environments")
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Specification:
    """An environment file, parsed. `python` and `bootstrap` (the pip to use) are conda's own part;
    `pip` holds the lines of its `pip:` section."""

    name: str
    python: SpecifierSet
    bootstrap: tuple[str, ...]
    pip: tuple[str, ...]

    @property
    def pins(self) -> dict[str, str]:
        """{canonical package name: version} of every `name==version` line."""
        found = {}
        for line in self.pip:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                continue  # an option such as --extra-index-url
            if requirement.marker and not requirement.marker.evaluate():
                continue  # another platform's line
            for specifier in requirement.specifier:
                if specifier.operator == "==":
                    found[canonicalize_name(requirement.name)] = specifier.version
        return found

    def lacking(self, packages: dict[str, str]) -> list[str]:
        """The pinned packages of which no version is installed, in its usual build or the one for CPUs."""
        have = {name.removesuffix("-cpu") for name in packages}
        return [name for name in self.pins if name.removesuffix("-cpu") not in have]

    def mismatches(self, packages: dict[str, str], lock: Lock | None = None) -> list[str]:
        """What the installed `packages` lack of the pins and the lock; a local label (`+cpu`) is no difference."""
        return [
            f"{name} {version} is pinned, {packages.get(name, 'nothing')} is installed"
            for name, version in ((lock.versions if lock else {}) | self.pins).items()
            if Version(packages.get(name, "0")).public != Version(version).public
        ]


EXACT = re.compile(r" *=[0-9.]+")
CONDAS = re.compile(r"(python|pip)( *[=<>!].*)?")


def _pep440(constraint: str) -> str:
    """Conda's `=3.7` -> `==3.7.*`; `>=3.10,<3.14` is the same in both."""
    constraint = constraint.strip()
    if constraint.startswith("=") and not constraint.startswith("=="):
        return f"=={constraint[1:].strip()}.*"
    return constraint


def _parts(content: object) -> tuple[dict[str, str], list[str]]:
    """({python and pip: conda's constraints}, lines of `pip:`) of an environment file. Raises ValueError."""
    for where, what in strange(content):
        raise ValueError(f"{where}: {what}")
    dependencies = content.get("dependencies") if isinstance(content, dict) else None
    if not isinstance(dependencies, list):
        raise ValueError("it has no list of them")
    condas, pip = {}, []
    for entry in dependencies:
        found = CONDAS.fullmatch(entry) if isinstance(entry, str) else None
        if found and found[1] not in condas:
            condas[found[1]] = found[2] or ""
        elif not found and isinstance(entry, dict) and [*entry] == ["pip"] and not pip:
            pip = entry["pip"]
        else:
            raise ValueError(f"{entry!r} is none of those, or a second one")
    if "python" not in condas:
        raise ValueError("there is no python")
    if not isinstance(pip, list) or not all(isinstance(line, str) for line in pip):
        raise ValueError(f"pip: {pip!r} is no list of lines")
    for line in pip:
        if not re.fullmatch(r"--[a-z-]+( \S+)?", line):
            Requirement(line)
    return condas, pip


@functools.cache
def load(path: str) -> Specification:
    """Parse an environment file."""
    try:
        condas, pip = _parts(read_yaml(path))
        exact = condas.get("pip", "")
        if exact and not EXACT.fullmatch(exact):
            raise ValueError(f"pip{exact} is no exact version, such as pip =24.0")
        return Specification(
            name=Path(path).stem,
            python=SpecifierSet(_pep440(condas["python"])),
            bootstrap=(f"pip{exact.replace('=', '==', 1)}",) if exact else (),
            pip=tuple(pip),
        )
    except FileProblem as problem:
        raise EnvironmentProblem(f"{problem}; an environment is a file in envs/.") from None
    except ValueError as error:  # of a version or a requirement too
        raise EnvironmentProblem(
            f"{path} is not an environment file: it needs `dependencies:` with `python`, `pip` and pins or pip's options "
            f"under `pip:` ({shown(str(error))})."
        ) from None


@functools.cache
def inspect(python: str) -> dict:
    """The version and packages of an interpreter: {"python": "3.11.7", "packages": {...}, "installed": a digest}."""
    try:
        printed = subprocess.run(
            # Without the user's own packages, as workers run.
            [python, "-s", str(SCRIPTS / "measurement" / "packages.py")],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        return json.loads(printed)
    except ValueError:
        raise EnvironmentProblem(
            f"{python} runs scripts/measurement/packages.py without an answer: it is no Python interpreter, or that file "
            "was edited; put it back."
        ) from None
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentProblem(
            f"{python} does not run as a Python interpreter ({error})."
        ) from None


def _candidates():
    """Interpreters of this machine, Snakemake's own first, then PATH, then pyenv's."""
    yield sys.executable
    for minor in range(20, 5, -1):
        if found := shutil.which(f"python3.{minor}"):
            yield found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    with suppress(OSError):  # it may be another user's, as after `su`
        yield from sorted(map(str, root.glob("versions/*/bin/python")), reverse=True)


@functools.cache
def _version(python: str) -> str | None:
    try:
        return subprocess.run(
            [python, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None  # a pyenv shim whose version is not selected, for one


@functools.cache
def find_interpreter(python: SpecifierSet) -> tuple[str, str] | None:
    """(path, version) of the first interpreter of this machine that satisfies `python`, or None."""
    for candidate in _candidates():
        version = _version(candidate)
        if version and python.contains(version, prereleases=True):
            return candidate, version
    return None


def lock_for(specification: Specification, source: str, python: str | None) -> Lock | None:
    """What an environment file is built from, if it was ever locked for these pins, this platform and this Python (None:
    conda installs any, so the oldest of them: it is locked for most environments)."""
    fit = [
        lock
        for lock in map(locks.read, locks.paths_of(source, python))
        if lock.pins == locks.digest_of_pins(specification.pip)
        and (python or specification.python.contains(f"{lock.python}.99"))  # any last digit
    ]
    return min(fit, key=lambda lock: Version(lock.python), default=None)


def fingerprint(
    specification: Specification, builder: str, interpreter: str | None, lock: Lock | None = None
) -> str:
    """Eight hexadecimal digits naming what will run: the pins, the locked versions beneath them, and the interpreter's
    own version.

    A named interpreter counts with everything that is installed in it instead.
    """
    identity: list = [
        str(specification.python),
        specification.bootstrap,
        specification.pip,
        builder,
    ]
    if builder == "interpreter" and interpreter:
        found = inspect(interpreter)
        identity.append({name: found[name] for name in ("python", "packages")})
    elif builder == "venv":
        identity.append(interpreter and _version(interpreter))
    if lock:  # another index's file of the same version is no other environment
        identity.append(lock.versions)
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:8]


def requirements(specification: Specification, lock: Lock | None) -> list[str]:
    """The lines that pip installs: the pins, or all that is locked, from the same indexes."""
    if not lock:
        return list(specification.pip)
    return [line for line in specification.pip if line.startswith("-")] + lock.requirements


def _conda_content(has: dict) -> dict:
    """An environment file as conda gets it: with what is locked instead of its pins."""
    content = yaml.safe_load(Path(has["source"]).read_text(encoding="utf-8"))
    if has["lock"]:
        lock = locks.read(Path(has["lock"]))
        others = [d for d in content["dependencies"] if not isinstance(d, dict)]
        content["dependencies"] = [
            f"python ={lock.python}",
            *(d for d in others if not d.startswith("python")),
            {"pip": requirements(load(has["source"]), lock)},
        ]
    return content


def conda_file(has: dict) -> str | None:
    """Of an environment that conda builds, a copy of its file without comments, which conda's own hash would see; None
    of others. `has` is what `here` says."""
    if has["builder"] != "conda":
        return None
    path = CONDA_FILES / f"{Path(has['folder']).name}.yaml"
    content = yaml.safe_dump(_conda_content(has), sort_keys=True)
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(path.resolve())


@functools.cache
def _here(name: str, source: str, file: str, named: str | None, conda: bool, folder: str) -> dict:
    specification = load(file)
    builder = "interpreter" if named else "conda" if conda else "venv"
    found = None if named or conda else find_interpreter(specification.python)
    # Where conda builds, a job finds the interpreter of its activated environment on PATH.
    interpreter = named or ("python" if conda else found and found[0])
    lock = None
    if not named and (conda or found):
        lock = lock_for(specification, source, found and found[1])
    mark = fingerprint(specification, builder, interpreter, lock)
    return {
        "source": file,
        "lock": lock and lock.path,
        "builder": builder,
        "interpreter": interpreter,
        "fingerprint": mark,
        "folder": f"{folder}/{name}-{mark}",
    }


def named(name: str, interpreters: dict[str, str]) -> str | None:
    """The interpreter that the configuration has for an environment: by its name, else by a pattern; None: to be built."""
    patterns = [pattern for pattern in interpreters if fnmatchcase(name, pattern)]
    return interpreters.get(name) or (interpreters[patterns[0]] if patterns else None)


def here(name: str, config: dict, conda: bool, instead: Mapping[str, str] = NOTHING) -> dict:
    """How an environment is had here, of its file or of the one `instead` of it: {"source": that file, "lock": the file that it is
    built from, if any, "builder", "interpreter": the base one, "fingerprint", "folder": of what is built}. Stops with one line if that cannot be told."""
    cuda = f"envs/{name}-cuda.yaml"
    source = cuda if "gpu" in config["devices"] and Path(cuda).exists() else f"envs/{name}.yaml"
    file = instead.get(source, source)  # with the same lock, if its pins are those
    try:
        chosen = named(name, config["interpreters"])
        return _here(name, source, file, chosen, conda, config["environment_folder"])
    except EnvironmentProblem as problem:
        sys.exit(f"environments: {problem}")


def forget() -> None:
    """Read all files again, as they were changed."""
    load.cache_clear()
    _here.cache_clear()


def python(has: dict) -> str:
    """The interpreter that runs an environment's jobs; `has` is what `here` says. Where there is none, Snakemake's own
    records why."""
    if has["builder"] != "venv":
        return has["interpreter"]
    return f"{has['folder']}/bin/python" if has["interpreter"] else sys.executable
