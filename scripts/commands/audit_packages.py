"""`make audit`: known weaknesses of everything that is installed here and in the locks of today's environments, by pip-audit,
which asks PyPI. Exit status: 0 none is known, 1 some are, 3 it could not be asked."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

PIP_AUDIT = "pip-audit==2.10.1"
FOLDER = Path(".venv/audit")
UNKNOWN = 3


def not_asked(said: str) -> NoReturn:
    """Stop with the last line of what a command said."""
    lines = said.strip().splitlines() or ["it says nothing"]
    print(f"Not audited, which needs PyPI: {' '.join(lines[-1].split())[:300]}", file=sys.stderr)
    sys.exit(UNKNOWN)


def python() -> str:
    """The interpreter of an environment with pip-audit."""
    found = FOLDER / "bin" / "python"
    steps = [
        [sys.executable, "-m", "venv", FOLDER],
        [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PIP_AUDIT],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            not_asked(done.stderr or done.stdout)
    return str(found)


def targets() -> list[list[str]]:
    """What pip-audit is asked about, each time."""
    folders = [path for root in (".venv", ".docs") for path in Path(root, "lib").glob("python3*")]
    installed = [["--path", str(path / "site-packages")] for path in folders]
    locks = sorted(Path("envs/locks/linux-x86_64-py3.11").glob("*.txt"))
    return installed + [["--disable-pip", "-r", str(path)] for path in locks]


def weaknesses(asked_by: str, target: list[str]) -> list[str]:
    """A line for each that is known of one target."""
    command = [asked_by, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run([*command, *target], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        not_asked(done.stderr)
    return [
        f"{target[-1]}: {each['name']} {each['version']}: {known['id']}"
        + (f", fixed in {', '.join(known['fix_versions'])}" if known["fix_versions"] else "")
        for each in packages
        for known in each.get("vulns", [])
    ]


def main() -> None:
    asked_by, found = python(), []
    for target in targets():
        found += weaknesses(asked_by, target)
    print("\n".join(found) or "No known vulnerabilities.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
