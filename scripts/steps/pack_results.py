"""A results folder as one archive to send: what others need to report it beside theirs, or to compare it.

python scripts pack_results [FOLDER] [--output ARCHIVE] [--by NAME] [--key FILE] [--over ARCHIVE]

ARCHIVE: a .zip, or a .tar.xz, which takes 0.4 of the room.
"""

import argparse
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from measurement.record import plainly
from plan import lease
from reporting import packs, results

# Equal records give equal files.
DATED, SINCE_1970 = (1980, 1, 1, 0, 0, 0), 315_532_800
READABLE = 0o644


@contextmanager
def written(path: Path, solid: bool) -> Iterator[Callable[[str, bytes], None]]:
    """A zip archive, or a tar archive that is compressed as a whole: gives what adds a file by name and content."""

    def zipped(name: str, content: bytes) -> None:
        about = zipfile.ZipInfo(name, DATED)
        about.compress_type = zipfile.ZIP_DEFLATED
        about.external_attr = READABLE << 16
        archive.writestr(about, content)

    def added(name: str, content: bytes) -> None:
        about = tarfile.TarInfo(name)
        about.size, about.mtime, about.mode = len(content), SINCE_1970, READABLE
        archive.addfile(about, io.BytesIO(content))

    if solid:
        with tarfile.open(path, "w:xz") as archive:
            yield added
    else:
        with zipfile.ZipFile(path, "w") as archive:
            yield zipped


def pack(results_folder: Path, archive: Path, by: str | None, key: Path | None) -> None:
    """Write the archive of a results folder, whole."""
    members = results.members(results_folder)
    temporary = archive.with_name(archive.name + ".tmp")
    solid = archive.name.endswith(packs.SOLID)
    with TemporaryDirectory() as folder, written(temporary, solid) as add:
        note = Path(folder, packs.NOTE)
        note.write_text(packs.note(results_folder, members, by), encoding="utf-8")
        said = {packs.NOTE: note}
        if key:
            said[packs.SIGNATURE] = packs.sign(note, key)
        for member, file in (members | said).items():
            add(f"{packs.stem(archive)}/{member}", file.read_bytes())
    temporary.replace(archive)
    print(
        f"{archive}: {len(members)} files. To report it elsewhere, unpack it there and run\n"
        f"snakemake ... --config also_report='[{packs.stem(archive)}]'"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="results", type=Path)
    parser.add_argument("--output", type=Path, help="default: named after the machines")
    parser.add_argument("--by", help="your name, shown on pages")
    parser.add_argument("--key", type=Path, help="OpenSSH private key to sign it with")
    parser.add_argument("--over", type=Path, help="earlier pack; its other measurements are kept")
    arguments = parser.parse_args()
    if arguments.folder == lease.FILE.parent and not arguments.output:  # by no rule
        lease.take()
    name = "results-" + "-".join(results.machines_in(arguments.folder))
    archive = arguments.output or arguments.folder / f"{name}.zip"
    with ExitStack() as stack:
        run, *earlier = (
            stack.enter_context(packs.unpacked(each))
            for each in (arguments.folder, arguments.over)
            if each
        )
        if earlier:
            run = packs.joined(run, earlier[0], Path(stack.enter_context(TemporaryDirectory())))
        pack(run, archive, arguments.by, arguments.key)


if __name__ == "__main__":
    plainly(main)
