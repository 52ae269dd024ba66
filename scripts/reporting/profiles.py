"""Where the time of a row's batches went, as `make profile` sampled it."""

import bisect
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from measurement.record import damage, read_json
from plan.reading import on_one_line

FOLDER = "profiles"  # of a results folder, beside its records
BETWEEN = ";"  # the fields of perf's lines
LEAST = 0.002  # a smaller share is not kept
NAME = 60  # characters of a function's, which C++ has hundreds of
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


def of_rows(folder: Path, records: Iterable[str]) -> dict[str, list[dict]]:
    """{record: its profile's shares} of those in a results folder that have one. No number is of it: what is damaged is passed
    over, and said to be."""
    found = {}
    for record in records:
        file = folder / beside(record)
        if file.exists() and (shares := _read(file)):
            found[record] = shares
    return found


def _read(file: Path) -> list[dict]:
    """Names are anybody's, and may have what means something on a page."""
    wrong = damage(str(file))
    try:
        if not wrong:
            return [
                {"share": float(row["share"])}
                | {key: _plainly(row[key]) for key in ("library", "function")}
                for row in read_json(str(file))["shares"]
            ]
    except (KeyError, TypeError, ValueError):
        wrong = "it is no profile"
    print(f"{file} is damaged ({wrong}); `make profile` makes it again.", file=sys.stderr)
    return []


def _short(function: str) -> str:
    """A function's name, of C++ without what it takes and what it is a template of; of what only calls another, PyTorch's
    loops over elements for one, that one's."""
    function = function.replace("(anonymous namespace)::", "")
    if called := re.search(r"<.*?\b(\w+_kernel)\(", function):
        return called[1]
    return re.split(r"[<(]", function)[0].rpartition(" ")[2] or function


def _plainly(name: str) -> str:
    return on_one_line(name).replace("`", "'").replace("|", "/")[:NAME]


def pattern(cell: Mapping) -> str:
    """What `make profile` calls the row of a cell."""
    return "{implementation} in {environment} for {phase} on {benchmark}".format(**cell)


def of_cell(found: Mapping[str, list[dict]], records: str) -> str:
    """In words, of what `of_rows` found, the profile of a cell of these records: it lies beside the first; "" without one."""
    return in_words(found.get(records.partition(" ")[0], []))


def in_words(shares: list[dict], count: int = 3) -> str:
    """The largest of them."""
    return "; ".join(
        f"{100 * row['share']:.0f} % `{row['function'] or 'without a name'}` ({row['library']})"
        for row in shares[:count]
    )
