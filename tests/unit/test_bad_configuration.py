"""Mistakes in configurations, documents, claims, implementations, published numbers and environment files:
each is refused before anything runs, in one line that says where, what, and what is allowed."""

import copy
import functools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from plan import configuration, environments
from plan.environments import EnvironmentProblem
from tests import broken
from tests.conftest import ROOT

MORE = {
    "document": configuration.document_problems,
    "claims": configuration.claim_problems,
    "implementations": configuration.implementation_problems,
    "pages": configuration.page_problems,
    "published": None,
}
SEEDS = st.integers(0, 2**32)
REPEATABLE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],  # a smaller mistake is no clearer, and takes minutes to find
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True)
class File:
    """One file as it is, and the kind of thing that it holds."""

    kind: str
    path: str

    @functools.cached_property
    def content(self) -> dict | list:
        if self.path.endswith(".csv"):
            table = pd.read_csv(ROOT / self.path, dtype=str, keep_default_na=False)
            return table.to_dict("records")
        return yaml.safe_load((ROOT / self.path).read_text())

    @functools.cached_property
    def places(self) -> list[tuple[tuple, object]]:
        return list(broken.places(self.content))


FILES = [
    File(kind, str(path.relative_to(ROOT)))
    for kind, pattern in (
        ("config", "config/config.yaml"),
        ("config", "config/quick.yaml"),
        ("document", "config/documents/*.yaml"),
        ("claims", "config/claims.yaml"),
        ("pages", "config/pages.yaml"),
        ("implementations", "config/implementations.yaml"),
        ("published", "config/published/*.csv"),
        ("environment", "envs/*.yaml"),
    )
    for path in sorted(ROOT.glob(pattern))
]


def write(folder: Path, file: File, content: object) -> str:
    """The file with this content, in a folder of its own."""
    path = folder / Path(file.path).name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif file.kind == "published":
        pd.DataFrame(content).to_csv(path, index=False)
    else:
        path.write_text(broken.written(content))
    return str(path)


def refusal(folder: Path, file: File, content: object) -> list[str]:
    """The lines with which a file is refused; none where it is accepted. Any other end is a test's failure."""
    path = write(folder, file, content)
    try:
        if file.kind == "config":
            configuration.given(path, [])
        elif file.kind == "environment":
            environments.load.__wrapped__(path)
        else:
            configuration.require_valid(path, file.kind, MORE[file.kind])
    except EnvironmentProblem as problem:
        lines = [str(problem)]
    except SystemExit as stop:
        lines = str(stop).splitlines()
        if lines[0].endswith("is not valid:"):  # a line each follows
            assert all(line.startswith("  ") and ": " in line for line in lines[1:])
        else:
            assert len(lines) == 1
    else:
        return []
    assert all(len(line) < 1000 and line.isprintable() for line in lines), lines
    assert any("config" in line or path in line for line in lines[:1])
    return lines


def numbers(file: File) -> list[tuple]:
    """The places of numbers, all of which are counts, sizes, shares or bounds."""
    return [
        where
        for where, value in file.places
        if isinstance(value, int | float) and not isinstance(value, bool) and where[-1] != "year"
    ]


NAMES = {
    "config": [("documents",), ("overrides",), ("interpreters",), ("machine",)],
    "document": [("benchmarks",), ("phases",), ("rows", 0, "families"), ("sections", 0, "section")],
    "claims": [(0, "document"), (0, "name"), (1, "for", "benchmark")],
    "pages": [
        ("first_page", "benchmark"),
        ("first_page", "then"),
        ("each", "claims", 0, "section"),
    ],
    "implementations": [(0, "implementation"), (0, "environments"), (3, "environments")],
    "published": [(0, "document"), (0, "line")],
    "environment": [("dependencies",)],
}
HOSTILE = ("../../outside", "/etc/passwd", "a b", "a;touch owned", "$(touch owned)", "name\n", "")


