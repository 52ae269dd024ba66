"""What a schedule depends on: the code that is scheduled (not its comments), the target, TVM's version."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from typing import Any

import tvm

from ..target import core_of

_KERNELS = Path(__file__).parents[1]

_SCHEDULED = {
    "template-tuned": (
        *("cells/derivative.py", "cells/language.py", "cells/phases.py", "cells/simplify.py"),
        *(
            "template/blocking.py",
            "template/forward.py",
            "template/gates.py",
            "template/inference.py",
        ),
        *("template/layout.py", "template/phases.py", "template/tiles.py"),
        *("template/units.py", "template/vector.py"),
    ),
    "default-rules": ("variants/te_lstm.py",),
    "default-rules-gpu": ("variants/te_lstm.py",),
}


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


def fingerprint(variant: str, target: dict[str, Any]) -> str:
    """Short digest of what a tuned variant's schedules depend on besides the shape."""
    core = core_of(target) if target["kind"] == "llvm" else None
    digest = hashlib.sha256(repr((tvm.__version__, sorted(target.items()), core)).encode())
    for name in _SCHEDULED[variant]:
        source = (_KERNELS / name).read_text()
        digest.update(ast.dump(_without_docstrings(ast.parse(source))).encode())
    return digest.hexdigest()[:16]
