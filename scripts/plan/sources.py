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
            found.update(filter(Path.exists, [path.with_suffix(".c")]))
            queue.extend(_imports(path))
    return sorted(map(str, found))


def meaning(text: str) -> str:
    """A Python file without comments, docstrings and layout: its tokens, a space between them, indentation as marks."""
    kept: list[str] = []
    before = tokenize.NEWLINE
    tokens = (
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
    )
    for token in tokens:
        if token.type == tokenize.STRING and before in STARTS:
            after = next(tokens)
            if after.type == tokenize.NEWLINE:
                continue  # a docstring, with the end of its line
            kept.append(token.string)
            token = after
        kept.append(tokenize.tok_name[token.type] if token.type in STARTS else token.string)
        before = token.type
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
