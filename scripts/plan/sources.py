"""What decides what a job computes: its scripts and all that they import, by what stands in them.

Two versions of a file are the same if they have the same tokens: a comment, a docstring or another line break changes
nothing that is computed, and makes nothing stale.

A run plans by a copy of its scripts, which its measuring processes run from (plan/copies.py). Files go by their names in
the project all the same: `scripts/...`.
"""

import ast
import functools
import hashlib
import io
import os
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from measurement import provenance
from measurement.record import damage, read_result, write_sealed
from plan import own

SCRIPTS = Path("scripts")
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
# A string that stands alone after one of these, before the line ends, is a docstring.
STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


class _Root:
    """Where the files lie: the project, or a folder with a copy of its scripts."""

    folder = Path()


def read_from(folder: Path) -> None:
    """Plan by the scripts of another folder from now on."""
    _Root.folder = folder
    for each in (digest, files, _headed, _file_digest, _imports, _content):
        each.cache_clear()


def _place(path: Path) -> Path:
    """Where a file lies. Only copies have the package of cells that are somebody's own where it is imported from."""
    if _Root.folder == Path() and own.PACKAGE in path.parents[1:]:
        return own.module(path)
    return _Root.folder / path


def _exists(path: Path) -> bool:
    return _place(path).exists()


@functools.cache
def _content(path: str) -> bytes:
    """What stands in a file, read once."""
    return _place(Path(path)).read_bytes()


@functools.cache
def _imports(path: Path) -> list[Path]:
    """The files of scripts/ that a module imports."""
    found = []
    try:
        tree = ast.parse(_content(str(path)), str(path))
    except SyntaxError as error:
        sys.exit(f"{path}:{error.lineno or 1}: {error.msg}")
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(SCRIPTS).parent.parts
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join(base + ([node.module] if node.module else []))
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        for name in names:
            file = SCRIPTS.joinpath(*name.split("."))
            found += filter(_exists, [file.with_suffix(".py"), *_packages(file)])
    return found


def _packages(path: Path) -> list[Path]:
    """What runs before a module or package of this path."""
    return [folder / "__init__.py" for folder in (path, *path.parents)]


@functools.cache
def _headed(folder: Path) -> list[Path]:
    """The C files of a folder that has headers: a module in it compiles them together."""
    beside = [each for kind in ("*.h", "*.c") for each in _place(folder).glob(kind)]
    headed = any(each.suffix == ".h" for each in beside)
    return [folder / each.name for each in beside] if headed else []


@functools.cache
def files(*entries: str) -> list[str]:
    """The files that decide what these ones compute: themselves and what they import, transitively."""
    found, queue = set(), [Path(entry) for entry in entries]
    while queue:
        path = queue.pop()
        if not _exists(path):
            sys.exit(
                f"{path} does not exist; config/implementations.yaml names its implementation."
            )
        if path not in found:
            found.add(path)
            # What a module compiles has its name.
            found.update(filter(_exists, map(path.with_suffix, provenance.COMPILED)))
            found.update(_headed(path.parent))
            queue.extend([*_imports(path), *filter(_exists, _packages(path.parent))])
    return sorted(map(str, found))


def _between(text: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """What stands between two positions (line from 1, column)."""
    lines = text.split("\n")[start[0] - 1 : end[0]]
    lines[-1] = lines[-1][: end[1]]
    return "\n".join([lines[0][start[1] :], *lines[1:]])


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """(type, string) of what is no layout. A formatted string is one token, as before Python 3.12, where it is taken
    apart: the same text means the same to each Python that plans."""
    opened = []  # where formatted strings begin that are not at their end, one in the other
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):  # FSTRING_, from 3.14 on TSTRING_ too
            opened.append(token.start)
        elif name.endswith("STRING_END"):
            start = opened.pop()
            if not opened:
                yield tokenize.STRING, _between(text, start, token.end)
        elif not opened and token.type not in LAYOUT:
            yield token.type, name if token.type in STARTS else token.string


def meaning(text: str) -> str:
    """A Python file without comments, docstrings and layout: its tokens, a space between them, indentation as marks."""
    kept: list[str] = []
    before = tokenize.NEWLINE
    tokens = _tokens(text)
    for kind, string in tokens:
        if kind == tokenize.STRING and before in STARTS:
            after, mark = next(tokens)
            if after == tokenize.NEWLINE:
                continue  # a docstring, with the end of its line
            kept.append(string)
            kind, string = after, mark
        kept.append(string)
        before = kind
    return " ".join(kept)


@functools.cache
def _file_digest(path: str) -> bytes:
    text = _content(path).decode()
    if path.endswith(".py"):
        text = meaning(text)
    return hashlib.sha256(f"{path}\n{text}".encode()).digest()


@functools.cache
def digest(*entries: str) -> str:
    """Eight hexadecimal digits naming what these scripts compute. A copy notes for its processes which files these are,
    byte by byte."""
    named = files(*entries)
    found = hashlib.sha256(b"".join(map(_file_digest, named))).hexdigest()[:8]
    if _Root.folder != Path():
        planned = {path: hashlib.sha256(_content(path)).hexdigest() for path in named}
        noted = provenance.list_path(str(_Root.folder), found)
        if not os.path.exists(noted) or damage(noted) or read_result(noted)["files"] != planned:
            write_sealed(noted, {"files": planned})
    return found
