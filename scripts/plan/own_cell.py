"""What `make cell` was asked for, as data: the document and the configuration of a cell of somebody's own, from the ones in
config/cell, and what is wrong with what was asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from measurement.cells import OWN
from plan import configuration, matrix, own
from plan.reading import FileProblem, parse_yaml

CONFIG = Path("config/cell")
SIZES = ("batch", "length", "features", "hidden", "layers")
LARGEST = 1_000_000  # of a size: what is larger is a slip
# What a first look has: what people write first, in the framework most of them use, and what is expected to be fastest.
# Nothing of it compiles for long.
FIRST = ("pytorch/fine-grained", "pytorch/fused", "pytorch/cudnn", "tvm/*")
# What compiles for 15 to 30 s in every process, and comes last: all others are done then, with intervals.
LAST = ("pytorch/compiled", "pytorch/exported")


class Refused(Exception):
    """What was asked for and cannot be, in a line."""


def given(text: str | None) -> dict:
    """What SHAPE says, which may be nothing."""
    try:
        found = parse_yaml(text) if text else {}
    except FileProblem as problem:
        raise Refused(f"SHAPE: `{text}` is not YAML: {problem}") from None
    wanted = "{batch: 32, length: 200, features: 64, hidden: 256, layers: 2}"
    if not isinstance(found, dict):
        raise Refused(f"SHAPE: `{text}` is not a mapping such as {wanted}")
    return found


def shape_of(given: Mapping, usual: Mapping[str, int]) -> dict[str, int]:
    """Sizes of SHAPE over the usual ones."""
    for name, value in given.items():
        if name not in SIZES:
            close = configuration.near(str(name), SIZES)
            raise Refused(f"SHAPE: there is no size `{name}`{close}; there are {', '.join(SIZES)}")
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST:
            raise Refused(f"SHAPE: {name} must be a positive integer, not {value!r}")
    return {**usual, **given}


def _names(text: str | None, what: str, known: Sequence[str]) -> list[str]:
    """The names in a text, all of which must be known: none where it has none."""
    asked = (text or "").replace(",", " ").split()
    for name in asked:
        if name not in known:
            close, there = configuration.near(name, known), ", ".join(known)
            raise Refused(f"{what.upper()}S: there is no {what} `{name}`{close}; there are {there}")
    return asked


def phases_of(text: str | None, usual: Sequence[str]) -> list[str]:
    """PHASES, in the usual order."""
    asked = _names(text, "phase", matrix.PHASES) or usual
    return [name for name in usual if name in asked]


def _rows() -> list[str]:
    """The implementations that have a row of such a cell: `own-*` in config/implementations.yaml, or `own-*-lstm`, of the
    LSTM only."""
    return [
        entry["implementation"]
        for entry in matrix.implementations()
        if any(pattern.startswith("own-") for pattern in entry["benchmarks"])
    ]


def frameworks_of(text: str | None) -> list[str]:
    """FRAMEWORKS, of those that have a row of such a cell."""
    known = sorted({name.partition("/")[0] for name in _rows()})
    return list(dict.fromkeys(_names(text, "framework", known) or known))


def benchmarks(
    name: str, formula: str, shape: Mapping, around: Mapping, phases: Sequence[str]
) -> dict:
    """The cell's and the LSTM's, whose names are the same for every cell: what was measured of it serves them all. Where
    forward is asked for, both for a single sequence as well. formula: a digest of what the cell computes, without which
    another cell of this name, measured elsewhere, would pass for it."""
    sizes = "own-{batch}x{length}x{features}x{hidden}-d{layers}".format(**shape)
    both = {f"{sizes}-lstm": {}, f"{sizes}-{name}-cell": {"cell": OWN + name, "formula": formula}}
    found = {each: {**shape, **more, **around} for each, more in both.items()}
    if "forward" in phases and shape["batch"] > 1:
        one = {"batch": 1, "phases": ["forward"]}
        found |= {
            f"{own.SINGLE}{each.removeprefix('own-')}": {**found[each], **one}
            for each in list(found)
        }
    return found


def template() -> dict:
    """What documents of cells are made of, with the usual `shape` and `phases`, and `around`, what else benchmarks have."""
    return parse_yaml((CONFIG / "document.yaml").read_text(encoding="utf-8"))


def document(name: str, formula: str, file: str, shape: Mapping, phases: Sequence[str]) -> dict:
    """The document of a cell. formula: a digest of what it computes; file: where it came from."""
    made = template()
    around = made.pop("around")
    made.pop("shape")
    for key in ("title", "about"):
        made[key] = made[key].format(name=name, file=file)
    own = benchmarks(name, formula, shape, around, phases)
    return {**made, "benchmarks": own, "phases": list(phases)}


def config(name: str, base: Mapping, frameworks: Sequence[str]) -> dict:
    """The configuration of a cell's run: its document's, of some frameworks' rows."""
    called = own.document_of(name)
    rows = {called: {"implementations": [f"{each}/*" for each in frameworks]}}
    return configuration.merged(dict(base), {"documents": [called], "overrides": rows})


def rows_of(config: Mapping) -> list[str]:
    """The rows of a cell's configuration."""
    (called,) = config["documents"]
    return list(config["overrides"][called]["implementations"])


def first_look(config: Mapping) -> list[str]:
    """Of a configuration's rows those that are measured first; all, where it has none of these."""
    return [each for each in FIRST if matrix.takes_part(rows_of(config), each)] or rows_of(config)


def without_last(config: Mapping) -> list[str]:
    """Of a configuration's rows those that are measured before LAST; all, where it has none of these, or no others."""
    rows = rows_of(config)
    found = [each for each in _rows() if each not in LAST and matrix.takes_part(rows, each)]
    late = any(matrix.takes_part(rows, each) for each in LAST)
    return found if found and late else rows
