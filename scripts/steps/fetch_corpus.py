"""Fetch the three files of a text: from a local folder, from a mirror, or, where allowed, a stand-in."""

import argparse
import http.client
import json
import shutil
import sys
import time
import urllib.request
from pathlib import Path
from types import ModuleType

import datasets
from measurement.record import plainly, sha256, write_sealed

ATTEMPTS, TIMEOUT_S = 3, 30  # seconds without a byte
ATTEMPT_S = 120  # a mirror may drip


class Unavailable(Exception):
    """One source did not give one file; the message says why."""


def verify(path: Path, expected: str, source: str) -> None:
    """Raise Unavailable unless the file has the expected digest."""
    if (found := sha256(str(path))) != expected:
        raise Unavailable(
            f"{source} is not the expected file: SHA-256 {found[:12]}..., expected "
            f"{expected[:12]}... ({path.stat().st_size} bytes; truncated, or another edition)"
        )


def _attempt(url: str, partial: Path, max_bytes: int) -> None:
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
        with open(partial, "wb") as stream:
            _save(response, stream, url, max_bytes)
        if response.length:  # what is left of its Content-Length
            raise OSError(f"the connection ended {response.length} bytes early")


def _save(response, stream, url: str, max_bytes: int) -> None:
    """Write what a server sends, within the limits of size and time."""
    start = time.monotonic()
    while block := response.read1(1 << 16):
        stream.write(block)
        if stream.tell() > max_bytes:
            raise Unavailable(f"{url} sends more than {max_bytes >> 20} MB, which is another text")
        if time.monotonic() - start > ATTEMPT_S:
            raise OSError(f"not finished after {ATTEMPT_S} s")


def download(url: str, destination: Path, expected: str, max_bytes: int) -> None:
    """Download one file, retried, and verified before it gets its name."""
    partial = destination.with_suffix(".part")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _attempt(url, partial, max_bytes)
            verify(partial, expected, url)
            partial.replace(destination)
            return
        except Unavailable as error:
            problem = error
        except (OSError, ValueError, http.client.HTTPException) as error:
            problem = Unavailable(f"{url}: {error}")
        if attempt < ATTEMPTS:
            print(f"    {problem}; attempt {attempt + 1} of {ATTEMPTS}", file=sys.stderr)
            time.sleep(attempt)
    partial.unlink(missing_ok=True)
    raise problem


def from_folder(folder: Path, output: Path, dataset: ModuleType, digests: dict[str, str]) -> str:
    for split, expected in digests.items():
        source = folder / dataset.FILE.format(split=split)
        if not source.exists():
            raise Unavailable(f"{source} does not exist")
        verify(source, expected, str(source))
        shutil.copyfile(source, output / source.name)
    return f"local folder {folder}"


def from_mirror(template: str, output: Path, dataset: ModuleType, digests: dict[str, str]) -> str:
    for split, expected in digests.items():
        file = output / dataset.FILE.format(split=split)
        download(template.replace("{split}", split), file, expected, dataset.MAX_BYTES)
    return template


def from_stand_in(output: Path, dataset: ModuleType, digests: dict[str, str]) -> str:
    for split in digests:
        (output / dataset.FILE.format(split=split)).write_text(dataset.stand_in(split))
    return "stand-in"


def fetch(corpus: dict, output: Path) -> str:
    """Fill `output` with the three files. Returns the name of the source that gave them."""
    dataset, digests = datasets.load(corpus["dataset"]), corpus["sha256"]
    if corpus["path"]:  # named by the user: nothing else will do
        return from_folder(Path(corpus["path"]), output, dataset, digests)
    problems = []
    for template in corpus["mirrors"]:
        try:
            return from_mirror(template, output, dataset, digests)
        except Unavailable as error:
            problems.append(str(error))
            print(f"    mirror failed: {error}", file=sys.stderr)
    if corpus["stand_in"]:
        print(
            f"    {dataset.TITLE} cannot be reached; using synthetic text instead, as every page will say.",
            file=sys.stderr,
        )
        return from_stand_in(output, dataset, digests)
    raise Unavailable(f"no mirror has {dataset.TITLE}: " + "; ".join(problems))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", required=True, type=json.loads, help="config's `corpus`, as JSON"
    )
    parser.add_argument("--mirrors", required=True, type=json.loads, help="addresses, as JSON")
    parser.add_argument(
        "--output", required=True, type=Path, help="source.json; the files lie beside it"
    )
    arguments = parser.parse_args()
    folder, dataset = arguments.output.parent, datasets.load(arguments.corpus["dataset"])
    files = {split: dataset.FILE.format(split=split) for split in arguments.corpus["sha256"]}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        source = fetch(arguments.corpus | {"mirrors": arguments.mirrors}, folder)
    except Unavailable as error:
        sys.exit(
            f"corpus: {error}\n"
            "Three ways out:\n"
            f"  1. name a folder with {', '.join(files.values())}:\n"
            "       --config corpus='{path: /some/folder}'\n"
            "  2. add a reachable mirror to corpus.mirrors in config/config.yaml\n"
            "  3. measure on a stand-in of its size and statistics (every report will say so):\n"
            "       --config corpus='{stand_in: true}'"
        )
    # The digests tell one corpus from another: a run cut short before tokenizing is then seen as such.
    digests = {split: sha256(str(folder / file)) for split, file in files.items()}
    found = {
        "dataset": arguments.corpus["dataset"],
        "source": source,
        "stand_in": source == "stand-in",
        "sha256": digests,
    }
    write_sealed(str(arguments.output), found)


if __name__ == "__main__":
    plainly(main)
