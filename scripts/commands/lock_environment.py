"""Lock an environment: note the version of every package that its pins need, and the digests of their files.

python scripts lock_environment NAME [--from FOLDER | --resolve]

The pins are resolved anew, in a folder that is deleted again, unless --from names an environment that was built
before: then what is installed there is what is locked. Digests come from the same indexes. With --resolve nothing is
installed, and little fetched, where an index tells what its files need: for CUDA's gigabytes. What was locked so has never
run together, and its first line says so.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

from plan import environments, lease, locks
from plan.environments import EnvironmentProblem, Specification
from plan.locks import Lock, LockProblem
from plan.virtual import begin_venv, build_venv, run_pip


def digests(
    python: Path, specification: Specification, versions: dict[str, str], folder: Path
) -> dict:
    """{package: digest of the file that an index has for this interpreter}."""
    options = [line for line in specification.pip if line.startswith("-")]
    wanted = folder / "versions.txt"
    wanted.write_text("\n".join([*options, *(f"{n}=={v}" for n, v in versions.items())]) + "\n")
    files = folder / "files"
    with open(folder / "log", "w", encoding="utf-8") as log:
        run_pip(python, ["download", "--no-deps", "-d", str(files), "-r", str(wanted)], log)
    found = {}
    for file in files.iterdir():
        parse = parse_wheel_filename if file.suffix == ".whl" else parse_sdist_filename
        with file.open("rb") as content:
            found[parse(file.name)[0]] = hashlib.file_digest(content, "sha256").hexdigest()
    return found


def resolved(python: Path, specification: Specification, folder: Path) -> tuple[dict, dict]:
    """({package: version}, {package: digest}) of what pip would install."""
    wanted, report = folder / "pins.txt", folder / "report.json"
    wanted.write_text("\n".join(specification.pip) + "\n")
    how = ["--dry-run", "--ignore-installed", "--report", str(report)]
    with open(folder / "log", "w", encoding="utf-8") as log:
        run_pip(python, ["install", *how, "-r", str(wanted)], log)
    versions, files = {}, {}
    for each in json.loads(report.read_text(encoding="utf-8"))["install"]:
        name = canonicalize_name(each["metadata"]["name"])
        versions[name] = each["metadata"]["version"]
        files[name] = each["download_info"]["archive_info"]["hashes"]["sha256"]
    if specification.name.endswith("-cuda") and any("+cpu" in each for each in versions.values()):
        raise EnvironmentProblem(
            "pip found a CPU build in an index or folder that it is configured to use first; set "
            "PIP_CONFIG_FILE=/dev/null and PIP_FIND_LINKS= to ask PyPI alone"
        )
    return versions, files


def lock(source: str, built: Path | None, resolve: bool = False) -> list[str]:
    """Lock an environment file; returns what has changed, in words."""
    specification = environments.load(source)
    with tempfile.TemporaryDirectory() as folder:
        if not built:
            found = environments.find_interpreter(specification.python)
            if not found:
                raise EnvironmentProblem(f"no Python {specification.python} on this machine")
            built = Path(folder, "environment")
            with open(Path(folder, "log"), "w", encoding="utf-8") as log:
                make = begin_venv if resolve else build_venv
                make(specification, found[0], built, log)
        python = built / "bin" / "python"
        about = environments.inspect(str(python))
        pip = about["packages"].pop("pip")
        if resolve:
            versions, files = resolved(python, specification, Path(folder))
        else:
            versions = about["packages"]
        if mismatches := specification.mismatches(versions):
            raise EnvironmentProblem(f"{built} is not of {source}: {'; '.join(mismatches)}")
        if not resolve:
            files = digests(python, specification, versions, Path(folder))
    versions = dict(sorted(versions.items()))
    path = locks.path_of(source, about["python"])
    try:
        before = locks.read(path).packages if path.exists() else {}
    except LockProblem:
        before = {}  # this mends it
    packages = {}
    for name, version in versions.items():
        # Of the same version, a file that was verified before remains so.
        had = before[name][1] if before.get(name, ("",))[0] == version else ()
        packages[name] = (version, tuple(sorted({*had, files[canonicalize_name(name)]})))
    pins = locks.digest_of_pins(specification.pip)
    new = Lock(str(path), ".".join(about["python"].split(".")[:2]), pins, packages)
    locks.write(new, about["python"], pip, " RESOLVE=1" if resolve else "")
    return locks.changes({name: version for name, (version, _) in before.items()}, versions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="a file in envs/, without .yaml")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--from", dest="built", type=Path, help="a folder it was built in")
    way.add_argument("--resolve", action="store_true", help="install nothing")
    arguments = parser.parse_args()
    source = Path("envs", f"{arguments.name}.yaml")
    lease.take()  # what a run reads stays as it is, and its clock alone
    try:
        changed = lock(str(source), arguments.built, arguments.resolve)
    except EnvironmentProblem as problem:
        sys.exit(f"lock: {arguments.name}: {problem}")
    for line in changed or ["nothing has changed"]:
        print(f"{arguments.name}: {line}")


if __name__ == "__main__":
    main()
