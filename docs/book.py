"""python docs/book.py FOLDER: put together what Sphinx makes the book of (`make docs`): the pages of docs/, those of the
repository that lie elsewhere, and those that are made of schemas. Links lead to where a page stands in the book; a file of
the repository that is no page of it is copied beside it. Needs PyYAML only.
"""

import fnmatch
import posixpath
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = "workflow/schemas"
FILES = "repository"  # in the book: files of the repository that are no pages
REPORT = "report/example/index"
# The parts: the folder of each and its pages in order; `*`: those that stand nowhere else.
ORDER = {
    "Tutorial": ("tutorial", "*"),
    "How to": (
        "how-to",
        "own-cell new-version full-protocol more-benchmarks compare-runs several-machines gpu slurm without-network "
        "container profile export own-text new-implementation new-document * ci recurrent-cells kernels cite "
        "troubleshooting contributing",
    ),
    "Reference": (
        "reference",
        "configuration files-of-config make statuses columns records folders cells published-cells api glossary commands * "
        "tests faults changelog package-changelog",
    ),
    "Explanation": (
        "explanation",
        "how-it-is-measured correctness two-factors what-is-kept architecture *",
    ),
    "Notebook": ("notebook", "index *"),
}
CONTENTS = {
    part: [f"{folder}/{name}" for name in names.split()] for part, (folder, names) in ORDER.items()
} | {"Report": [REPORT]}
TITLES = {REPORT: "Published report"}  # of pages that have one title
LINK = re.compile(r"(?<=\]\()[^)\s]+(?=\))")
FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
# A block of commands, and in a comment before it why no test runs it.
BLOCK = re.compile(r"(?:<!-- not run: ((?:(?!-->).)+) -->\n)?^```sh\n(.*?)^```$", re.M | re.S)


# ---- pages that lie elsewhere


def elsewhere() -> dict[str, str]:
    """{page of the book: the repository's file}"""
    found = {
        "how-to/slurm.md": "profiles/slurm/README.md",
        "how-to/ci.md": "profiles/ci/README.md",
        "how-to/recurrent-cells.md": "packages/recurrent_cells/README.md",
        "how-to/kernels.md": "scripts/kernels/README.md",
        "reference/cells.md": "packages/recurrent_cells/docs/language.md",
        "reference/published-cells.md": "packages/recurrent_cells/docs/cells.md",
        "how-to/contributing.md": "CONTRIBUTING.md",
        "reference/tests.md": "tests/README.md",
        "reference/faults.md": "tests/faults/README.md",
        "reference/changelog.md": "CHANGELOG.md",
        "reference/package-changelog.md": "packages/recurrent_cells/CHANGELOG.md",
    }
    for page in sorted((ROOT / "report/example").rglob("*.md")):
        name = page.relative_to(ROOT).as_posix()
        found[name] = name
    return found


# ---- pages that are made

BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def schema(name: str) -> dict:
    return yaml.safe_load((ROOT / SCHEMAS / f"{name}.schema.yaml").read_text())


def _allowed(node: Mapping, root: Mapping) -> str:
    """What a value may be, in a few words."""
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join(f"`{each}`" for each in node["enum"])
    alternatives = node.get("oneOf") or node.get("anyOf") or []
    if alternatives and not any("required" in each for each in alternatives):
        words = [_allowed(_resolved(each, root), root) for each in alternatives]
        return " or ".join(word for word in words if word)
    kinds = node.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = {"array": "list", "object": "mapping", "string": "text", "boolean": "true or false"}
    found = " or ".join(words.get(kind, kind) for kind in kinds)
    if kinds == ["array"] and isinstance(node.get("items"), dict):
        of = _allowed(_resolved(node["items"], root), root)
        found += f" of {of}" if of and of not in ("mapping", "list") else ""
    return found + "".join(f" {sign} {node[key]}" for key, sign in BOUNDS.items() if key in node)


