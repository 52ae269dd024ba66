"""What decides what a job computes: its scripts and all that they import, by what stands in them.

Two versions of a file are the same if they have the same tokens: a comment, a docstring or another line break changes
nothing that is computed, and makes nothing stale.
"""

import ast
import functools
import hashlib
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

SCRIPTS = Path("scripts")
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
# A string that stands alone after one of these, before the line ends, is a docstring.
STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


@functools.cache
def _imports(path: Path) -> list[Path]:
    """The files of scripts/ that a module imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
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
            packages = [folder / "__init__.py" for folder in (file, *file.parents)]
            found += filter(Path.exists, [file.with_suffix(".py"), *packages])
    return found


@functools.cache
def files(*entries: str) -> list[str]:
    """The files that decide what these ones compute: themselves and what they import, transitively."""
    found, queue = set(), [Path(entry) for entry in entries]
    while queue:
        path = queue.pop()
        if not path.exists():
            sys.exit(
                f"{path} does not exist; config/implementations.yaml names its implementation."
            )
        if path not in found:
            found.add(path)
            # What a module compiles has its name.
            found.update(filter(Path.exists, map(path.with_suffix, (".c", ".cu"))))
            queue.extend(_imports(path))
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
    text = Path(path).read_text()
    if path.endswith(".py"):
        text = meaning(text)
    return hashlib.sha256(f"{path}\n{text}".encode()).digest()


@functools.cache
def digest(*entries: str) -> str:
    """Eight hexadecimal digits naming what these scripts compute."""
    found = hashlib.sha256(b"".join(map(_file_digest, files(*entries))))
    return found.hexdigest()[:8]
