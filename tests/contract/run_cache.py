"""Processes that want the same library at once, and damaged ones; prints, as JSON, how often it was made."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kernels.cache import VARIABLE, cache_folder, stored

ONE = """
import sys, time
from pathlib import Path
from kernels.cache import stored

def make(folder):
    with open(sys.argv[1], "a") as made:
        made.write("made\\n")
    (folder / "kernel.so").write_text("half")
    time.sleep(0.3)
    (folder / "kernel.so").write_text("whole")

assert (stored("one", "kernel.so", make) / "kernel.so").read_text() == "whole"
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = f"{folder}/cache"
        made = Path(folder, "made")
        command = [sys.executable, "-c", ONE, str(made)]

        def count() -> int:
            return len(made.read_text().splitlines())

        running = [subprocess.Popen(command) for _ in range(4)]
        ended = [one.wait() for one in running]
        found = {"at once": count()}
        library = cache_folder() / "one" / "kernel.so"
        for name, content in (("cut short", "who"), ("altered", "WHOLE")):
            library.write_text(content)
            ended.append(subprocess.run(command).returncode)
            found[name] = count()
        library.unlink()
        ended.append(subprocess.run(command).returncode)
        found["gone"] = count()

        def fails(place: Path) -> None:
            (place / "kernel.so").write_text("half")
            raise KeyboardInterrupt

        try:
            stored("other", "kernel.so", fails)
        except KeyboardInterrupt:
            found["left by a build that was stopped"] = len(list(cache_folder().glob("other*/")))
        print(json.dumps({"made": found, "ended": ended}))


if __name__ == "__main__":
    main()
