"""Files that people write, held against the schemas of workflow/schemas."""

import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
from jsonschema import ValidationError

from plan import reading
from plan.reading import FileProblem, shown, strange

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"


@functools.cache
def schema(name: str) -> dict:
    """One file of workflow/schemas."""
    return reading.parse_yaml((SCHEMAS / f"{name}.schema.yaml").read_text(encoding="utf-8"))


def _whole_pattern(validator, pattern: str, instance, schema: dict) -> Iterator[ValidationError]:
    """A pattern's `$` is the end, and not what comes before a last line break."""
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"\Z"), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


# 3.0 is no integer, as what is computed with it would be none.
VALIDATOR = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {"pattern": _whole_pattern},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def problems(content, name: str) -> list[str]:
    """What is wrong with `content`, a line each: where, what, and what the key is for."""
    found = []
    errors = VALIDATOR(schema(name)).iter_errors(content)
    for error in sorted(errors, key=lambda e: list(map(str, e.path))):
        where = ".".join(map(str, error.absolute_path)) or "top level"
        about = error.schema.get("description") if isinstance(error.schema, dict) else None
        found.append(f"{where}: {shown(error.message)}" + (f" ({about})" if about else ""))
    return found


def mistakes(content, name: str) -> list[str]:
    """Likewise, of what somebody has written in YAML."""
    found = [f"{where}: {what}" for where, what in strange(content)]
    return found or problems(content, name)


def read(path: str):
    """What a YAML file holds, or a CSV file: {line: {column: text}}, without empty fields; a stop with one line if it is
    none."""
    try:
        if not path.endswith(".csv"):
            return reading.read_yaml(path)
        rows = reading.read_csv(path)
    except FileProblem as problem:
        sys.exit(str(problem))
    filled = [{key: text for key, text in row.items() if text} for row in rows]
    return {f"line {number}": row for number, row in enumerate(filled, start=2)}


def refuse(what: str, lines: Iterable[str]) -> NoReturn:
    sys.exit(f"{what} is not valid:\n" + "".join(f"  {shown(line)}\n" for line in lines))


def require_valid(path: str, name: str, more: Callable[[Any], list[str]] | None = None) -> None:
    """Stop with one line a mistake unless a YAML or CSV file is what its schema says; `more` finds what a schema
    cannot."""
    content = read(path)
    found = mistakes(content, name)
    if not found and more:
        found = more(content)
    if found:
        refuse(path, found)
