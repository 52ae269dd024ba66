"""`make accept`: whether somebody else's pack may be published beside ours; if so it is copied to report/machines/, which
`make example-pages` and `make docs` render. A pack that may not is refused, a line a reason (reporting/acceptance.py).

python scripts accept_pack ARCHIVE
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from commands.render_pack import documents, published
from measurement.record import plainly
from reporting import acceptance, packs, results

ACCEPTED = Path("report/machines")
CODE = ("scripts", "envs", "packages")  # of a commit, where it has them
OURS = Path("report/example/records.tar.xz")
NAME = re.compile(r"\w[\w.+-]*")  # the Makefile hands it to a shell, in a list


def git(*arguments: str) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(["git", *arguments], capture_output=True)
    except FileNotFoundError:
        sys.exit(
            "There is no git here, which knows the commits that a pack was measured at; install it."
        )


def trees(folder: Path) -> Callable[[str | None], Path | None]:
    """A function that gives the workflow's files of a commit (None: today's), below `folder`; None where this history does not
    have it."""

    @cache
    def tree_of(commit: str | None) -> Path | None:
        name = commit or "HEAD"
        if commit and not re.fullmatch("[0-9a-f]{40}", commit):
            return None
        if git("merge-base", "--is-ancestor", name, "HEAD").returncode:
            return None
        has = git("ls-tree", "--name-only", name).stdout.decode().split()
        place, archive = folder / name, folder / f"{name}.tar"
        git("archive", "--output", str(archive), name, *(each for each in CODE if each in has))
        place.mkdir()
        subprocess.run(["tar", "-x", "-f", archive, "-C", place], check=True)  # with its links
        return place

    return tree_of


@cache
def machines_of(pack: Path) -> list[str]:
    """The machines of a published pack."""
    with packs.unpacked(pack) as folder:
        return results.machines_in(folder)


def taken(pack: Path, machines: Iterable[str]) -> list[str]:
    """Which published pack has one of these machines already, or would be lost with another one's results, a line each."""
    if not NAME.fullmatch(pack.name):
        return ["its file name has blanks or other special characters; rename it"]
    found = []
    for other in filter(Path.exists, (OURS, *sorted(ACCEPTED.glob("*")))):
        theirs = {*machines_of(other)}
        if other == ACCEPTED / pack.name:  # which it replaces
            wrong, names = "which it would replace; rename it", theirs - {*machines}
        else:
            wrong, names = "already; delete it to replace them", theirs & {*machines}
        found += [f"{other} has results of {name} {wrong}" for name in sorted(names)]
    return found


def refusals(pack: Path, tree_of: Callable[[str | None], Path | None]) -> list[str]:
    """Why a pack may not be published, a line each."""
    try:
        with packs.unpacked(pack) as folder:
            documents(folder)
            found = taken(pack, results.machines_in(folder))
            parts = defaultdict(list)
            for path in published(folder):
                part = results.read(path)
                parts[part.machine].append(part)
            for each in parts.values():
                found += acceptance.refusals(each, tree_of)
            return found
    except SystemExit as stopped:  # what cannot be read says so itself
        return [str(stopped)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", type=Path, nargs="+", help="archives of `make pack`")
    refused = []
    with tempfile.TemporaryDirectory() as temporary:
        tree_of = trees(Path(temporary))
        for pack in parser.parse_args().packs:
            if not pack.is_file():
                sys.exit(f"There is no archive {str(pack)!r}: make accept PACK=archive.")
            if wrong := refusals(pack, tree_of):
                refused += [f"{pack} is refused: {line}" for line in wrong]
                continue
            target = ACCEPTED / pack.name
            if pack.resolve() != target.resolve():
                ACCEPTED.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(pack, target)
            print(f"{target}: accepted")
    if refused:
        sys.exit("\n".join(refused))


if __name__ == "__main__":
    plainly(main)
