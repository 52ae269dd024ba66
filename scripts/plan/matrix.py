"""The matrix of cells: which documents, benchmarks and implementations there are, as data.

Read by the workflow to plan and by the collector to know every row that has to appear.
"""

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path

from measurement import precision
from plan import own
from plan.reading import parse_yaml

CONFIG = Path("config")
SCRIPTS = Path("scripts")
DEVICES = ("cpu", "gpu")
LEAST_PROCESSES = 3  # fewer give no interval between them, and no verdict
PHASES = ("forward", "training")
NOT_RUN = "not-run"  # the status of what a run left out
UNUSED = {each: f"no {each.upper()} is used in this run" for each in DEVICES}  # why it has no row
NOW = "now"  # the generation of today's frameworks


@dataclass(frozen=True, order=True)
class Measurement:
    """One number of a table."""

    benchmark: str
    implementation: str
    environment: str
    phase: str
    device: str

    @property
    def name(self) -> str:
        folder = f"{self.environment}/{self.benchmark}/{self.implementation}"
        return f"{folder}/{self.phase}-{self.device}"

    @classmethod
    def of(cls, keys: dict) -> "Measurement":
        """The cell that a dictionary with its keys, and others, is about."""
        return cls(**{field.name: keys[field.name] for field in fields(cls)})


@functools.cache
def document(name: str) -> dict:
    """What a document's file says."""
    return parse_yaml(document_file(name).read_text(encoding="utf-8"))


def document_file(name: str) -> Path:
    """A file of config/documents, or what was made for a cell or a shape of somebody's own."""
    if name.startswith(own.SHAPE_DOCUMENT):
        return own.FOLDER_OF_SHAPES / f"{name}.yaml"
    if name.startswith(own.DOCUMENT):
        return own.folder_of(name) / "document.yaml"
    return CONFIG / "documents" / f"{name}.yaml"


def documents() -> list[str]:
    """The names of all documents."""
    return sorted(file.stem for file in CONFIG.glob("documents/*.yaml")) + own.documents()


def published_files(name: str) -> list[str]:
    """The files of numbers that were published for a document, <number>-<name>.csv; `*` stands for any letters."""
    files = (CONFIG / "published").glob("*.csv")
    return sorted(str(file) for file in files if fnmatchcase(file.stem.partition("-")[2], name))


@functools.cache
def implementations() -> tuple[dict, ...]:
    """The entries of config/implementations.yaml, in order."""
    return tuple(parse_yaml((CONFIG / "implementations.yaml").read_text(encoding="utf-8")))


@functools.cache
def statements() -> tuple[dict, ...]:
    """The entries of config/claims.yaml, in order."""
    return tuple(parse_yaml((CONFIG / "claims.yaml").read_text(encoding="utf-8")))


def claims() -> list[dict]:
    """Those that go with what a document says."""
    return [each for each in statements() if "finding" not in each]


def findings() -> list[dict]:
    """Those that no document says, so that no published number decides them (`ours`)."""
    return [each | {"ours": True} for each in statements() if "finding" in each]


@functools.cache
def implementation(name: str) -> dict:
    """The entry of one implementation."""
    return next(entry for entry in implementations() if entry["implementation"] == name)


def workers(name: str) -> int:
    """How many workers, each with a GPU of its own, an implementation divides a batch among."""
    return implementation(name).get("workers", {"count": 1})["count"]


def benchmarks(documents: list[str]) -> dict[str, dict]:
    """{name: parameters} of the documents' benchmarks."""
    return {
        benchmark: parameters
        for name in documents
        for benchmark, parameters in document(name)["benchmarks"].items()
    }


def takes_part(patterns: list[str], name: str) -> bool:
    """Whether a name is one of `patterns` (names, with * as in file names)."""
    return patterns == ["*"] or any(fnmatchcase(name, pattern) for pattern in patterns)


def environments(entry: dict, benchmark: str) -> list[str]:
    """The environments that an implementation is measured in on a benchmark: those it lists, or of
    {environment: benchmarks} those whose benchmarks it is one of."""
    named = entry["environments"]
    if isinstance(named, list):
        return named
    return [name for name, patterns in named.items() if takes_part(patterns, benchmark)]


def today(environment: str) -> str:
    """The environment of today that one of the time stands beside, `pytorch` for `pytorch-2019`; of one of
    today, itself."""
    return re.sub(r"-\d{4}$", "", environment)


def generation(environment: str) -> str:
    """`pytorch-2019` -> `2019`, `pytorch` -> `now`"""
    return environment.removeprefix(today(environment))[1:] or NOW


def asks(row: dict, family: str, device: str, benchmark: str) -> bool:
    """Whether one of a document's `rows` asks for a family, on a device, for a benchmark."""
    return (
        family in row["families"]
        and device in row.get("devices", DEVICES)
        and takes_part(row.get("benchmarks", ["*"]), benchmark)
    )