@st.composite
def mistakes(draw: st.DrawFn) -> tuple[str, File, object]:
    """(what is wrong, a file, its content with one thing wrong): nobody could mean any of them."""

    def one_of(choices: Sequence) -> object:
        return draw(st.sampled_from(choices))

    file = one_of(FILES)
    where, _ = one_of(file.places)
    csv_file, environment = file.kind == "published", file.kind == "environment"
    kinds = ["characters", "name", "text"]
    if not csv_file:
        kinds += ["number of no size", "key that is no text"]
        kinds += ["below all bounds", "no number"] * bool(numbers(file))
        kinds += ["required"] * (file.kind in ("document", "environment"))
        kinds += ["unknown key"] * (not environment)
    kind = one_of(kinds)
    content = copy.deepcopy(file.content)
    mappings = [place for place, value in file.places if isinstance(value, dict)]
    if kind == "characters":
        leaves = [place for place, value in file.places if isinstance(value, str)]
        unprinted = one_of(broken.UNPRINTED)
        if csv_file or environment:
            unprinted, leaves = "a\x00b", [p for p in leaves if csv_file or p[0] == "dependencies"]
        content = broken.replaced(content, one_of(leaves), unprinted)
    elif kind == "number of no size":
        place = ("dependencies",) if environment else where
        content = broken.replaced(content, place, one_of(broken.STRANGE))
    elif kind == "key that is no text":
        of = [place for place in mappings if place or not environment]
        content = broken.with_key(content, one_of(of), one_of((7, None, True)), "x")
    elif kind == "unknown key":
        content = broken.with_key(content, one_of(mappings), "not-a-key", ["x"])
    elif kind == "required":
        content = broken.without(content, NAMES[file.kind][0])
    elif kind in (wrong := {"below all bounds": (-1, -0.5), "no number": ("many", [], {})}):
        content = broken.replaced(content, one_of(numbers(file)), one_of(wrong[kind]))
    elif kind == "name":
        where, name = one_of(NAMES[file.kind]), one_of(HOSTILE)
        if file.kind == "config" and where[0] in ("overrides", "interpreters"):
            content[where[0]] = {name: {} if where[0] == "overrides" else "/usr/bin/python3"}
        elif where == ("benchmarks",):
            first, *_ = content["benchmarks"].values()
            content = broken.with_key(content, where, name, first)
        else:
            old = broken.at(content, where) if file.kind != "config" else content.get(where[0])
            listed = isinstance(old, list) or where == ("documents",)
            content = broken.replaced(content, where, [name] if listed else name)
    else:
        text = (ROOT / file.path).read_bytes()
        start = draw(st.integers(0, len(text)))
        content = text[:start] + one_of((b"\xff\xfe", b"\x00", b"\xc3(")) + text[start:]
    return kind, file, content


@settings(REPEATABLE, max_examples=150)
@given(mistakes())
def test_each_mistake_is_refused(tmp_path: Path, mistake: tuple[str, File, object]) -> None:
    kind, file, content = mistake
    assert refusal(tmp_path, file, content), f"{kind} in {file.path} was accepted"


@settings(REPEATABLE, max_examples=100)
@given(st.sampled_from(FILES), SEEDS, st.booleans())
def test_whatever_a_file_holds_takes_one_line_or_none(
    tmp_path: Path, file: File, seed: int, scratched: bool
) -> None:
    draw = random.Random(seed)
    if scratched or file.kind == "published":
        refusal(tmp_path, file, broken.scratched((ROOT / file.path).read_bytes(), draw))
    else:
        refusal(tmp_path, file, broken.changed(file.content, draw))


SETTINGS = ("protocol", "corpus", "check", "devices", "documents", "seed", "machine", "preliminary")


@settings(REPEATABLE, max_examples=60)
@given(
    st.sampled_from(SETTINGS),
    st.one_of(
        st.text(max_size=20),
        st.builds(
            "{{{}: {}}}".format, st.sampled_from(("seed", "stride", "steps")), st.text(max_size=9)
        ),
        st.sampled_from(
            (*broken.HOSTILE, *broken.UNPRINTED, "[" * 5000, "2026-13-45", "0x" + "f" * 5000)
        ),
    ),
)
def test_settings_of_the_command_line_are_read_by_type_or_refused(key: str, value: str) -> None:
    try:
        found = configuration.given("config/quick.yaml", [f"{key}={value}", "devices=[cpu]"])
    except SystemExit as stop:
        assert all(len(line) < 1000 for line in str(stop).splitlines())
    else:
        assert configuration.mistakes(found, "config") == []


