"""What a schedule depends on: the code that is scheduled (not its comments), the target, TVM's version."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from typing import Any

import tvm

from ..target import core_of

_SCRIPTS = Path(__file__).parents[2]

_SCHEDULED = {
    "template-tuned": (
        *("recurrent_cells/cells/derivative.py", "recurrent_cells/cells/language.py"),
        *("recurrent_cells/cells/phases.py", "recurrent_cells/cells/simplify.py"),
        *(
            "kernels/template/blocking.py",
            "kernels/template/forward.py",
            "kernels/template/gates.py",
            "kernels/template/inference.py",
        ),
        *("kernels/template/layout.py", "kernels/template/phases.py", "kernels/template/tiles.py"),
        *("kernels/template/units.py", "kernels/template/vector.py"),
    ),
    "default-rules": ("kernels/variants/te_lstm.py",),
    "default-rules-gpu": ("kernels/variants/te_lstm.py",),
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
        source = (_SCRIPTS / name).read_text()
        digest.update(ast.dump(_without_docstrings(ast.parse(source))).encode())
    return digest.hexdigest()[:16]