def _resolved(node: Mapping, root: Mapping) -> dict:
    """A node with what its `$ref` names beneath it."""
    if "$ref" not in node:
        return dict(node)
    target = root
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return _resolved(target, root) | {key: node[key] for key in node if key != "$ref"}


def keys(
    node: Mapping, root: Mapping, path: str = "", seen: tuple[str, ...] = ()
) -> Iterator[tuple[str, str, str]]:
    """All keys of a schema, in order: (name, what it says, what it may be). Names are from the top, `protocol.seed`, with []
    of a list and * of any name."""
    seen += (node["$ref"],) if "$ref" in node else ()
    node = _resolved(node, root)
    for part in node.get("allOf", []):
        if "if" not in part:
            yield from keys(part, root, path, seen)
    below = f"{path}." if path else ""
    children = [(f"{below}{name}", each) for name, each in node.get("properties", {}).items()]
    children += [(f"{below}*", node.get("additionalProperties")), (f"{path}[]", node.get("items"))]
    for name, child in children:
        if not isinstance(child, dict) or child.get("$ref") in seen:
            continue
        full = _resolved(child, root)
        about = ". ".join(filter(None, (full.get("description"), full.get("details"))))
        if about or not name.endswith("]"):
            yield name, _sentence(about), _allowed(full, root)
        yield from keys(child, root, name, seen)


def _cell(text: object) -> str:
    """A text within a table, what stands in backticks as it is."""
    parts = " ".join(str(text).split()).replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _code(text: str) -> str:
    return f"`{text}`"


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows of Markdown."""
    first, *others = (f"| {' | '.join(row)} |" for row in (heads, *rows))
    return "\n".join([first, "|" + ":--|" * len(heads), *others])


def table_of(name: str) -> str:
    """The keys of a schema, a row each."""
    root = schema(name)
    rows = ([_code(key), *map(_cell, said)] for key, *said in keys(root, root))
    return _table(["Key", "Meaning", "Allowed"], rows)


def _flat(content: Mapping, path: str = "") -> Iterator[tuple[str, object]]:
    for key, value in content.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict) and value:
            yield from _flat(value, name)
        else:
            yield name, value


def configuration() -> str:
    """Every key of a configuration, its default, and what quick.yaml lays over it."""
    default, quick = (
        dict(_flat(yaml.safe_load((ROOT / "config" / name).read_text())))
        for name in ("config.yaml", "quick.yaml")
    )
    root = schema("config")
    rows, overrides = [], []
    for key, *said in keys(root, root):
        row = [_code(key), *map(_cell, said)]
        if not key.startswith("overrides."):
            rows.append([*row, *(_shown(given.get(key, [])) for given in (default, quick))])
        elif not re.search(r"\.(protocol|check|training)\.", key):
            overrides.append(row)
    return f"""# Configuration

`config/config.yaml` has every key with its default, the full protocol. Another file replaces some of them:
`config/quick.yaml` for `make report`, any file with `make report CONFIG=file` or `snakemake --configfile file`.
Single keys are set with `make report SET='protocol={{seed: 1}}'` or `--config corpus='{{path: /data/ptb}}'`. A
mistake stops the run with one line that says where it is and what is allowed.

{_table(["Key", "Meaning", "Allowed", "Default", "Quick"], rows)}

For lists and mappings see [config.yaml](../../config/config.yaml) and [quick.yaml](../../config/quick.yaml).

## Settings for one document

Below `overrides` and the document's name: any key of `protocol`, `check` and `training`, and a selection of what is
measured.

{_table(["Key", "Meaning", "Allowed"], overrides)}
"""


def _shown(value: object) -> str:
    """A value of a configuration, for a table; nothing for lists, mappings and digests."""
    if isinstance(value, list | dict) or len(str(value)) > 60:
        return ""
    text = yaml.safe_dump(value, default_flow_style=True, width=1000)
    return _cell(_code(text.removesuffix("\n").removesuffix("\n...")))


def columns() -> str:
    """Every column of results/cells.csv."""
    rows = []
    for name, about in schema("cells")["properties"].items():
        said = _sentence(about["description"]), about.get("unit", ""), _allowed(about, {})
        rows.append([_code(name), *map(_cell, said)])
    return f"""# Columns of cells.csv

