"""The configuration, validated, and what it means on this machine."""

import csv
import difflib
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from measurement import machine
from measurement.record import SCHEMA_VERSION, read_json
from plan import matrix
from plan.jobs import MANIFEST_VERSION

SCHEMAS = Path(__file__).resolve().parents[2] / "workflow" / "schemas"


@functools.cache
def schema(name: str) -> dict:
    """One file of workflow/schemas."""
    return yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text())


def problems(content, name: str) -> list[str]:
    """What is wrong with `content`, a line each: where, what, and what the key is for."""
    found = []
    validator = jsonschema.Draft202012Validator(schema(name))
    for error in sorted(validator.iter_errors(content), key=lambda e: list(map(str, e.path))):
        where = ".".join(map(str, error.absolute_path)) or "top level"
        about = error.schema.get("description") if isinstance(error.schema, dict) else None
        found.append(f"{where}: {error.message}" + (f" ({about})" if about else ""))
    return found


def _read(path: str):
    """What a YAML file holds, or a CSV file: {line: {column: text}}, without empty fields."""
    if path.endswith(".csv"):
        with open(path, newline="") as stream:
            rows = list(csv.DictReader(stream))
        filled = [{key: text for key, text in row.items() if text} for row in rows]
        return {f"line {number}": row for number, row in enumerate(filled, start=2)}
    try:
        return yaml.safe_load(Path(path).read_text())
    except yaml.YAMLError as error:
        sys.exit(f"{path} is not YAML: {error}")


def require_valid(path: str, name: str, more: Callable[[Any], list[str]] | None = None) -> None:
    """Stop with one line a mistake unless a YAML or CSV file is what its schema says; `more` finds what a schema
    cannot."""
    content = _read(path)
    found = problems(content, name)
    if not found and more:
        found = more(content)
    if found:
        sys.exit(f"{path} is not valid:\n" + "".join(f"  {line}\n" for line in found))


def _names() -> dict[str, set[str]]:
    """{key of a cell: the names that it may have}: what is measured, or what is published."""
    benchmarks = matrix.benchmarks([file.stem for file in matrix.CONFIG.glob("documents/*.yaml")])
    columns = schema("published")["additionalProperties"]["properties"]
    known = {
        "benchmark": set(benchmarks),
        "implementation": {entry["implementation"] for entry in matrix.implementations()},
        "phase": set(matrix.PHASES),
        "device": set(matrix.DEVICES),
        "quantity": {name for name, about in columns.items() if "$ref" in about},
    }
    for path in matrix.published_files("*"):
        for row in _read(path).values():
            for key in ("benchmark", "implementation"):
                known[key].update([row[key]] if key in row else [])
    return known


def _unknown(claim: dict, known: dict[str, set[str]]) -> Iterator[str]:
    """The names in a claim that nothing has."""
    ratios = claim.get("ratios", {}).items()
    sides = {f"ratios.{name}.{side}": ratio[side] for name, ratio in ratios for side in ratio}
    places = {place: claim.get(place, {}) for place in ("for", "at", "against")}
    linear = {"benchmark": list(claim.get("linear", {"in": {}})["in"])}
    for place, cells in (sides | places | {"linear.in": linear}).items():
        for key, names in cells.items():
            for name in [names] if isinstance(names, str) else names:
                if name not in known[key]:
                    near = difflib.get_close_matches(name, known[key], 1)
                    hint = f"; did you mean `{near[0]}`?" if near else ""
                    yield f"{place}: there is no {key} `{name}`{hint}"


def claim_problems(claims: list[dict]) -> list[str]:
    """What is wrong with claims that their schema cannot tell, a line each."""
    known, unknown, found = _names(), {}, []
    for claim in claims:
        for line in _unknown(claim, known):
            unknown.setdefault(line, claim["name"])  # claims may share ratios, and so a mistake
        if ("ratios" in claim) == ("linear" in claim):
            found.append(f"{claim['name']}: needs either `ratios` or `linear`")
        if not {"above", "below"} & claim.keys():
            found.append(f"{claim['name']}: needs `above` or `below`")
        sides = [ratio[side] for ratio in claim.get("ratios", {}).values() for side in ratio]
        ends = [claim[end] for end in ("at", "against") if end in claim]
        for name, cells in {"ratios": sides, "at and against": ends}.items():
            if len({frozenset(cell) for cell in cells}) > 1:
                found.append(f"{claim['name']}: {name}: all sides have to name the same keys")
    return [f"{name}: {line}" for line, name in unknown.items()] + found


def training_problems(document: dict) -> list[str]:
    """What is wrong with a document's training run that its schema cannot tell, a line each."""
    if "training" not in document:
        return []
    name = document["training"]["benchmark"]
    benchmark = document["benchmarks"].get(name)
    if benchmark is None:
        return [f"training.benchmark: the document has no benchmark `{name}`"]
    if benchmark.get("state") != "carried" or benchmark["optimizer"]["name"] != "sgd":
        return [f"training.benchmark: `{name}` needs `state: carried` and the optimizer sgd"]
    return []


