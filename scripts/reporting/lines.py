"""Lines of code of the recurrent cells, counted from the files."""

import ast
import difflib
from pathlib import Path

from measurement.cells import CELLS

SCRIPTS = Path(__file__).resolve().parents[1]
FOLDERS = {"tvm": SCRIPTS / "recurrent_cells/cells"}  # of a framework whose cells lie elsewhere


def folder(framework: str) -> Path:
    """Where the files of a framework's cells lie."""
    return FOLDERS.get(framework, SCRIPTS / "implementations" / framework / "cells")


def code(source: str) -> list[str]:
    """The lines of a module without blank ones, comments, docstrings and imports."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if told or isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out.update(range(node.lineno, node.end_lineno + 1))
    return [
        line
        for number, line in enumerate(source.splitlines(), start=1)
        if number not in left_out and line.strip() and not line.strip().startswith("#")
    ]


def of_cells(base: str) -> dict[str, dict[str, dict[str, int]]]:
    """{framework: {cell: {"lines", "other": those that the base's file has not}}} of frameworks that have such files."""
    frameworks = [path.name for path in (SCRIPTS / "implementations").iterdir()]
    found: dict[str, dict[str, dict[str, int]]] = {}
    for framework in sorted(frameworks):
        own = folder(framework)
        if not (own / f"{base}.py").exists():
            continue
        first = code((own / f"{base}.py").read_text())
        for name in CELLS:
            file = own / f"{name.replace('-', '_')}.py"
            if not file.exists():
                continue
            lines = code(file.read_text())
            other = sum(line.startswith("+ ") for line in difflib.ndiff(first, lines))
            found.setdefault(framework, {})[name] = {"lines": len(lines), "other": other}
    return found
