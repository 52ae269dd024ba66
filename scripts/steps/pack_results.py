"""A results folder as one archive to send: what others need to report it beside theirs, or to compare it.

python scripts pack_results [FOLDER] [--output ARCHIVE] [--by NAME] [--key FILE]
"""

import argparse
import tempfile
import zipfile
from pathlib import Path

from measurement.record import plainly
from plan import lease
from reporting import packs, results

DATED = (1980, 1, 1, 0, 0, 0)  # equal records give equal files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="results", type=Path)
    parser.add_argument("--output", type=Path, help="unless named after the machines")
    parser.add_argument("--by", help="who packs it, for the pages that it is reported on")
    parser.add_argument("--key", type=Path, help="a private key (OpenSSH's) to sign it with")
    arguments = parser.parse_args()
    if arguments.folder == lease.FILE.parent and not arguments.output:  # by no rule
        lease.take()
    members = results.members(arguments.folder)
    name = "results-" + "-".join(results.machines_in(arguments.folder))
    archive = arguments.output or arguments.folder / f"{name}.zip"
    temporary = archive.with_name(archive.name + ".tmp")
    with (
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        note = Path(folder, packs.NOTE)
        note.write_text(packs.note(arguments.folder, members, arguments.by))
        said = {packs.NOTE: note}
        if arguments.key:
            said[packs.SIGNATURE] = packs.sign(note, arguments.key)
        for member, file in (members | said).items():
            about = zipfile.ZipInfo(f"{archive.stem}/{member}", DATED)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            packed.writestr(about, file.read_bytes())
    temporary.replace(archive)
    print(
        f"{archive}: {len(members)} files. Where it goes to: unzip it, and\n"
        f"snakemake ... --config also_report='[{archive.stem}]'"
    )


if __name__ == "__main__":
    plainly(main)
