"""A cell out of a file of one's own, which is read and not imported: what may stand in it is held against a short list first."""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from .cells import language
from .cells.language import Cell, CellError

WORDS = ("cell", *language.WORDS)
"""What a cell is written in."""

PACKAGES = ("recurrent_cells", "recurrent_cells.cells")
NUMBERS = ("pi", "e", "tau", "sqrt", "log", "exp")
"""What may be taken from Python's `math`: numbers, and functions of numbers."""

BUILTINS = (
    "abs",
    "range",
    "len",
    "zip",
    "enumerate",
    "reversed",
    "sum",
    "tuple",
    "list",
    "float",
    "int",
)
MOST = 1 << 20
"""Bytes of a file."""
REPEATED = 1000
"""Passes of all loops of a file together."""

_ARITHMETIC = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.Div: operator.truediv, ast.Pow: operator.pow},
}

_STATEMENTS = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Return,
    ast.Expr,
    ast.For,
    ast.If,
    ast.Pass,
    ast.FunctionDef,
)
_NOT_IN_A_STEP = (
    *(
        ast.Await,
        ast.Yield,
        ast.YieldFrom,
        ast.NamedExpr,
        ast.Dict,
        ast.Set,
        ast.DictComp,
        ast.SetComp,
    ),
    *(ast.JoinedStr, ast.Starred),
)


def load(path: str | Path) -> Cell:
    """Read a cell from a file, without importing it.

    Parameters
    ----------
    path:
        A file with imports of the language, named numbers and functions, one of them decorated with `cell` (docs/language.md).

    Raises
    ------
    CellError
        If it is not a valid cell: `file:line: message`.
    """
    path = Path(path)
    tree = _parsed(path)
    try:
        return _Reader(path, tree).cell()
    except _Told as told:
        line = getattr(told.node, "lineno", told.node)
        raise CellError(f"{path}:{line}: {told}") from None


class _Package(ModuleType):
    """What a file may use of recurrent_cells."""


class _Told(Exception):
    def __init__(self, node: ast.AST | int, text: str) -> None:
        super().__init__(text)
        self.node = node


