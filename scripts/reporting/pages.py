"""Which sections pages have: config/documents and config/pages.yaml. Read to plan, so it needs nothing but YAML."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from plan import matrix, own, sources
from plan.reading import parse_yaml

SECTIONS = "scripts/reporting/sections/"
OWN = ("index", "machine", "machines")  # pages that are not made of sections
TEMPLATES = ["report/page.md.j2", "report/page.html.j2"]


@cache
def settings() -> dict:
    """config/pages.yaml"""
    return parse_yaml(Path("config/pages.yaml").read_text(encoding="utf-8"))


def gathered() -> list[str]:
    """The pages that documents add sections to."""
    return [page for page in settings()["titles"] if page not in OWN]


def site(documents: Iterable[str], machines: int, own: bool) -> list[dict[str, str]]:
    """All pages of a machine's report on these documents, [{"name", "label"}], in the order in which each of them lists them.
    machines: how many there are, as one is compared with none. own: whether it is this run's, whose pages lie at the top."""
    titles = {name: matrix.document(name)["title"].partition(":")[0] for name in documents}
    first, *others = settings()["labels"].items()
    found = dict([first]) | titles | dict(others)
    if machines < 2:
        del found["machines"]
    return [
        {"name": name if own or name != "machines" else f"../../{name}", "label": label}
        for name, label in found.items()
    ]


def switch(machines: Mapping[str, str], machine: str, page: str) -> list[dict[str, str]]:
    """The same page of each machine, [{"label", "href"}], no `href` where one is. machines: {machine: name}, this run's first,
    whose pages lie at the top; those of others in a folder each."""
    if len(machines) < 2:
        return []
    own = next(iter(machines))

    def href(other: str) -> str:
        if other == machine:
            return ""
        there = "" if other == own else f"{other}/"
        up = ("machines/" if there else "") if machine == own else ("../" if there else "../../")
        return f"{up}{there}{page}.html"

    return [{"label": label, "href": href(other)} for other, label in machines.items()]


def folder(machine: str) -> str:
    """Where the pages of another machine lie."""
    return f"machines/{machine}"


def other_machines(
    documents: Iterable[str], own: str, folders: Sequence[str]
) -> dict[str, list[str]]:
    """{machine: documents that it has} of the machines, beside this one, whose results lie in some folders. own: this machine's
    manifest."""
    found: dict[str, list[str]] = {}
    for document in documents:
        for path in map(Path, manifests_of_others(document, own, folders)):
            if path.parent.name == "manifests":
                found.setdefault(path.stem.removeprefix(f"{document}-"), []).append(document)
    return found


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


def of_own_cells(folder: Path = Path("results/report")) -> list[dict[str, str]]:
    """[{"document", "said": the page's first sentence}] of the pages of cells of somebody's own that are there."""
    found = []
    for page in sorted(folder.glob(f"{own.DOCUMENT}*.md")):
        said = [
            line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("**`")
        ]
        found.append({"document": page.stem, "said": said[0].strip("*") if said else ""})
    return found
