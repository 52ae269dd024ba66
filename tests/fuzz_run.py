"""Fuzz runs: random files of a project are damaged between runs and while they are at work.

    python -m tests.fuzz_run [--seconds 600] [--seed 1] [--base FOLDER] [--keep FOLDER]

A try takes a small project that was measured, takes some results away, and edits, deletes, cuts, swaps or touches random
files of results/, config/, scripts/ and envs/, before `make report` and during it. Held against it: a plain `make report`
ends with the same numbers of the same identities, or with few lines that say what to do; once config/, scripts/ and
envs/ are as they were, it ends well, with every cell, with what was measured before, and with the same pages where
nothing had to be measured again. What does not hold is printed with its seed: `--seed N --seconds 0` does that try
again.
"""

import argparse
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from measurement import machine_lock
from measurement.record import damage
from tests import broken
from tests.faults import labs
from tests.faults.trial import REPORT, Trial

COMMAND = ["bash", "-c", *REPORT]
PATIENCE_S = 600
SOURCES = ("config", "scripts", "envs", "workflow", "report", "tiny.yaml", "Snakefile")
# How often a file is drawn of each; of scripts/, the folders that a run reads.
PLACES = {"results": 12, "config": 3, "envs": 1, "plain": 3, "measurement": 2, "code": 3}
CODE = ("plan", "steps", "commands", "stats", "reporting")
LEFT_ALONE = ("run.lock", ".snakemake_timestamp")
MARK = 'return {"framework": "NumPy", "edited": %d,'  # what an edited model says of itself
LINES = 90  # that a refusal may take, with the end of a log, or two traces of code that was broken
TOLD = re.compile(
    r"run the same command|is not valid|is not CSV|is not YAML|damaged|delete it|wait for it|cannot write|does not exist|"
    r"it has to be|put it back|NAME is one of|is missing|there is no|fetch|no such|not the expected text|error in|Error"
)


def numbers(root: Path) -> list[dict]:
    """The table of all cells."""
    with open(root / "results/cells.csv", newline="") as table:
        return sorted(csv.DictReader(table), key=str)


def pages(root: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (root / "results/report").glob("*.md")}


def measured(root: Path) -> dict[str, bytes]:
    """{name: content} of all records and checks."""
    folder = root / "results"
    files = [file for kind in ("records", "checks") for file in (folder / kind).rglob("*.json")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if file.is_file()}


