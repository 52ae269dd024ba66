"""What somebody has written in YAML, read strictly: what would be misread is refused with one line."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

LARGEST = 1e15  # of any number
DEEPEST = 50  # what is nested
PRINTED = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]*")  # with line breaks and tabs


class FileProblem(Exception):
    """A file cannot be read, or is not what it should be; the message is one line with its path."""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Safe YAML in which a key that stands twice is a mistake; PyYAML takes the last one."""

    def construct_mapping(self, node, deep=False):
        keys = [
            key.value for key, _ in getattr(node, "value", []) if isinstance(key, yaml.ScalarNode)
        ]
        for key in {key for key in keys if keys.count(key) > 1} - {"<<"}:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key `{key}` appears twice", node.start_mark
            )
        return super().construct_mapping(node, deep)


def parse_yaml(text: str):
    """What YAML says. Raises FileProblem."""
    try:
        return yaml.load(text, Loader)  # noqa: S506 (a SafeLoader)
    except RecursionError:
        raise FileProblem("it is nested too deeply") from None
    except Exception as error:  # PyYAML's own, and of a date such as 2026-13-45, say, Python's
        raise FileProblem(shown(str(error) or type(error).__name__)) from None


def read_yaml(path: str):
    """What a YAML file holds. Raises FileProblem."""
    try:
        return parse_yaml(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileProblem(f"{path} does not exist") from None
    except OSError as error:
        raise FileProblem(f"{path} cannot be read: {error.strerror}") from None
    except (FileProblem, UnicodeDecodeError) as error:
        raise FileProblem(f"{path} is not YAML: {error}") from None


def read_csv(path: str) -> list[dict[str, str]]:
    """The rows of a CSV file: {column: text}. Raises FileProblem."""
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            table = csv.DictReader(stream, strict=True, restkey="beyond the last column")
            rows, columns = list(table), Counter(table.fieldnames or [])
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise FileProblem(shown(f"{path} is not CSV: {error}")) from None
    if not columns:
        raise FileProblem(f"{path} is not CSV: it has no columns")
    if twice := [name for name, count in columns.items() if count > 1]:
        raise FileProblem(shown(f"{path} is not CSV: the column {twice[0]!r} appears twice"))
    return rows


def strange(content, where: tuple = (), inside: tuple = ()) -> Iterator[tuple[str, str]]:
    """(where, what is wrong) of all that YAML can say and that nothing here can mean."""
    name = ".".join(map(str, where)) or "top level"
    if len(where) > DEEPEST:
        yield name, f"it is nested more than {DEEPEST} deep"
    elif isinstance(content, dict | list):
        if any(content is other for other in inside):
            yield name, "an alias that contains itself"
            return
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in pairs:
            if isinstance(content, dict) and not isinstance(key, str):
                yield name, f"the key {key!r} is not of type 'string'; put it in quotes"
            else:
                if isinstance(key, str):
                    yield from strange(key, (*where, repr(key)))
                yield from strange(value, (*where, key), (*inside, content))
    elif isinstance(content, str) and not PRINTED.fullmatch(content):
        yield name, f"{content!r} has characters that cannot be printed"
    elif isinstance(content, int | float) and not abs(content) <= LARGEST:
        # Python prints no 5000 digits.
        said = hex(content) if isinstance(content, int) else repr(content)
        yield name, f"{said} is no number up to {LARGEST:.0e}"


def on_one_line(text: str) -> str:
    """Text on one line, of what can be printed."""
    text = " ".join(text.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shown(message: str) -> str:
    """A message on one line of what can be printed, without the middle of what is long."""
    message = on_one_line(message)
    return message if len(message) <= 600 else f"{message[:300]} ... {message[-280:]}"
