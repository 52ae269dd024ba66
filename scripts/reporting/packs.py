"""Where results of another folder come from: what its pack says of itself, whether it is as it was packed, and whose key has
signed that. Keys, signatures and the file of known signers are OpenSSH's own (ssh-keygen -Y)."""

import json
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from measurement.record import sha256, write_sealed
from reporting import results

SOLID = ".tar.xz"  # files that are much alike are compressed together
NOTE, SIGNATURE = "pack.json", "pack.json.sig"
SIGNERS = Path("config/signers")  # lines of `NAME KEY`, as in ssh-keygen(1), ALLOWED SIGNERS
NAMESPACE = "what-flexibility-costs"
FETCH = "fetch the folder again, or ask whoever packed it"


def stem(archive: Path) -> str:
    """Of an archive's name: what the folder in it is called."""
    return archive.name.removesuffix(SOLID) if archive.name.endswith(SOLID) else archive.stem


def _plain(text: object) -> str:
    """What somebody else has written, for a page: on one line, without what a page would take for markup."""
    return re.sub(r"[^\w .,:/@+()-]", "?", " ".join(str(text).split()))[:100]


def note(folder: Path, members: Mapping[str, Path], by: str | None) -> str:
    """What a pack says of itself: who packed it, its machines, the commits its records were measured with, and each file's
    digest."""
    records = [json.loads(file.read_text(encoding="utf-8")) for file in members.values()]
    states = [each["repository"] for each in records if each.get("repository")]
    about = {
        "by": by,
        "machines": results.machines_in(folder),
        "commits": sorted({each["commit"][:10] + "+" * each["dirty"] for each in states}),
        "files": {name: sha256(str(file)) for name, file in sorted(members.items())},
    }
    return json.dumps(about, indent=1) + "\n"


def _keygen(*arguments: object, content: bytes | None = None) -> subprocess.CompletedProcess:
    command = ["ssh-keygen", "-Y", *map(str, arguments)]
    try:
        return subprocess.run(command, input=content, capture_output=True)
    except FileNotFoundError:
        sys.exit(
            "There is no ssh-keygen here, needed to sign and verify; install OpenSSH's client."
        )


