"""Fuzz the parsers of what comes from outside: configuration, published tables, records and packs.

    python -m tests.fuzz TARGET [--seconds 600] [--seed 1]

Inputs are right ones with something wrong. Whatever ends in another way than with what is read, or one line that says
what is wrong, is printed with its seed: `--seed N --seconds 0` does that input again.
"""

import argparse
import contextlib
import functools
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from commands import compare_runs
from measurement.record import write_sealed
from plan import configuration, locks
from plan.planner import Plan
from reporting import pages, published, results, tabulate
from tests import broken
from tests.unit import hand_made
from tests.unit.test_bad_configuration import FILES, refusal

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = "stacked-lm"


class Problem(Exception):
    """An input was neither read nor refused as it should be."""


def one_line(stop: SystemExit) -> None:
    """The message of a stop: short lines that can be printed."""
    said = str(stop.code)
    if not isinstance(stop.code, str) or not said.strip():
        raise Problem(f"a stop without words: {stop.code!r}")
    if len(said.splitlines()) > 50 or any(len(line) > 2000 for line in said.splitlines()):
        raise Problem(f"a stop of {len(said)} characters: {said[:300]}")
    if not all(line.isprintable() for line in said.splitlines()):
        raise Problem(f"a stop that cannot be printed: {said[:300]!r}")


def configurations(folder: Path, draw: random.Random) -> None:
    """A file of config/ or envs/, or a lock, as text or as YAML; a configuration that is taken is planned."""
    if draw.random() < 0.1:
        path = draw.choice(sorted(ROOT.glob("envs/locks/*/*.txt")))
        (folder / path.name).write_bytes(broken.scratched(path.read_bytes(), draw))
        with contextlib.suppress(locks.LockProblem):
            locks.read(folder / path.name)
        return
    file = draw.choice([each for each in FILES if each.kind != "published"])
    text = (ROOT / file.path).read_bytes()
    bad = (
        broken.scratched(text, draw) if draw.random() < 0.5 else broken.changed(file.content, draw)
    )
    refused = refusal(folder, file, bad)
    if file.kind == "config" and not refused and draw.random() < 0.2:
        config = configuration.given(
            str(folder / Path(file.path).name), ["devices=[cpu]", "machine=here"]
        )
        config["interpreters"] = {each: sys.executable for each in ("*", "corpus", "report")}
        plan = Plan(config)
        for document in config["documents"][:1]:
            json.dumps([job.told() for job in plan.timings(document)[:20]])
            pages.analyses(document)


def tables(folder: Path, draw: random.Random) -> None:
    """A file of config/published; one that is taken is read as numbers."""
    file = draw.choice([each for each in FILES if each.kind == "published"])
    text = broken.scratched((ROOT / file.path).read_bytes(), draw)
    if not refusal(folder, file, text):
        published.numbers([str(folder / Path(file.path).name)])
        published.by_cell([str(folder / Path(file.path).name)])


class Folder:
    """A results folder made by hand, of which one file at a time is broken."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        hand_made.project(folder, processes=2)
        self.path = folder / "results"
        with contextlib.chdir(folder):
            config = hand_made.configuration(DOCUMENT, 2)
            self.manifest = hand_made.write_manifest(folder, DOCUMENT, config)
        self.content = json.loads(self.manifest.read_text())
        # A few cells, for speed: reading them all says nothing more.
        with_records = [cell for cell in self.content["cells"] if cell["records"]]
        self.content["cells"] = with_records[:3] + self.content["cells"][-1:]
        self.manifest.write_text(json.dumps(self.content))
        named = [name for cell in self.content["cells"] for name in cell["records"]]
        self.records = {name: json.loads((self.path / name).read_text()) for name in named}

    def broken(self, name: str, content: object, draw: random.Random) -> None:
        text, other = json.dumps(content), broken.changed(content, draw)
        if draw.random() < 0.4:
            data = broken.scratched(text.encode(), draw)
        elif isinstance(other, dict):  # with a seal that is right, what stands in it is read
            return write_sealed(str(self.path / name), other)
        else:
            data = json.dumps(other).encode("utf-8", "surrogatepass")
        (self.path / name).write_bytes(data)

    def read(self, draw: random.Random) -> None:
        """As the rules and `make compare`, `make pack` do."""
        paths = results.of_document(DOCUMENT, [], [self.path])
        parts = [results.read(path) for path in paths]
        if parts and draw.random() < 0.5:
            tabulate.cells(DOCUMENT, parts)
            results.dump(tabulate.about(DOCUMENT, parts))
        elif parts:
            run = compare_runs.load(self.path)
            compare_runs.comparison(run, run, 0.05)


@functools.cache
def made(folder: Path) -> Folder:
    return Folder(folder / "project")


def records(folder: Path, draw: random.Random) -> None:
    """A record of a results folder."""
    own = made(folder)
    name = draw.choice(list(own.records))
    try:
        own.broken(name, own.records[name], draw)
        own.read(draw)
    finally:
        write_sealed(str(own.path / name), own.records[name])


def packs(folder: Path, draw: random.Random) -> None:
    """A manifest of a results folder, as it comes out of an archive; what is named in it is packed again."""
    own = made(folder)
    name = str(own.manifest.relative_to(own.path))
    try:
        own.broken(name, own.content, draw)
        for line in configuration.unreadable(str(own.path)):
            one_line(SystemExit(line))
        for member, file in results.members(own.path).items():
            inside = file.resolve().is_relative_to(own.path.resolve())
            if not inside or Path(member).is_absolute() or ".." in Path(member).parts:
                raise Problem(f"{member} leaves the folder")
        for machine in results.machines_in(own.path):
            if Path(machine).name != machine:
                raise Problem(f"a machine called {machine!r}")
        own.read(draw)
    finally:
        write_sealed(str(own.path / name), own.content)


TARGETS = {"configuration": configurations, "tables": tables, "records": records, "packs": packs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    counts, seen, seed = Counter(), set(), arguments.seed
    with tempfile.TemporaryDirectory() as name:
        start = time.monotonic()
        while seed == arguments.seed or time.monotonic() - start < arguments.seconds:
            try:
                TARGETS[arguments.target](Path(name), random.Random(seed))
                counts["read, or refused before"] += 1
            except SystemExit as stop:
                try:
                    one_line(stop)
                    counts["refused in one line"] += 1
                except Problem as problem:
                    counts["wrong"] += 1
                    print(f"seed {seed}: {problem}", flush=True)
            except Exception as error:
                counts["wrong"] += 1
                place = traceback.extract_tb(error.__traceback__)[-1]
                if (key := (type(error), place.filename, place.lineno)) not in seen:
                    seen.add(key)
                    print(f"seed {seed}:", flush=True)
                    traceback.print_exception(error, limit=-5)
            seed += 1
    number = seed - arguments.seed
    print(
        f"{arguments.target}: {number} inputs in {time.monotonic() - start:.0f} s: {dict(counts)}"
    )
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