`results/cells.csv` has a row per measurement and machine, also for those without a number. The rows of a document
are in `results/documents/<document>/cells.parquet` too, where each column has its meaning (`description`) and
`unit` as metadata. A value that does not apply is empty.

{_table(["Column", "Meaning", "Unit", "Allowed"], rows)}
"""


def records() -> str:
    """The record of a process, and the list of a document's records."""
    return f"""# Records and manifests

A process writes one JSON file with its raw samples and how they were measured. It is validated against this
schema, and its seal against its bytes, whenever it is read. `[]` is any item of a list, `*` any name.

## A record

{table_of("record")}

## A manifest

The measurements of a document on a machine, and the records that their numbers come from.

{table_of("manifest")}
"""


def files() -> str:
    """The files of config/ that are no configuration."""
    headings = {
        "implementations": "Implementations: config/implementations.yaml",
        "document": "Documents: config/documents/",
        "published": "Published numbers: config/published/",
        "claims": "Claims: config/claims.yaml",
        "pages": "Pages: config/pages.yaml",
    }
    head = """# Files of config/

These files say what is measured; the [configuration](../../config/README.md) says how. To write them, see
[implementations](../../docs/how-to/new-implementation.md) and [documents](../../docs/how-to/new-document.md).
`[]` is any item of a list, `*` any name.
"""
    parts = (f"\n## {heading}\n\n{table_of(name)}\n" for name, heading in headings.items())
    return head + "".join(parts)


def commands() -> str:
    """The book's commands, and which of them a test runs."""
    rows = (
        [
            f"[{page}](../../{page})",
            "<br>".join(_cell(_code(line)) for line in block.commands),
            _cell(block.why_not or ""),
        ]
        for page, block in all_blocks()
    )
    return f"""# Commands of this book

A test compares every command of this book with the Makefile, Snakemake's options and existing files, and runs
it in a small project unless a reason is given.

{_table(["Page", "Command", "Why it is not run"], rows)}
"""


# A target of the Makefile, with the lines above it that begin with two number signs.
TARGET = re.compile(r"((?:^## .+\n)+)^([a-z-]+):", re.M)


def targets_of_make() -> str:
    """The Makefile's targets, as `make help` prints them."""
    rows = (
        [_code(f"make {name}"), _cell(about.replace("## ", ""))]
        for about, name in TARGET.findall((ROOT / "Makefile").read_text())
    )
    return f"""# make targets

`make help` prints this list. Options in brackets may be left out. `CONFIG=file` selects another
configuration and `SET='key=value'` changes single settings, wherever something is planned or measured.

{_table(["Target", "What it does"], rows)}
"""


MADE = {
    "reference/configuration.md": configuration,
    "reference/files-of-config.md": files,
    "reference/columns.md": columns,
    "reference/records.md": records,
    "reference/make.md": targets_of_make,
    "reference/commands.md": commands,
}
# Files of the repository that the book has a page for.
INSTEAD = {
    "README.md": "index.md",
    "Makefile": "reference/make.md",
    "config/README.md": "reference/configuration.md",
    "workflow/schemas/config.schema.yaml": "reference/configuration.md",
    "workflow/schemas/cells.schema.yaml": "reference/columns.md",
    "workflow/schemas/record.schema.yaml": "reference/records.md",
    "workflow/schemas/document.schema.yaml": "reference/files-of-config.md",
    "workflow/schemas/implementations.schema.yaml": "reference/files-of-config.md",
    "workflow/schemas/published.schema.yaml": "reference/files-of-config.md",
    "workflow/schemas/claims.schema.yaml": "reference/files-of-config.md",
}


# ---- commands


class Block(NamedTuple):
    """Commands of a page, without their comments; and why no test runs them, None where one does."""

    commands: list[str]
    why_not: str | None