@dataclass
class Try:
    """One copy of the project, and what is done to it."""

    root: Path
    base: Path
    draw: random.Random
    done: list[str] = field(default_factory=list)
    sources: bool = False  # whether anything but results was harmed
    problems: list[str] = field(default_factory=list)

    def drawn(self) -> Path | None:
        """A random file."""
        place = self.draw.choices(list(PLACES), weights=list(PLACES.values()))[0]
        folder = self.root / place
        if place == "plain":
            folder = self.root / "scripts/implementations/plain"
        elif place == "measurement":
            folder = self.root / "scripts/measurement"
        elif place == "code":
            folder = self.root / "scripts" / self.draw.choice(CODE)
        elif place == "results":
            kinds = sorted(each for each in folder.iterdir() if each.is_dir() or each.suffix)
            folder = self.draw.choice(kinds)
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        files = [
            each
            for each in files
            if each.is_file() and each.name not in LEFT_ALONE and each.suffix != ".pyc"
        ]
        return self.draw.choice(files) if files else None

    def harm(self) -> None:
        """Do something to a random file, which may have gone meanwhile."""
        file = self.drawn()
        if not file:
            return
        name = str(file.relative_to(self.root))
        harms = {
            **{"edited": self.edited, "deleted": Path.unlink, "cut": self.cut, "emptied": emptied},
            **{"touched": self.touched, "swapped": self.swapped, "a folder": as_folder},
        }
        how = self.draw.choice([each for each in harms if each != "a folder" or "results" in name])
        try:
            harms[how](file)
        except OSError:
            return
        self.done.append(f"{name} {how}")
        self.sources |= not name.startswith("results/")

    def edited(self, file: Path) -> None:
        content = file.read_bytes()
        if file.name == "model.py" and self.draw.random() < 0.7:
            mark = MARK % self.draw.randrange(1000)
            content = content.replace(b'return {\n            "framework": "NumPy",', mark.encode())
        elif file.suffix == ".py":  # code that does anything else is not let loose
            lines = content.splitlines(keepends=True)
            line = self.draw.choice([b"# edited\n", b"(\n", b"    \n", b"x = 1\n"])
            lines.insert(self.draw.randrange(len(lines) + 1), line)
            content = b"".join(lines)
        else:
            content = broken.scratched(content, self.draw)
        file.write_bytes(content)

    def cut(self, file: Path) -> None:
        content = file.read_bytes()
        file.write_bytes(content[: self.draw.randrange(max(1, len(content)))])

    def touched(self, file: Path) -> None:
        when = time.time() + self.draw.choice([-(10**7), 0, 3600])
        os.utime(file, (when, when))

    def swapped(self, file: Path) -> None:
        """With another one of its kind, as a script that renames does it."""
        others = [each for each in sorted(file.parent.rglob(f"*{file.suffix}")) if each != file]
        if others:
            other = self.draw.choice(others)
            between = file.with_name("between")
            file.rename(between)
            other.rename(file)
            between.rename(other)

    def report(self, harms: int = 0) -> tuple[int, str]:
        """Run `make report`, with so many harms at random moments of it; -> its exit status and what it prints."""
        run = subprocess.Popen(
            COMMAND,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        stop = threading.Timer(PATIENCE_S, os.killpg, (run.pid, signal.SIGTERM))
        stop.start()

        def meanwhile() -> None:
            for _ in range(harms):
                time.sleep(self.draw.uniform(0, 6))
                if run.poll() is None:
                    self.harm()

        thread = threading.Thread(target=meanwhile)
        thread.start()
        said = run.communicate()[0]
        thread.join()
        if not stop.is_alive():
            self.problems.append(f"not ended after {PATIENCE_S} s")
        stop.cancel()
        return run.returncode, said

    def hold(self, when: str, ended: tuple[int, str]) -> None:
        """What has to hold of a run that nobody disturbed: the numbers, or some lines."""
        code, said = ended
        if code:
            if len(said.splitlines()) > LINES or not TOLD.search(said):
                self.problems.append(f"{when}: no line says what to do:\n{said}")
        else:
            self.problems += [f"{when}: {each}" for each in self.wrong()]
        # Code that was broken may say so as Python does.
        if "Traceback" in said and not self.sources:
            self.problems.append(f"{when}: a stack trace:\n{said}")

    def wrong(self) -> Iterator[str]:
        """Results that a report names and that are not of what their name says."""
        before = measured(self.base)
        for manifest in (self.root / "results/manifests").glob("*.json"):
            for cell in json.loads(manifest.read_text())["cells"]:
                for name in cell["records"]:
                    file = self.root / "results" / name
                    if broken_now := damage(str(file)):
                        yield f"{name} is reported and damaged: {broken_now}"
                    elif name in before and file.read_bytes() != before[name]:
                        record = json.loads(file.read_bytes())
                        if "edited" in record.get("framework", {}):
                            yield f"{name}: measured of edited code under its old name"

    def recovered(self, ended: tuple[int, str]) -> None:
        """What has to hold once the sources are as they were."""
        code, said = ended
        if code:
            self.problems.append(f"does not recover:\n{said}")
            return
        if "Traceback" in said:
            self.problems.append(f"a stack trace:\n{said}")
        self.problems += self.wrong()
        was, now = Trial(self.base), Trial(self.root)
        if now.cells().empty:
            self.problems.append(f"the manifest is gone, or names no cell:\n{said}")
            return
        if now.ok_cells() != was.ok_cells():
            self.problems.append(f"other cells: {now.ok_cells() ^ was.ok_cells()}")
            return
        found, before = measured(self.root), measured(self.base)
        # A check that was deleted is made anew where a timing needs it; what it found is in its timings.
        deleted = {each.removeprefix("results/").removesuffix(" deleted") for each in self.done}
        gone = before.keys() - found.keys()
        if lost := sorted(n for n in gone if not (n.startswith("checks/") and n in deleted)):
            self.problems.append(f"lost: {lost}")
        elif all(found.get(name, content) == content for name, content in before.items()):
            if numbers(self.root) != numbers(self.base):
                self.problems.append("the same records, and other numbers in cells.csv")
            there = pages(self.root)
            self.problems += [
                f"the same records, and another {name}"
                for name, content in pages(self.base).items()
                if there.get(name) != content
            ]

    def restore(self) -> None:
        for name in SOURCES:
            path = self.root / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            source = self.base / name
            copy: Callable = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, path)

    def carry_out(self) -> None:
        if self.draw.random() < 0.5:
            Trial(self.root).forget("records/**/faulty/*", "checks/**/faulty/*", "manifests/*")
            self.done.append("results of plain/faulty taken away")
        for _ in range(self.draw.randrange(4)):
            self.harm()
        during = self.draw.randrange(4) if self.done else self.draw.randrange(1, 4)
        ended = self.report(during)
        if during:
            ended = self.report()
        self.hold("a plain run", ended)
        if self.sources:
            self.restore()
            ended = self.report()
        self.recovered(ended)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", type=Path, help="the project, which is made where it is missing")
    parser.add_argument("--keep", type=Path, help="where projects go that something was wrong in")
    arguments = parser.parse_args()
    os.environ.setdefault(machine_lock.VARIABLE, "")  # beside other tests
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder, seed = Path(name), arguments.seed
        base = (arguments.base or folder / "base").resolve()
        if not base.exists():
            labs.cells(base)
            code, said = Try(base, base, random.Random(0)).report()
            if code:
                sys.exit(said)
        start = time.monotonic()
        while True:
            root = folder / f"try-{seed}"
            shutil.copytree(base, root)
            tried = Try(root, base, random.Random(seed))
            tried.carry_out()
            counts["tries"] += 1
            counts["harms"] += len(tried.done)
            if tried.problems:
                counts["wrong"] += 1
                print(
                    f"seed {seed}: {'; '.join(tried.done)}", *tried.problems, sep="\n  ", flush=True
                )
                if arguments.keep:
                    shutil.copytree(root, arguments.keep / root.name, dirs_exist_ok=True)
            shutil.rmtree(root)
            seed += 1
            if time.monotonic() - start >= arguments.seconds:
                break
    print(
        f"runs: {counts['tries']} tries, {counts['harms']} harms in {time.monotonic() - start:.0f} s; "
        f"{counts['wrong']} tries with something wrong"
    )
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