def _parsed(path: Path) -> ast.Module:
    try:
        if path.stat().st_size > MOST:
            raise CellError(f"{path}:1: it has more than {MOST >> 20} MiB: no cell's file")
        text = path.read_bytes().decode("utf-8")
        return ast.parse(text, str(path))
    except OSError as error:
        raise CellError(f"{path}:1: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise CellError(f"{path}:{line}: not in UTF-8") from None
    except SyntaxError as error:
        raise CellError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CellError(f"{path}:1: it cannot be read as Python: {error}") from None


class _Reader:
    def __init__(self, path: Path, tree: ast.Module) -> None:
        self._path, self._tree = path, tree
        self._known: dict[str, Any] = {name: getattr(builtins, name) for name in BUILTINS}
        self._known["range"] = self._range
        self._passes = 0

    def _range(self, *bounds: int) -> range:
        found = range(*bounds)
        self._passes += len(found) if max(map(abs, bounds)) <= REPEATED else REPEATED + 1
        if self._passes > REPEATED:
            raise CellError(f"its lines are repeated more than {REPEATED} times")
        return found

    def cell(self) -> Cell:
        """What the file's statements come to."""
        functions = []
        for number, statement in enumerate(self._tree.body):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self._import(statement)
            elif isinstance(statement, ast.FunctionDef):
                functions.append(statement)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                self._number(statement)
            elif not (number == 0 and _text(statement)):
                raise _Told(
                    statement,
                    "a cell's file holds imports, numbers by name and functions; this would be run by an import",
                )
        decorated = [one for one in functions if one.decorator_list]
        if not decorated:
            last = functions[-1] if functions else 1
            raise _Told(
                last, "no function with @cell(...): it says which gates and states there are"
            )
        if len(decorated) > 1:
            raise _Told(decorated[1], "a second cell: each has a file of its own")
        (update,) = decorated
        self._declaration(update)
        names = {one.name for one in functions} | set(self._known)
        for one in functions:
            self._function(one, names)
        return self._made(update)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        module = getattr(statement, "module", None)
        for one in statement.names:
            to = one.asname or one.name
            if isinstance(statement, ast.Import) and one.name == "math":
                self._known[to] = math
            elif isinstance(statement, ast.Import) and one.name == PACKAGES[0]:
                self._known[to] = _Package(PACKAGES[0])
                self._known[to].__dict__.update({word: getattr(language, word) for word in WORDS})
            elif module == "math" and one.name in NUMBERS:
                self._known[to] = getattr(math, one.name)
            elif module == "__future__":
                pass
            elif module in PACKAGES:
                if one.name == "*":
                    raise _Told(
                        statement,
                        "import each name: from recurrent_cells import cell, sigmoid, ...",
                    )
                if one.name not in WORDS:
                    raise _Told(statement, f"the language has no {one.name}; {_has()}")
                self._known[to] = getattr(language, one.name)
            else:
                raise _Told(
                    statement,
                    f"{module or one.name} cannot be used in a cell's file, only `import recurrent_cells`, `from recurrent_cells import ...` and math's numbers",
                )

    def _number(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """NAME = a number, or what is computed of numbers."""
        targets = getattr(statement, "targets", None) or [statement.target]
        for node in ast.walk(statement.value or ast.Constant(None)):
            plain = isinstance(
                node,
                ast.Constant
                | ast.UnaryOp
                | ast.BinOp
                | ast.Name
                | ast.Attribute
                | ast.operator
                | ast.unaryop
                | ast.expr_context,
            )
            if not plain or (
                isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
            ):
                raise _Told(
                    statement,
                    "outside of functions a name can stand for a number only; anything else would be run by an import",
                )
        self._names(statement.value, set(self._known))
        value = self._evaluated(statement.value)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise _Told(statement, f"{value!r} is no number")
        for target in targets:
            if not isinstance(target, ast.Name):
                raise _Told(statement, "one name for one number")
            self._known[target.id] = value

    def _evaluated(self, node: ast.expr) -> Any:
        """A number, of numbers and their names."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in self._known:
            return self._known[node.id]
        if isinstance(node, ast.Attribute) and node.attr in NUMBERS:
            if self._evaluated(node.value) is not math:
                raise _Told(node, f"a number has no .{node.attr}")
            return getattr(math, node.attr)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self._evaluated(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            values = [self._evaluated(one) for one in (node.left, node.right)]
            try:
                return _ARITHMETIC[type(node.op)](*map(float, values))
            except (TypeError, ValueError, ArithmeticError) as error:
                raise _Told(node, f"{type(error).__name__}: {error}") from None
        raise _Told(node, "a number may be of numbers, their names, math's and + - * / **")

    def _declaration(self, update: ast.FunctionDef) -> None:
        """@cell(gates="...", ...) and nothing else, of literals."""
        decorator = update.decorator_list[0]
        called = decorator.func if isinstance(decorator, ast.Call) else None
        found = self._known.get(called.id) if isinstance(called, ast.Name) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            found = getattr(self._known.get(called.value.id), called.attr, None)
        if len(update.decorator_list) > 1 or called is None or found is not language.cell:
            raise _Told(
                decorator,
                'a cell is declared by @cell(gates="...", states="..."), imported from recurrent_cells',
            )
        values = [*decorator.args, *(one.value for one in decorator.keywords)]
        for value in values:
            if not (isinstance(value, ast.Constant) and isinstance(value.value, str | bool | int)):
                raise _Told(
                    value,
                    "arguments of @cell(...) must be literals: names in strings, heads=4, projected=True",
                )
        if not re.fullmatch("[a-z][a-z0-9_]*", update.name):
            raise _Told(
                update,
                f"{update.name}: a cell's name has lower-case letters, digits and _, and begins with a letter",
            )

    def _function(self, function: ast.FunctionDef, names: set[str]) -> None:
        """What a step's function may have in it."""
        arguments = function.args
        if arguments.vararg or arguments.kwarg:
            raise _Told(function, f"{function.name}: * and ** take no gate by its name")
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self._names(default, set(self._known))
            if not isinstance(self._evaluated(default), int | float):
                raise _Told(default, "a parameter's default is a constant of the cell: a number")
        for node in ast.walk(ast.Module(function.body, [])):
            if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
                raise _Told(node, f"a step computes and returns: no {_called(node)} in it")
            if isinstance(node, ast.Expr) and not _text(node):
                raise _Told(node, "what is computed here is not used")
            if isinstance(node, _NOT_IN_A_STEP):
                raise _Told(node, f"a step computes and returns: no {_called(node)} in it")
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                _as_floats(node)
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                raise _Told(node, f"a value has no .{node.attr}")
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                raise _Told(node, f".{node.attr} cannot be set")
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = self._known.get(node.value.id)
                if isinstance(owner, _Package) and node.attr not in WORDS:
                    raise _Told(node, f"the language has no {node.attr}; {_has()}")
            if isinstance(node, ast.Constant) and isinstance(node.value, bytes | complex):
                raise _Told(node, f"{node.value!r} is no value of a cell")
        self._names(function, names | self._locals(function))

    def _locals(self, function: ast.FunctionDef) -> set[str]:
        found = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                own = node.args
                found |= {one.arg for one in (*own.posonlyargs, *own.args, *own.kwonlyargs)}
                found |= {node.name} if isinstance(node, ast.FunctionDef) else set()
        return found

    def _names(self, node: ast.AST | None, names: set[str]) -> None:
        called = (
            {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)} if node else set()
        )
        for one in ast.walk(node) if node else ():
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id not in names:
                if one.id in WORDS:
                    told = f"{one.id} is not imported: from recurrent_cells import {one.id}"
                elif id(one) in called:
                    told = f"the language has no {one.id}; {_has()}"
                else:
                    told = f"unknown name {one.id}: it is no gate, state, vector or constant, and nothing gives it a value"
                raise _Told(one, told)

    def _made(self, update: ast.FunctionDef) -> Cell:
        body = [one for one in self._tree.body if isinstance(one, ast.FunctionDef)]
        body.sort(key=lambda one: bool(one.decorator_list))  # the cell last: it is computed at once
        space = {**self._known, "__builtins__": {}, "__name__": f"cell_file_{update.name}"}
        try:
            # What may run stands in the lists above; no names are there but those that were held against them.
            exec(compile(ast.Module(body, []), str(self._path), "exec"), space)  # noqa: S102 (nothing but the language's words: see above)
        except CellError as error:
            if str(error).startswith(f"{self._path}:"):
                raise
            raise _Told(update.decorator_list[0], str(error)) from None
        except Exception as error:
            frames = [
                one.lineno
                for one in traceback.extract_tb(error.__traceback__)
                if one.filename == str(self._path)
            ]
            raise _Told(
                frames[-1] if frames else update, f"{type(error).__name__}: {error}"
            ) from None
        made = space[update.name]
        _ = made.outputs  # raises
        return made


def _called(node: ast.AST) -> str:
    name = type(node).__name__.lower()
    words = {"joinedstr": "f-string", "namedexpr": ":=", "starred": "*", "classdef": "class"}
    return words.get(name, name)


def _as_floats(power: ast.BinOp) -> None:
    """Make a whole number's large power one of floats, which overflows at once: 10 ** 10 ** 10 takes for ever."""
    small = isinstance(power.right, ast.Constant) and power.right.value in range(64)
    if not small and isinstance(power.left, ast.Constant) and isinstance(power.left.value, int):
        power.left.value = float(power.left.value)


def _text(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or one like it."""
    value = getattr(statement, "value", None)
    return (
        isinstance(statement, ast.Expr)
        and isinstance(value, ast.Constant)
        and isinstance(value.value, str)
    )


def _has() -> str:
    return "it has " + ", ".join(WORDS[1:])
