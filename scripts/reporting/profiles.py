"""Where the time of a row's batches went, as `make profile` sampled it."""

import bisect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

FOLDER = "profiles"  # of a results folder, beside its records
BETWEEN = ";"  # the fields of perf's lines
LEAST = 0.002  # a smaller share is not kept
UNKNOWN = "made at run time"


def beside(record: str | Path) -> str:
    """The file of the profile that explains a record."""
    parts = Path(record).parts
    place = len(parts) - 1 - parts[::-1].index("records")
    return str(Path(*parts[:place], FOLDER, *parts[place + 1 :]))


class Code:
    """What a process has generated while it ran, as it wrote down in a map for perf: lines of start, size and name."""

    def __init__(self, lines: Iterable[str]) -> None:
        fields = [line.split(maxsplit=2) for line in lines]
        self._parts = sorted((int(f[0], 16), int(f[1], 16), f[2]) for f in fields if len(f) == 3)

    def name(self, address: str) -> str:
        """Of what lies there; "" where nothing is known to."""
        place = int(address, 16)
        number = bisect.bisect(self._parts, (place, 1 << 64)) - 1
        start, size, name = self._parts[number] if number >= 0 else (0, 0, "")
        return name.strip() if place < start + size else ""


def shares(lines: Iterable[str], code: Code) -> list[dict]:
    """[{"share", "library", "function"}], the largest first, of the lines of `perf report --sort dso,sym`. What was made at
    run time and has no name is one."""
    found: dict[tuple[str, str], float] = {}
    for line in lines:
        fields = [each.strip() for each in line.split(BETWEEN, 2)]
        if len(fields) < 3 or not fields[0].endswith("%"):
            continue
        share, library, function = fields
        function = function.partition("] ")[2] or function
        if library.startswith(("//anon", "[unknown]", "anon", "[JIT]", "perf-")):
            library = UNKNOWN
            function = code.name(function) if function.startswith("0x") else function
        function = "" if function.startswith("0x") else _short(function)
        key = library.strip("[]"), function
        found[key] = found.get(key, 0.0) + float(share.rstrip("% ")) / 100
    rows = [
        {"share": share, "library": library, "function": function}
        for (library, function), share in found.items()
        if share >= LEAST
    ]
    return sorted(rows, key=lambda row: -row["share"])


def _short(function: str) -> str:
    """A function's name, of C++ without what it takes and what it is a template of; of what only calls another, PyTorch's
    loops over elements for one, that one's."""
    function = function.replace("(anonymous namespace)::", "")
    if called := re.search(r"<.*?\b(\w+_kernel)\(", function):
        return called[1]
    return re.split(r"[<(]", function)[0].rpartition(" ")[2] or function


def pattern(cell: Mapping) -> str:
    """What `make profile` calls the row of a cell."""
    return "{implementation} in {environment} for {phase} on {benchmark}".format(**cell)
