"""The configuration, validated, and what it means on this machine."""

import ast
import difflib
import fnmatch
import functools
import math
import operator
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import datasets
from measurement import devices
from measurement.record import SCHEMA_VERSION, damage, read_json
from plan import matrix, reading
from plan.jobs import MANIFEST_VERSION, SPLITS
from plan.reading import FileProblem, shown, strange
from plan.schemas import ROOT, VALIDATOR, mistakes, problems, read, refuse, require_valid, schema


def _names() -> dict[str, set[str]]:
    """{key of a cell: the names that it may have}: what is measured, or what is published."""
    benchmarks = matrix.benchmarks(matrix.documents())
    columns = schema("published")["additionalProperties"]["properties"]
    known = {
        "benchmark": set(benchmarks),
        "implementation": {entry["implementation"] for entry in matrix.implementations()},
        "phase": set(matrix.PHASES),
        "device": set(matrix.DEVICES),
        "quantity": {name for name, about in columns.items() if "$ref" in about},
    }
    for path in matrix.published_files("*"):
        for row in read(path).values():
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
                    yield f"{place}: there is no {key} `{name}`{near(name, known[key])}"


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?`, of a name that nothing has; "" where none is like it."""
    found = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean `{found[0]}`?" if found else ""


def _twice(names: Iterable[str], what: str) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{what}: `{name}` stands {count} times"


def implementation_problems(entries: list[dict]) -> list[str]:
    """What is wrong with implementations that their schema cannot tell, a line each."""
    names = [entry["implementation"] for entry in entries]
    files = {file.stem for file in (ROOT / "envs").glob("*.yaml")}
    found = list(_twice(names, "implementation"))
    for name, entry in zip(names, entries, strict=True):
        for other in entry["environments"]:  # of a list, or the keys of a mapping
            if other not in files:
                found.append(f"{name}: there is no envs/{other}.yaml{near(other, files)}")
        if not (ROOT / (file := matrix.implementation_file(name))).exists():
            found.append(f"{name}: there is no {file}")
        undivided = entry.get("workers", {}).get("of", {}).values()
        for other in (*undivided, entry.get("instead_of")):
            if other not in (None, *names):
                found.append(f"{name}: there is no implementation `{other}`{near(other, names)}")
    return found


@functools.cache
def _options(section: str) -> set[str] | None:
    """The options that a section takes, by its source, as what it imports need not be here; None: there is none."""
    path = ROOT / "scripts/reporting/sections" / f"{section}.py"
    if not path.exists() or section == "__init__":
        return None
    taken = {"section", "title", "level", "line"}
    for own in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(own, ast.FunctionDef) and own.name in ("analyse", "draw"):
            taken |= {each.arg for each in (*own.args.args, *own.args.kwonlyargs)}
    return taken - {"answer", "tables", "about", "wide"}


def _section_problems(lists: dict[str, list[dict]]) -> Iterator[str]:
    """Sections and options that there are not, a line each; lists: {place in the file: sections}."""
    for place, entries in lists.items():
        for number, entry in enumerate(entries):
            options = _options(entry["section"])
            if options is None:
                yield f"{place}.{number}: there is no scripts/reporting/sections/{entry['section']}.py"
            elif unknown := sorted(entry.keys() - options):
                taken = ", ".join(sorted(options))
                yield f"{place}.{number}: {entry['section']} has no option `{unknown[0]}`; it has: {taken}"


def document_problems(document: dict) -> list[str]:
    """What is wrong with a document that its schema cannot tell, a line each."""
    names = {entry["implementation"] for entry in matrix.implementations()}
    families = {entry["family"] for entry in matrix.implementations()}
    lists = {"sections": document["sections"]}
    lists |= {f"adds.{page}": entries for page, entries in document.get("adds", {}).items()}
    found = [*training_problems(document), *_section_problems(lists)]
    for number, row in enumerate(document["rows"]):
        for family in row["families"]:
            if family not in families:
                found.append(
                    f"rows.{number}.families: no implementation is of `{family}`{near(family, families)}"
                )
    named = {f"labels.{name}": name for name in document.get("labels", {})}
    named |= {"speedup_over": document["speedup_over"]} if "speedup_over" in document else {}
    for where, name in named.items():
        if name not in names:
            found.append(f"{where}: there is no implementation `{name}`{near(name, names)}")
    for name, sizes in document["benchmarks"].items():
        if (other := sizes.get("baseline", name)) not in document["benchmarks"]:
            found.append(f"benchmarks.{name}.baseline: the document has no benchmark `{other}`")
        if sizes.get("shortest", 0) > sizes["length"]:
            found.append(f"benchmarks.{name}.shortest: more than its length, {sizes['length']}")
        if 2 * sizes.get("labels", 0) + 1 > sizes.get("shortest", math.inf):
            most = (sizes["shortest"] - 1) // 2
            found.append(
                f"benchmarks.{name}.labels: the shortest sequence has room for {most}, with blanks between them"
            )
    return found


def claim_problems(claims: list[dict]) -> list[str]:
    """What is wrong with claims that their schema cannot tell, a line each."""
    known, unknown = _names(), {}
    found = list(_twice((claim["name"] for claim in claims), "claim"))
    documents = set(matrix.documents())
    for claim in claims:
        if (name := claim["document"]) not in documents:
            found.append(f"{claim['name']}: there is no document `{name}`{near(name, documents)}")
        for line in _unknown(claim, known):
            unknown.setdefault(line, claim["name"])  # claims may share ratios, and so a mistake
        if ("ratios" in claim) == ("linear" in claim):
            found.append(f"{claim['name']}: needs either `ratios` or `linear`")
        if ("lines" in claim) == ("finding" in claim):
            found.append(f"{claim['name']}: needs either the document's `lines` or a `finding`")
        if not {"above", "below"} & claim.keys():
            found.append(f"{claim['name']}: needs `above` or `below`")
        sides = [ratio[side] for ratio in claim.get("ratios", {}).values() for side in ratio]
        ends = [claim[end] for end in ("at", "against") if end in claim]
        for name, cells in {"ratios": sides, "at and against": ends}.items():
            if len({frozenset(cell) for cell in cells}) > 1:
                found.append(f"{claim['name']}: {name}: all sides must name the same keys")
    return [f"{name}: {line}" for line, name in unknown.items()] + found


def page_problems(pages: dict) -> list[str]:
    """What is wrong with config/pages.yaml that its schema cannot tell, a line each. Rows that a project lacks are not shown."""
    found = list(_section_problems({f"each.{page}": has for page, has in pages["each"].items()}))
    for name in {*pages["titles"]} ^ {*pages["labels"]}:
        found.append(f"titles and labels: only one of them has `{name}`")
    return found


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
    """Values of `--config KEY=VALUE` arrive as strings, nested ones too; read them as YAML. A stop with one line where a
    mapping or a list begins and is none."""
    if isinstance(value, str) and value.strip():
        try:
            return reading.parse_yaml(value)
        except FileProblem as problem:
            if value.lstrip()[0] in "{[":
                sys.exit(f"`{shown(value[:80])}` is not YAML: {problem}")
    return value


def _with_types(config: dict, name: str) -> dict:
    """Read each string that stands where the schema wants another type: `stride: "2"`."""
    for error in list(VALIDATOR(schema(name)).iter_errors(config)):
        if isinstance(error.instance, str) and error.instance.strip() and error.absolute_path:
            *parents, key = error.absolute_path
            holder = functools.reduce(operator.getitem, parents, config)
            if holder[key] is error.instance:  # and not a name among its keys
                holder[key] = parsed(error.instance)
    return config


def merged(base: dict, over: dict) -> dict:
    """`over` laid over `base`, mapping by mapping."""
    found = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        found[key] = merged(base[key], value) if both else value
    return found


def _unknown_here(config: dict) -> Iterator[str]:
    """What the configuration leaves to the machine that measures, which is not this one, a line each."""
    told = "a cluster's nodes are not asked; name"
    if config["devices"] == "auto":
        yield f"devices: {told} them, [cpu] or [cpu, gpu]"
    if config["machine"] is None:
        yield "machine: name the type of node that measures, as results are kept by machine"
    if config["protocol"]["threads"] is None:
        yield f"protocol.threads: {told} how many, at most a node's physical cores"


def _unknown_names(config: dict) -> Iterator[str]:
    """What the configuration names and nothing has, a line each: it would be left out in silence."""
    documents = set(matrix.documents())
    environments = {file.stem for file in (ROOT / "envs").glob("*.yaml")}
    dataset, there = config["corpus"]["dataset"], datasets.names()
    if dataset not in there:
        yield f"corpus.dataset: there is no scripts/datasets/{dataset}.py{near(dataset, there)}"
    elif missing := sorted({*SPLITS} - {*datasets.load(dataset).SHA256}):
        yield f"scripts/datasets/{dataset}.py: SHA256 lacks {', '.join(missing)}"
    for name in config["interpreters"]:
        if not fnmatch.filter(environments, name):
            yield f"interpreters: there is no envs/{name}.yaml{near(name, environments)}"
    for name, override in config["overrides"].items():
        if name not in documents:
            yield f"overrides: there is no document `{name}`{near(name, documents)}"
        elif name in config["documents"]:
            cells, asked = matrix.cells_of(name), override.get("training", {})
            benchmarks = {cell.benchmark for cell in cells}
            for pattern in override.get("benchmarks", []):
                if not fnmatch.filter(benchmarks, pattern):
                    close = near(pattern, benchmarks)
                    yield f"overrides.{name}.benchmarks: the document has none like `{pattern}`{close}"
            named = {
                "implementations": override.get("implementations", []),
                "training.implementations": asked.get("implementations", []),
                "protocol.one_process": override.get("protocol", {}).get("one_process", []),
            }
            for where, patterns in named.items():
                for pattern in patterns:
                    if not any(matrix.is_one_of([pattern], cell) for cell in cells):
                        close = near_row(pattern, cells)
                        yield f"overrides.{name}.{where}: the document has no measurement like `{pattern}`{close}"


def _too_few_rounds(config: dict) -> Iterator[str]:
    """Documents whose protocol asks for more turns than it allows, a line each: the rest would not be had."""
    for name in config["documents"]:
        protocol = matrix.protocol_of(config, name)["protocol"]
        if (rounds := protocol["rounds"]) > (most := protocol["most_rounds"]):
            yield f"{name}: protocol.rounds is {rounds}, more than protocol.most_rounds, {most}; raise both"


def near_row(pattern: str, cells: Iterable[matrix.Measurement]) -> str:
    """`; did you mean ...?`, of a pattern for rows that none has: of its name, and of the details after it."""
    name, *words = pattern.split(" ")
    known = {"in": "environment", "for": "phase", "on": "benchmark"}
    cells = list(cells)
    there = {cell.implementation for cell in cells}
    close = "" if any(matrix.takes_part([name], each) for each in there) else near(name, there)
    for word, other in zip(words[::2], words[1::2], strict=False):
        there = {getattr(cell, known[word]) for cell in cells} if word in known else set()
        if not close and other not in there:
            close = near(other, there)
    return close


def unreadable(folder: str) -> Iterator[str]:
    """Why a folder of `also_report` cannot be reported, a line each: it is none, damaged, or of another version."""
    manifests = sorted(Path(folder, "manifests").glob("*.json"))
    if not manifests:
        yield f"also_report: {folder} is not a results folder: it has no manifests/*.json (`make pack` writes them)"
    for path in manifests:
        if wrong := damage(str(path), sealed=False):  # those of earlier packs have none
            yield f"also_report: {path} is damaged ({wrong}); fetch the folder again"
            continue
        manifest = read_json(str(path))
        files = [(path, MANIFEST_VERSION)]
        if _version(manifest) == MANIFEST_VERSION:
            if found := problems(manifest, "manifest"):
                yield f"also_report: {path} is not a manifest: {found[0]}"
                continue
            records = [Path(folder, name) for cell in manifest["cells"] for name in cell["records"]]
            files = [(record, SCHEMA_VERSION) for record in records[:1]]
        for file, version in files:
            if not file.exists():
                yield f"also_report: {file} is missing, which {path} names; fetch the folder again"
            elif wrong := damage(str(file), sealed=file != path):
                yield f"also_report: {file} is damaged ({wrong}); fetch the folder again"
            elif (found := _version(read_json(str(file)))) != version:
                yield f"also_report: {file} has schema {shown(repr(found))}, this workflow reads {version}"


def _version(content) -> object:
    return content.get("schema_version") if isinstance(content, dict) else None


def mapping(path: str) -> dict:
    """The keys of a configuration file; a stop with one line if it has none."""
    content = read(path)
    if not isinstance(content, dict):
        sys.exit(f"{path}: must be a mapping with keys of config/config.yaml")
    return content


def given(configfile: str, settings: list[str]) -> dict:
    """The configuration that a file and settings over it (`key=value`) make, validated: what Snakemake is given."""
    if wrong := [each for each in settings if "=" not in each]:
        sys.exit(f"--config: `{wrong[0]}` is not KEY=VALUE")
    return validated(with_settings(configfile, settings))


def with_settings(configfile: str, settings: list[str]) -> dict:
    """Likewise, as it is given."""
    over = dict(each.split("=", 1) for each in settings)
    return merged(mapping(configfile), {key: parsed(value) for key, value in over.items()})


def validated(config: dict, measures_here: bool = True) -> dict:
    """The configuration with every string that stands for another type read as such, or a stop with
    one line a mistake. `devices: auto` becomes the devices of this machine, which must be the one that
    measures."""
    base = mapping("config/config.yaml")
    config = merged(base, {key: _without_null(parsed(value)) for key, value in config.items()})
    if not list(strange(config)):
        config = _with_types(config, "config")
    found = mistakes(config, "config")
    if not found and config["corpus"]["path"]:
        config["corpus"]["path"] = os.path.expanduser(config["corpus"]["path"])
    if not found and not measures_here:
        found = list(_unknown_here(config))
    if not found:
        found = [line for folder in config["also_report"] for line in unreadable(folder)]
    if found:
        refuse("The configuration", found)
    require_valid("config/implementations.yaml", "implementations", implementation_problems)
    for name in config["documents"]:
        path = matrix.document_file(name)
        if not path.exists():
            known = ", ".join(matrix.documents())
            refuse("The configuration", [f"documents: no {path}; there are: {known}"])
        require_valid(str(path), "document", document_problems)
    if found := list(_in_two(config["documents"])):
        refuse("The configuration", found)
    if found := [*_unknown_names(config), *_too_few_rounds(config)]:
        refuse("The configuration", found)
    for path in matrix.published_files("*"):
        require_valid(path, "published")
    for name in matrix.documents():  # claims may be about any of them
        if name not in config["documents"]:
            require_valid(str(matrix.document_file(name)), "document")
    require_valid("config/claims.yaml", "claims", claim_problems)
    require_valid("config/pages.yaml", "pages", page_problems)
    if config["devices"] == "auto":
        config["devices"] = ["cpu", "gpu"] if devices.gpus() else ["cpu"]
    return config