def of_row(document: str, row: str) -> str:
    return f"overrides: {{{document}: {{implementations: [{row}]}}}}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("protocol: {seed: 1}\nprotocol: {seed: 2}\n", "the key `protocol` appears twice"),
        ("- protocol\n", "a mapping"),
        ("", "a mapping"),
        ("a: [1\n", "not YAML"),
        ("corpus: &a {mirrors: [*a]}\n", "an alias"),
        ("corpus: " + 400 * "[" + 400 * "]", "50 deep"),
        ("protocol: {timeout_s: .nan}\n", "protocol.timeout_s: nan "),
        ("protocol: {processes: 3.0}\n", "protocol.processes: 3.0 "),
        ("documents: [stacked-ml]\n", "documents: no config/documents/stacked-ml.yaml; "),
        ("corpus: {dataset: ptbs}\n", "corpus.dataset: "),
        ("overrides: {stackedlm: {}}\n", "`stackedlm`; did you mean `stacked-lm`?"),
        ("interpreters: {pytroch: /bin/py}\n", "envs/pytroch.yaml; did you mean `pytorch`?"),
        (of_row("tvm-lstm", "tvm/unrolled on layer-1x1x1"), "`tvm/unrolled on layer-1x1x1`"),
        (of_row("stacked-lm", "pytorch/fused for trainig"), "trainig`; did you mean `training`?"),
        (
            "overrides: {rnn-benchmarks: {protocol: {one_process: [keras/lstm-torhc]}}}\n",
            "one_process: the document has no measurement like `keras/lstm-torhc`; did you mean",
        ),
        ("also_report: [nowhere]\n", "also_report: nowhere is not a results folder"),
        ('corpus: {path: ""}\n', "corpus.path: '' "),
        ("corpus: {mirrors: ['file:///x/{split}']}\n", "corpus.mirrors.0: 'file:///x/{split}' "),
    ],
)
def test_what_was_misread_before(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SystemExit) as stop:
        configuration.given(str(path), [])
    assert said in str(stop.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rows": [{"families": ["oprators"]}]}, "rows.0.families: .*`oprators`"),
        ({"speedup_over": "pytorch/fussed"}, "speedup_over: .*`pytorch/fussed`; did you"),
        ({"sections": [{"section": "no_such"}]}, r"sections.0: .*sections/no_such\.py"),
        ({"sections": [{"section": "bars", "tittle": "x"}]}, "sections.0: bars .*`tittle`"),
        ({"labels": {"no/such": "x"}}, "labels.no/such: "),
    ],
)
def test_names_in_a_document_that_nothing_has(change: dict, said: str) -> None:
    document = yaml.safe_load(Path("config/documents/stacked-lm.yaml").read_text())
    found = configuration.document_problems(document | change)
    assert any(re.match(said, line) for line in found), found


def test_environments_that_nothing_has() -> None:
    entries = yaml.safe_load(Path("config/implementations.yaml").read_text())
    entries[0]["environments"] = ["pytroch"]
    (line,) = configuration.implementation_problems(entries)
    assert "envs/pytroch.yaml; did you mean" in line


def test_a_published_number_that_is_none(tmp_path: Path) -> None:
    (file,) = (each for each in FILES if each.path == "config/published/001-stacked-lm.csv")
    text = (ROOT / file.path).read_text().replace("1.9554,97.7685", "1.9554s,97.7685", 1)
    assert refusal(tmp_path, file, text.encode())[1].startswith("  line 9.wall_s: ")


def test_sequences_too_short_for_their_labels() -> None:
    document = yaml.safe_load(Path("config/documents/rnn-benchmarks.yaml").read_text())
    name, sizes = next((n, s) for n, s in document["benchmarks"].items() if s.get("loss") == "ctc")
    document["benchmarks"] = {name: sizes | {"shortest": 20, "labels": 10}}
    (*_, last) = configuration.document_problems(document)
    assert last.startswith(f"benchmarks.{name}.labels: ") and "room for 9" in last
