"""Which files decide what a job computes, and what of their text does."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from plan import environments, sources

CODE = '''\
"""About the module."""
import math


@decorated  # why
class Cell(Base):
    """About the class,

    at length.
    """

    SIZE = 4

    @property
    def area(self):
        """About the method."""
        text = """no docstring"""
        if text:
            return math.prod([self.SIZE, 2])

    def nothing(self):
        """A body of a docstring alone."""


def outer(a, b):
    def inner():
        """About a function in a function."""
        return a

    return inner() + b


print(
    'alone in its line, and no docstring'
)
WORDS = (
    'a'
    'b'
)
WORDS
'''


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder scripts/ in an empty project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scripts").mkdir()
    forget()
    yield Path("scripts")
    forget()


def forget() -> None:
    """What was read of files that a test has changed since."""
    sources.read_from(Path())


def write(scripts: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = scripts / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    forget()


def test_files_are_what_is_imported_transitively(scripts: Path) -> None:
    texts = {
        "main.py": "import os\nfrom tools import first\nimport tools.second\nimport numpy",
        "tools/first.py": "def f():\n    from tools import third",
        "tools/second.py": "import main",
    }
    write(scripts, texts | dict.fromkeys(("tools/third.py", "tools/unused.py"), ""))
    names = ("main", "tools/first", "tools/second", "tools/third")
    assert sources.files("scripts/main.py") == [f"scripts/{name}.py" for name in names]


def test_files_follow_relative_imports(scripts: Path) -> None:
    texts = {
        "a/b/style.py": "from .model import Model\nfrom . import helper\nfrom ..common import x",
        "a/b/model.py": "from a.contract import Runner",
    }
    imported = ("a/b/helper.py", "a/common.py", "a/contract.py")
    write(scripts, texts | dict.fromkeys((*imported, "a/b/other.py"), ""))
    wanted = {f"scripts/{name}" for name in (*texts, *imported)}
    assert set(sources.files("scripts/a/b/style.py")) == wanted


def test_packages_run_their_init(scripts: Path) -> None:
    """`import a.b` runs a/__init__.py and what that imports."""
    texts = {"main.py": "from a.b import c", "a/__init__.py": "import helper"}
    texts |= {"a/b.py": "", "helper.py": ""}
    write(scripts, texts)
    assert sources.files("scripts/main.py") == sorted(f"scripts/{name}" for name in texts)


def test_a_file_that_is_no_python(scripts: Path) -> None:
    write(scripts, {"main.py": "import broken\n", "broken.py": "\ndef f(:\n"})
    with pytest.raises(SystemExit, match=r"^scripts/broken\.py:2: "):
        sources.files("scripts/main.py")


def test_missing_file(scripts: Path) -> None:
    with pytest.raises(SystemExit, match=r"^scripts/none\.py .* config/implementations"):
        sources.files("scripts/none.py")


def test_only_the_template_s_kernels_depend_on_the_template() -> None:
    """Of how a kernel is built, and of how it is run."""
    others = ("default_rules", "default_rules_gpu", "untuned", "unrolled", "dlight")
    for variant in ("template_tuned", *others):
        ways = [
            ("scripts/steps/build_kernel.py", f"scripts/kernels/variants/{variant}.py"),
            (f"scripts/implementations/tvm/{variant}.py",),
        ]
        for entries in ways:
            found = any("kernels/template/" in name for name in sources.files(*entries))
            assert found == (variant == "template_tuned"), entries


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""About the module."""\n', ""),
        ("  # why", ""),
        ("SIZE = 4\n", "SIZE = 4  # gates\n    # of them\n"),
        ("SIZE = 4\n", 'SIZE = 4\n    """Gates."""\n'),
        ("[self.SIZE, 2]", "[\n                self.SIZE, 2  # both\n            ]"),
        ('        """About a function in a function."""\n        return a', "            return a"),
    ],
)
def test_what_changes_nothing(old: str, new: str) -> None:
    assert old in CODE
    assert sources.meaning(CODE.replace(old, new)) == sources.meaning(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@decorated", "@otherwise"),
        ('text = """no docstring"""', 'text = """no  docstring"""'),
        ("        return a\n\n    return", "        return a\n        return"),  # its own block now
        ('    def nothing(self):\n        """A body of a docstring alone."""\n', ""),
        ('"""A body of a docstring alone."""', "pass"),
        ("[self.SIZE, 2]", "['self.SIZE', 2]"),
        ("'alone in its line, and no docstring'", "'another one'"),
        ("    'b'\n)", "    'c'\n)"),
        ("\nWORDS\n", "\nWOR DS\n"),
    ],
)
def test_any_other_token_counts(old: str, new: str) -> None:
    assert old in CODE
    assert sources.meaning(CODE.replace(old, new)) != sources.meaning(CODE)


FORMATTED = """\
def said(name, width):
    short = f"{name!r:>{width}}{{}}" + rf'\\d{name}' "é" f"{'a' + f'{width}'}"  # why
    return f'''{
        name
    } # no comment
    "{width}"'''
"""
WHOLE = (
    "NEWLINE",
    """f"{name!r:>{width}}{{}}" + rf'\\d{name}' "é" f"{'a' + f'{width}'}" NEWLINE""",
    """return f'''{\n        name\n    } # no comment\n    "{width}"''' NEWLINE""",
)


def test_formatted_strings_are_whole() -> None:
    found = sources.meaning(FORMATTED)
    assert all(part in found for part in WHOLE) and "why" not in found


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_files_mean_the_same_to_each_python(version: str) -> None:
    """From 3.12 on the tokenizer takes formatted strings apart."""
    python = environments.find_interpreter(SpecifierSet(f"=={version}.*"))
    if not python:
        pytest.skip(f"there is no Python {version} here")
    files = [*Path("scripts").rglob("*.py")]
    texts = [*(file.read_text() for file in files), FORMATTED, CODE]
    program = (
        "import json, sys; sys.path.insert(0, 'scripts'); from plan import sources; "
        "print(json.dumps([sources.meaning(text) for text in json.load(sys.stdin)]))"
    )
    found = subprocess.check_output([python[0], "-c", program], input=json.dumps(texts), text=True)
    assert json.loads(found) == [sources.meaning(text) for text in texts]


def test_digest(scripts: Path) -> None:
    """Of all files that count, by their names and by what stands in them."""
    files = {"main.py": "import tool\n", "tool.py": "SIZE = 1\n", "other.py": "SIZE = 1\n"}

    def digest(**changed: str) -> str:
        write(scripts, files | {f"{name}.py": text for name, text in changed.items()})
        return sources.digest("scripts/main.py")

    before = digest()
    assert len(before) == 8 and set(before) <= set("0123456789abcdef")
    assert digest(tool='"""About."""\n\nSIZE = 1  # one\n') == before
    assert digest(other="SIZE = 2\n") == before
    assert digest(tool="SIZE = 2\n") != before
    assert digest(main="import tool\nimport other\n") != before
    assert digest(main="import other\n") != before
    assert digest() == before
    assert sources.digest("scripts/main.py", "scripts/other.py") != before
