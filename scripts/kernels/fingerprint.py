"""What a tuned kernel depends on: the template's code (not its comments) and TVM's version."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import tvm

_TEMPLATE = ("kernel.py", "gates.py", "cell.py", "vector.py", "weights.py")


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                statement
                for statement in body
                if not (
                    isinstance(statement, ast.Expr)
                    and isinstance(statement.value, ast.Constant)
                    and isinstance(statement.value.value, str)
                )
            ]
    return tree


def template_fingerprint() -> str:
    """Short digest of the template's code and of TVM's version."""
    digest = hashlib.sha256(tvm.__version__.encode())
    for name in _TEMPLATE:
        source = Path(__file__).with_name(name).read_text()
        digest.update(ast.dump(_without_docstrings(ast.parse(source))).encode())
    return digest.hexdigest()[:16]
