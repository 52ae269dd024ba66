"""A results folder as one archive to send: what others need to report it beside theirs, or to compare it.

python scripts pack_results [FOLDER] [--output ARCHIVE] [--by NAME] [--key FILE] [--over ARCHIVE]

ARCHIVE: a .zip, or a .tar.xz, which takes 0.4 of the room.
"""

import argparse
import io
import tarfile
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from measurement.record import plainly
from plan import lease
from reporting import packs, results

# Equal records give equal files.
DATED, SINCE_1970 = (1980, 1, 1, 0, 0, 0), 315_532_800
READABLE = 0o644


def write_zip(path: Path, files: Iterable[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files:
            about = zipfile.ZipInfo(name, DATED)
            about.external_attr = READABLE << 16
            archive.writestr(about, content, zipfile.ZIP_DEFLATED)


def write_tar(path: Path, files: Iterable[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w:xz") as archive:
        for name, content in files:
            about = tarfile.TarInfo(name)
            about.size, about.mtime, about.mode = len(content), SINCE_1970, READABLE
            archive.addfile(about, io.BytesIO(content))


def pack(results_folder: Path, archive: Path, by: str | None, key: Path | None) -> None:
    """Write the archive of a results folder, whole."""
    members = results.members(results_folder)
    temporary = archive.with_name(archive.name + ".tmp")
    write = write_tar if archive.name.endswith(packs.SOLID) else write_zip
    with TemporaryDirectory() as folder:
        note = Path(folder, packs.NOTE)
        note.write_text(packs.note(results_folder, members, by), encoding="utf-8")
        said = {packs.NOTE: note}
        if key:
            said[packs.SIGNATURE] = packs.sign(note, key)
        files = (members | said).items()
        write(
            temporary,
            ((f"{packs.stem(archive)}/{name}", file.read_bytes()) for name, file in files),
        )
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