def _in_two(documents: list[str]) -> Iterator[str]:
    """The benchmarks that two documents have, a line each: their cells would have one name."""
    owners: dict[str, str] = {}
    for name in documents:
        for benchmark in matrix.document(name)["benchmarks"]:
            if (other := owners.setdefault(benchmark, name)) != name:
                yield f"documents: {other} and {name} both have a benchmark `{benchmark}`; rename one"


def _without_null(value):
    """`null` on the command line arrives as the word, which would do for a folder's name."""
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items()}
    return None if value == "null" else value


def parsed(value):
    """Values of `--config KEY=VALUE` arrive as strings, nested ones too; read them as YAML."""
    if isinstance(value, str):
        try:
            return yaml.safe_load(value)
        except yaml.YAMLError:
            return value
    return value


def _with_types(config: dict, name: str) -> dict:
    """Read each string that stands where the schema wants another type: `stride: "2"`."""
    validator = jsonschema.Draft202012Validator(schema(name))
    for error in list(validator.iter_errors(config)):
        if isinstance(error.instance, str) and error.absolute_path:
            *parents, key = error.absolute_path
            functools.reduce(operator.getitem, parents, config)[key] = parsed(error.instance)
    return config


def merged(base: dict, over: dict) -> dict:
    """`over` laid over `base`, mapping by mapping."""
    return {
        **base,
        **{
            key: merged(base[key], value)
            if isinstance(value, dict) and isinstance(base.get(key), dict)
            else value
            for key, value in over.items()
        },
    }


def _unknown_here(config: dict) -> Iterator[str]:
    """What the configuration leaves to the machine that measures, which is not this one, a line each."""
    told = "a cluster's nodes are not asked; name"
    if config["devices"] == "auto":
        yield f"devices: {told} them, [cpu] or [cpu, gpu]"
    if config["machine"] is None:
        yield "machine: name the type of node that measures, as results are kept by machine"
    if config["protocol"]["threads"] is None:
        yield f"protocol.threads: {told} how many, at most a node's physical cores"


def unreadable(folder: str) -> Iterator[str]:
    """Why a folder of `also_report` cannot be reported, a line each: it is none, or of another version."""
    manifests = sorted(Path(folder, "manifests").glob("*.json"))
    if not manifests:
        yield f"also_report: {folder} is no results folder: it has no manifests/*.json (`make pack` makes them)"
    for path in manifests:
        manifest = read_json(str(path))
        files = [(path, MANIFEST_VERSION)]
        if manifest.get("schema_version") == MANIFEST_VERSION:
            records = [Path(folder, name) for cell in manifest["cells"] for name in cell["records"]]
            files = [(record, SCHEMA_VERSION) for record in records[:1]]
        for file, version in files:
            if not file.exists():
                yield f"also_report: {file} is missing, which {path} names; fetch the folder again"
            elif (found := read_json(str(file)).get("schema_version")) != version:
                yield f"also_report: {file} has schema {found}, this workflow reads {version}"


def given(configfile: str, settings: list[str]) -> dict:
    """The configuration that a file and settings over it (`key=value`) make, validated: what Snakemake is given."""
    over = dict(each.split("=", 1) for each in settings)
    config = yaml.safe_load(Path(configfile).read_text())
    return validated(merged(config, {key: parsed(value) for key, value in over.items()}))


def validated(
    config: dict, default: str = "config/config.yaml", measures_here: bool = True
) -> dict:
    """The configuration with every string that stands for another type read as such, or a stop with
    one line a mistake. `devices: auto` becomes the devices of this machine, which must be the one that
    measures."""
    base = yaml.safe_load(Path(default).read_text())
    config = merged(base, {key: _without_null(parsed(value)) for key, value in config.items()})
    config = _with_types(config, "config")
    found = problems(config, "config")
    if not found and not measures_here:
        found = list(_unknown_here(config))
    if not found:
        found = [line for folder in config["also_report"] for line in unreadable(folder)]
    if found:
        sys.exit("The configuration is not valid:\n" + "".join(f"  {line}\n" for line in found))
    for name in config["documents"]:
        path = Path("config/documents") / f"{name}.yaml"
        if not path.exists():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
            sys.exit(f"The configuration is not valid:\n  documents: no {path}; there are: {known}")
        require_valid(str(path), "document", training_problems)
    if found := list(_in_two(config["documents"])):
        sys.exit("The configuration is not valid:\n" + "".join(f"  {line}\n" for line in found))
    require_valid("config/implementations.yaml", "implementations")
    for path in matrix.published_files("*"):
        require_valid(path, "published")
    require_valid("config/claims.yaml", "claims", claim_problems)
    if config["devices"] == "auto":
        config["devices"] = ["cpu", "gpu"] if machine.gpus() else ["cpu"]
    return config
