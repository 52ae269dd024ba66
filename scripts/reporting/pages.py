"""Which sections pages have: config/documents and config/pages.yaml. Read to plan, so it needs nothing but YAML."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from plan import matrix, own, sources
from plan.reading import parse_yaml

SECTIONS = "scripts/reporting/sections/"
TEMPLATES = ["report/page.md.j2", "report/page.html.j2"]


@cache
def settings() -> dict:
    """config/pages.yaml"""
    return parse_yaml(Path("config/pages.yaml").read_text())


def gathered() -> list[str]:
    """The pages that documents add sections to."""
    return [page for page in settings()["titles"] if page not in ("index", "machines")]


def site(documents: Iterable[str]) -> list[dict[str, str]]:
    """All pages of a report on these documents, [{"name", "label"}], in the order in which each of them lists them."""
    own = {name: matrix.document(name)["title"].partition(":")[0] for name in documents}
    first, *others = settings()["labels"].items()
    return [{"name": name, "label": label} for name, label in (first, *own.items(), *others)]


def added(document: Mapping) -> dict[str, list[dict]]:
    """{page: sections} that a document adds to the pages that are about all."""
    own = document.get("adds", {})
    each = settings()["each"]
    return {page: [*own.get(page, []), *each.get(page, [])] for page in gathered()}


def sections_of(document: Mapping) -> tuple[list[str], list[str]]:
    """The sections of a document's own page, and of what it adds to others."""
    own = {entry["section"] for entry in document["sections"]}
    others = {entry["section"] for entries in added(document).values() for entry in entries}
    return sorted(own), sorted(others)


def analyses(document: str) -> list[str]:
    """The files that decide what a document's sections are."""
    own, others = sections_of(matrix.document(document))
    modules = [f"{SECTIONS}{name}.py" for name in {*own, *others}]
    return sources.files("scripts/steps/analyse_document.py", *modules)


def templates_of_first_page() -> list[str]:
    """Those of the pages that are about all documents."""
    own = [str(path) for path in sorted(Path("report/explorer").iterdir())]
    return [*TEMPLATES, *own, "report/index.md.j2"]


def manifests_of_others(document: str, own: str, folders: Iterable[str]) -> list[str]:
    """The manifests of a document that some results folders have, but for this machine's `own`, and what says where they
    come from."""
    found = [
        path for each in folders for path in Path(each, "manifests").glob(f"{document}-*.json")
    ]
    notes = [Path(each, name) for each in folders for name in ("pack.json", "pack.json.sig")]
    found += filter(Path.exists, [*notes, Path("config/signers")])
    return sorted(str(path) for path in found if str(path) != own.format(document=document))


def profiles_of(document: str, folder: Path = Path("results/profiles")) -> list[str]:
    """The profiles of a document's rows that are there."""
    benchmarks = matrix.document(document)["benchmarks"]
    return sorted(str(path) for name in benchmarks for path in folder.glob(f"*/{name}/*/*/*.json"))


def of_own_cells(folder: Path = Path("results/report")) -> list[dict[str, str]]:
    """[{"document", "said": the page's first sentence}] of the pages of cells of somebody's own that are there."""
    found = []
    for page in sorted(folder.glob(f"{own.DOCUMENT}*.md")):
        said = [line for line in page.read_text().splitlines() if line.startswith("**`")]
        found.append({"document": page.stem, "said": said[0].strip("*") if said else ""})
    return found
