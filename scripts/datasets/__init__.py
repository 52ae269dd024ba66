"""Texts that language models are measured on, a module each. Another text is one more module and `corpus.dataset`.

A module has

    TITLE                    its name in messages and on pages
    FILE                     the name of a split's file, with {split}
    MIRRORS                  addresses of these files, with {split}, tried in order
    SHA256                   {split: digest of its file}, of train, valid and test
    MAX_BYTES                no file is larger
    tokens(content, name)    a file's bytes as a list of tokens; name: for messages; raises TextProblem
    vocabulary(train)        the tokens in the order of their numbers, of those of the training split
    stand_in(split)          synthetic text of its size and statistics; of a generated text, which has no MIRRORS, the text itself:
                             corpus.stand_in allows it
"""

import importlib
import pkgutil
from types import ModuleType


class TextProblem(Exception):
    """A text is unusable; the message names the file or the benchmark and the remedy."""


def names() -> list[str]:
    """The data sets there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> ModuleType:
    """A data set by its name."""
    return importlib.import_module(f"datasets.{name}")


def decoded(content: bytes, name: str) -> str:
    """The text of a file of these bytes; name: for messages. Raises TextProblem where it is not plain UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TextProblem(
            f"{name}, line {line}: not UTF-8; convert it: iconv -f {_coding(content)} -t utf-8"
        ) from None
    for character, what in (("\ufeff", "a byte order mark"), ("\0", "a NUL character")):
        if character in text:
            line = text.count("\n", 0, text.index(character)) + 1
            raise TextProblem(f"{name}, line {line}: {what}; save it as plain UTF-8 without one")
    return text


def _coding(content: bytes) -> str:
    """What a file that is not UTF-8 is likely to be, as iconv names it."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        content.decode("cp1252")  # latin1, but for bytes from 0x80 to 0x9f: curly quotes, dashes
    except UnicodeDecodeError:
        return "latin1"
    return "cp1252"