def blocks(text: str) -> list[Block]:
    """The blocks of commands of a page."""
    found = []
    for match in BLOCK.finditer(text):
        joined = match[2].replace("\\\n", " ")
        lines = [re.sub(r"\s+# .*|^# .*", "", line).strip() for line in joined.splitlines()]
        found.append(Block([line for line in lines if line], match[1]))
    return found


def all_blocks() -> Iterator[tuple[str, Block]]:
    """(file of the repository, block) of all pages that people have written."""
    own = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    others = [name for name in elsewhere().values() if not name.startswith("report/")]
    for name in ["README.md", *own, *others]:
        for block in blocks((ROOT / name).read_text()):
            yield name, block


# ---- links


def places(own: list[str]) -> dict[str, str]:
    """{file of the repository: page of the book}, of docs/ those in `own`."""
    found = {f"docs/{name}": name for name in [*own, *MADE]}
    found |= {name: page for page, name in elsewhere().items()}
    return found | INSTEAD


def target(link: str, source: str) -> str:
    """The file of the repository that a link of the file `source` leads to; "" where that is none, or itself."""
    file = link.partition("#")[0]
    if not file or re.match(r"[a-z]+:", link):
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), file))


def linked(text: str, source: str, page: str, known: Mapping[str, str]) -> str:
    """A page's text with links that lead to where things stand in the book. `source`: its file of the repository."""

    def lead(match: re.Match) -> str:
        file = target(match[0], source)
        if not file or (file not in known and not (ROOT / file).is_file()):
            return match[0]  # which Sphinx will not find
        there = known.get(file, f"{FILES}/{file}")
        _, mark, anchor = match[0].partition("#")
        return posixpath.relpath(there, posixpath.dirname(page) or ".") + mark + anchor

    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(lead, part) for part in parts[::2]]
    return "".join(parts)


def readable(text: str) -> str:
    """A rendered report's page for this book: but for what is folded, all angle brackets are text."""
    return re.sub(r"(`[^`\n]*`)|<(?!/?(?:details|summary)>)", lambda m: m[1] or "&lt;", text)


# ---- the book


def contents(title: str, pages: list[str]) -> str:
    """What Sphinx takes for a part of the table of contents."""
    entries = [f"{TITLES[page]} <{page}>" if page in TITLES else page for page in pages]
    return "\n".join(["\n```{toctree}\n:hidden:", f":caption: {title}\n", *entries, "```\n"])


def parts(pages: list[str]) -> dict[str, list[str]]:
    """{part: its pages, in order}"""
    named = {page for patterns in CONTENTS.values() for page in patterns}
    others = [page for page in sorted(pages) if page not in named]
    return {
        part: [
            page
            for pattern in patterns
            for page in fnmatch.filter(others, pattern) or [pattern]
            if page in pages
        ]
        for part, patterns in CONTENTS.items()
    }


def assembled() -> tuple[dict[str, str], dict[str, Path]]:
    """({page of the book: its text}, {file of the book: the repository's})"""
    docs = ROOT / "docs"
    own = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    sources = {name: f"docs/{name}" for name in own} | elsewhere()
    texts = {page: (ROOT / name).read_text() for page, name in sources.items()}
    reports = [page for page in texts if page.startswith("report/")]
    texts |= {page: readable(texts[page]) for page in reports}
    texts |= {page: make() for page, make in MADE.items()}
    sources |= {page: f"docs/{page}" for page in MADE}
    known, beside = places(own), {}
    for page, text in texts.items():
        for link in LINK.findall(FENCE.sub("", text)):
            file = target(link, sources[page])
            if file not in known and (ROOT / file).is_file():
                beside[f"{FILES}/{file}"] = ROOT / file
        texts[page] = linked(text, sources[page], page, known)
    for name, pages in parts([page.removesuffix(".md") for page in texts]).items():
        texts["index.md"] += contents(name, pages)
    first = f"{REPORT}.md"
    texts[first] += contents("Its pages", [f"/{page[:-3]}" for page in reports if page != first])
    return texts, beside


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    texts, files = assembled()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)


if __name__ == "__main__":
    main()