@functools.cache
def cells_of(name: str) -> tuple[Measurement, ...]:
    """Every cell that one document's rows ask for, on every device there could be."""
    rows, found = document(name)["rows"], []
    for benchmark, device in itertools.product(document(name)["benchmarks"], DEVICES):
        for entry in implementations():
            if not takes_part(entry["benchmarks"], benchmark):
                continue
            if device not in entry.get("devices", DEVICES):
                continue
            if not any(asks(row, entry["family"], device, benchmark) for row in rows):
                continue
            asked = document(name)["benchmarks"][benchmark].get("phases", document(name)["phases"])
            phases = [phase for phase in asked if phase in entry.get("phases", PHASES)]
            for environment, phase in itertools.product(environments(entry, benchmark), phases):
                found.append(
                    Measurement(benchmark, entry["implementation"], environment, phase, device)
                )
    return tuple(found)


def is_one_of(patterns: list[str], cell: Measurement) -> bool:
    """Whether a cell is one of `patterns`: `name`, followed by any of `in environment`, `for phase` and `on benchmark`,
    in this order."""
    details = (f" in {cell.environment}", f" for {cell.phase}", f" on {cell.benchmark}")
    chosen = itertools.product(*(("", detail) for detail in details))
    return any(takes_part(patterns, cell.implementation + "".join(each)) for each in chosen)


def trained_cells_of(name: str) -> Iterator[Measurement]:
    """Every cell whose training run one document shows, on every device there could be."""
    if run := document(name).get("training"):
        for cell in cells_of(name):
            here = (cell.benchmark, cell.phase) == (run["benchmark"], "training")
            if here and is_one_of(run["implementations"], cell):
                yield cell


def why_not(
    cell: Measurement, document_name: str, config: dict, trained: bool = False
) -> tuple[str, str] | None:
    """(status, reason) of a cell that this run does not measure; None if it does. `trained`: of its training run."""
    if cell.device not in config["devices"]:
        return "unsupported", UNUSED[cell.device]
    how = protocol_of(config, document_name)
    if trained:
        measured = is_one_of(how["training"]["implementations"], cell)
    else:
        measured = takes_part(how["benchmarks"], cell.benchmark)
        measured = measured and is_one_of(how["implementations"], cell)
    if not measured:
        return NOT_RUN, (
            "left out by this configuration (`overrides`); the full protocol measures it: "
            f"snakemake --cores all --config documents='[{document_name}]'"
        )
    return None


def protocol_of(config: dict, document_name: str) -> dict:
    """{"protocol", "check", "training", "benchmarks", "implementations"} of a document: the configuration's, and
    what it overrides."""
    override = config["overrides"].get(document_name, {})
    return {
        "protocol": config["protocol"] | override.get("protocol", {}),
        "check": config["check"] | override.get("check", {}),
        "training": config["training"] | override.get("training", {}),
        "benchmarks": override.get("benchmarks", ["*"]),
        "implementations": override.get("implementations", ["*"]),
    }


def tolerance(check: dict, benchmark: dict, phase: str) -> float:
    """Of a benchmark's check: the document's, unless float32, or the benchmark's own format, cannot hold it to that."""
    data_type = benchmark.get("data_type", precision.FLOAT32)
    own = precision.tolerance(data_type, phase, benchmark["layers"], benchmark["length"])
    return max(check["tolerance"], benchmark.get("tolerance", 0), own)


def check_of(config: dict, document_name: str, cell: Measurement) -> dict:
    """{"tolerance", "steps", "batch"} of a cell's check. A built kernel has one batch size only."""
    check = protocol_of(config, document_name)["check"]
    benchmark = document(document_name)["benchmarks"][cell.benchmark]
    own = {"batch": None} if implementation(cell.implementation).get("kernel") else {}
    return check | {"tolerance": tolerance(check, benchmark, cell.phase)} | own


def cells(config: dict) -> dict[Measurement, str]:
    """{cell: document} of all cells to measure, each once: a benchmark belongs to one document."""
    return {
        cell: name
        for name in config["documents"]
        for cell in cells_of(name)
        if not why_not(cell, name, config)
    }


def implementation_file(implementation: str) -> str:
    """`pytorch/fine-grained` -> scripts/implementations/pytorch/fine_grained.py"""
    return str(SCRIPTS / "implementations" / f"{implementation.replace('-', '_')}.py")


def variant_file(variant: str) -> str:
    """`template-tuned` -> scripts/kernels/variants/template_tuned.py"""
    return str(SCRIPTS / "kernels" / "variants" / f"{variant.replace('-', '_')}.py")
