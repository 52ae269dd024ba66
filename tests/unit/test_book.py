"""The book's own pages (docs/book.py): what is made of schemas says all that they have; commands that no test runs are ones that
there are. tests/workflow/test_pages.py builds it and follows its links, test_book.py there runs its commands."""

import importlib.util
import re
import shlex
from collections.abc import Iterator, Mapping

import pytest

from plan import configuration, schemas
from tests.conftest import ROOT

SPEC = importlib.util.spec_from_file_location("book", ROOT / "docs" / "book.py")
book = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(book)

MAKEFILE = (ROOT / "Makefile").read_text()
PAGES = {  # the schemas that a page is made of
    "reference/configuration.md": ["config"],
    "reference/columns.md": ["cells"],
    "reference/records.md": ["record", "manifest"],
    "reference/files-of-config.md": ["implementations", "document", "published", "claims", "pages"],
}


def properties(node: object) -> Iterator[tuple[str, Mapping]]:
    """Every key that a schema names anywhere, and what it says of it."""
    if isinstance(node, dict):
        for name, about in node.get("properties", {}).items():
            if isinstance(about, dict):
                yield name, about
        for each in node.values():
            yield from properties(each)
    elif isinstance(node, list):
        for each in node:
            yield from properties(each)


def test_every_schema_has_a_page() -> None:
    names = {path.name.split(".")[0] for path in schemas.SCHEMAS.glob("*.yaml")}
    assert names == {name for of_page in PAGES.values() for name in of_page}


@pytest.mark.parametrize("page", PAGES)
def test_every_key_stands_on_its_page_with_its_meaning(page: str) -> None:
    text = book.MADE[page]()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    last = {re.split(r"[.\]]", row.split("`")[1])[-1] or row.split("`")[1] for row in rows}
    for schema in PAGES[page]:
        found = [*properties(configuration.schema(schema))]
        for name, about in found:
            assert name in last, f"{schema}: {name}"
            if "description" in about:
                assert book._cell(about["description"]).lower() in text.lower(), f"{schema}: {name}"
        # What stands in a condition (if, then, else, oneOf) has its meaning where it is declared.
        said = {name for name, about in found if about.keys() & {"description", "$ref"}}
        assert {name for name, _ in found} - said <= ({"record"} if schema == "manifest" else set())
    columns = {line.replace("\\|", "").count("|") for line in rows}
    assert len(columns) <= 2 and min(columns) > 3  # no cell has broken a row


def test_every_target_of_make_is_described() -> None:
    targets = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.M)[1].split()
    assert {name for _, name in book.TARGET.findall(MAKEFILE)} == set(targets)


def test_defaults_are_those_of_the_configuration() -> None:
    text = book.configuration()
    (row,) = (line for line in text.splitlines() if line.startswith("| `protocol.rounds` |"))
    both = (configuration.mapping(f"config/{name}.yaml") for name in ("config", "quick"))
    assert row.endswith("| `{}` | `{}` |".format(*(each["protocol"]["rounds"] for each in both)))
    (row,) = (line for line in text.splitlines() if line.startswith("| `corpus.path` |"))
    assert row.endswith("| `null` |  |")


def test_reasons_in_reports_stay_text() -> None:
    text = "<details><summary>x</summary>\n\n<script> `a<b` <unk>\n\n</details>"
    assert book.readable(text) == (
        "<details><summary>x</summary>\n\n&lt;script> `a<b` &lt;unk>\n\n</details>"
    )


COMMANDS = [
    pytest.param(line, id=f"{page}: {line[:60]}")
    for page, block in book.all_blocks()
    if block.why_not
    for line in block.commands
]


def test_commands_are_found() -> None:
    text = "x\n\n<!-- not run: no time -->\n```sh\na b  # c\n# d\ne \\\n  f\n```\n\n```sh\ng\n```\n```python\nh\n```\n"
    first, second = book.blocks(text)
    assert first == (["a b", "e    f"], "no time")
    assert second == (["g"], None)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_one_that_there_is(line: str) -> None:
    """Its target and variables are the Makefile's, its options Snakemake's, its files there."""
    words = shlex.split(line, comments=True)
    program, rest = words[0].removeprefix(".venv/bin/"), words[1:]
    if program == "make":
        settings = dict(word.split("=", 1) for word in rest if "=" in word)
        for goal in (word for word in rest if "=" not in word):
            assert re.search(rf"^{re.escape(goal)}:", MAKEFILE, re.M), goal
        for variable in settings:
            assert re.search(rf"\$\({variable}\)", MAKEFILE), variable
        if (file := settings.get("CONFIG", "")).startswith("config/"):
            assert (ROOT / file).exists()
    elif program == "snakemake":
        from snakemake.cli import get_argument_parser

        parsed, unknown = get_argument_parser(profiles=[]).parse_known_args(rest)
        assert not unknown
        for file in parsed.configfile or []:
            assert (ROOT / file).exists()
    elif program == "python":
        assert rest[0] == "-m" and (ROOT / (rest[1].replace(".", "/") + ".py")).exists()
    elif "/" in program:
        assert (ROOT / program).exists()
    else:
        assert program in ("cp", "git", "mkdir", "docker", "apptainer", "pip", "pyperf"), program