def sign(path: Path, key: Path) -> Path:
    """Sign a file with a private key of the user's -> the signature's file."""
    done = _keygen("sign", "-q", "-n", NAMESPACE, "-f", key.expanduser(), path)
    if done.returncode:
        sys.exit(f"{key} signs nothing: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return path.with_name(path.name + ".sig")


def _signer(folder: Path) -> str:
    """Who has signed a folder's note, in words; a stop with one line where the signature is of something else."""
    signature, content = folder / SIGNATURE, (folder / NOTE).read_bytes()
    if not signature.exists():
        return "*unsigned*"
    found = _keygen("check-novalidate", "-n", NAMESPACE, "-s", signature, content=content)
    if found.returncode:
        sys.exit(f"{signature} is not a signature of {folder / NOTE}; {FETCH}.")
    key = found.stdout.decode(errors="replace").split()[-1]
    if SIGNERS.exists():
        named = _keygen("find-principals", "-s", signature, "-f", SIGNERS).stdout.decode()
        for name in named.split():
            verify = ("verify", "-n", NAMESPACE, "-s", signature, "-f", SIGNERS, "-I", name)
            if _keygen(*verify, content=content).returncode == 0:
                return f"signed by {_plain(name)}"
    return f"signed with a key that `{SIGNERS}` does not name, {_plain(key)}"


def origin(folder: Path) -> dict:
    """{"folder", "by", "commits", "signed": by whom, in words} of results that were packed elsewhere; a stop with one line
    where they are not what was packed."""
    found = {"folder": folder.name, "by": None, "commits": [], "signed": "*unsigned*"}
    if not (folder / NOTE).exists():
        if (folder / SIGNATURE).exists():
            sys.exit(f"{folder / NOTE} is missing, which {SIGNATURE} signs; {FETCH}.")
        return found
    try:
        about = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        by, commits = about["by"], [_plain(each) for each in about["commits"]]
        files = {str(name): str(digest) for name, digest in about["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.exit(f"{folder / NOTE} is damaged; {FETCH}.")
    signed = _signer(folder)
    for name, file in results.members(folder).items():
        if name not in files or not file.exists() or sha256(str(file)) != files[name]:
            sys.exit(f"{file} does not match {folder / NOTE}; {FETCH}.")
    return found | {"by": by and _plain(by), "commits": commits, "signed": signed}


def _files(pack: Path) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the files of an archive; OSError where it is none."""
    try:
        if tarfile.is_tarfile(pack):
            with tarfile.open(pack) as archive:
                for one in filter(tarfile.TarInfo.isreg, archive):
                    yield one.name, archive.extractfile(one).read()
        else:
            with zipfile.ZipFile(pack) as archive:
                for each in archive.infolist():
                    if not each.is_dir():
                        yield each.filename, archive.read(each)
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, EOFError) as error:
        raise OSError(str(error)) from error


def _unpack(pack: Path, folder: Path) -> None:
    """The files of an archive into a folder; a stop with one line if one would lie elsewhere."""
    for name, content in _files(pack):
        target = (folder / name).resolve()
        if not target.is_relative_to(folder.resolve()):
            sys.exit(f"{pack} has a file outside of it: {name!r}.")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


@contextmanager
def unpacked(pack: Path) -> Iterator[Path]:
    """The results folder of an archive, or a folder as it is, held against what its pack.json says; a stop with one line
    where it is none."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pack
        if not pack.is_dir():
            try:
                _unpack(pack, Path(temporary))
            except OSError as error:
                sys.exit(f"{pack} cannot be read as an archive: {error}.")
            found = sorted(Path(temporary).glob(f"*/{results.MANIFESTS}"))
            if len(found) != 1:
                sys.exit(
                    f"{pack} is not a pack: {len(found)} folders in it have {results.MANIFESTS}/."
                )
            named = Path(tempfile.mkdtemp(dir=temporary), stem(pack))  # as pages call it
            folder = found[0].parent.rename(named)
        origin(folder)
        yield folder


def joined(run: Path, earlier: Path, target: Path) -> Path:
    """A results folder, `target`, of a run's measurements and, where it has none, those of an earlier run on the same machine.
    Documents of both keep the earlier configuration. Measurements of other machines are left out."""
    machines = results.machines_in(run)
    for folder in (earlier, run):
        for path in results.manifests_in(folder):
            manifest, place = results.read_manifest(path), target / results.MANIFESTS / path.name
            if place.exists():
                manifest = _renewed(results.read_manifest(place), manifest)
            if manifest["machine"] in machines:
                place.parent.mkdir(exist_ok=True)
                write_sealed(str(place), manifest)
        for name, file in results.members(folder).items():
            if not name.startswith(results.MANIFESTS):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target / name)
    return target


def _renewed(manifest: dict, later: Mapping) -> dict:
    """A manifest with the measurements that a later one has; a kernel of a shorter search does not replace one of a longer."""
    trials = [each["config"].get("kernels", {}).get("trials", {}) for each in (manifest, later)]
    shorter = {style for style, count in trials[1].items() if count < trials[0].get(style, 0)}
    found = {key: value for key, value in manifest.items() if key != "seals"}
    for kind, held in (("cells", "records"), ("training", "record")):
        rows = {tuple(row[key] for key in results.CELL): row for row in manifest[kind]}
        for row in later[kind]:
            name = tuple(row[key] for key in results.CELL)
            searched_less = row["implementation"].partition("/")[2] in shorter
            if name not in rows or (row[held] and not (rows[name][held] and searched_less)):
                rows[name] = row
        found[kind] = list(rows.values())
    return found
