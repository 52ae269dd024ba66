"""Whether a text can be measured on: its encoding, its words, and the sizes of the benchmarks that read it."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping

START, END = "<s>", "</s>"


class TextProblem(Exception):
    """A text is unusable; the message names the split or the benchmark and the remedy."""


def words(content: bytes, name: str) -> list[str]:
    """The words of a file: separated by ASCII white space, each newline an end-of-sentence token.

    Parameters
    ----------
    content : the file's bytes
    name : the file's name, for messages

    Raises
    ------
    TextProblem : where it is not plain UTF-8
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TextProblem(
            f"{name}, line {line}: not UTF-8; convert it: iconv -f latin1 -t utf-8"
        ) from None
    for character, what in (("\ufeff", "a byte order mark"), ("\0", "a NUL character")):
        if character in text:
            line = text.count("\n", 0, text.index(character)) + 1
            raise TextProblem(f"{name}, line {line}: {what}; save it as plain UTF-8 without one")
    # Not str.split(): a non-breaking space belongs to a word.
    return re.findall(r"[^ \t\n\r\f\v]+", text.replace("\n", f" {END} "))


def vocabulary(train: Iterable[str]) -> list[str]:
    """`<s>`, which counts even where it does not occur, then the training words by frequency (ties by first occurrence)."""
    frequent = (word for word, _ in Counter(train).most_common())
    return [START, *(word for word in frequent if word != START)]


def require_known(found: Iterable[str], known: Container[str], name: str) -> None:
    """Raise TextProblem where a file of this name has a word that is not among the known ones."""
    if unknown := next((word for word in found if word not in known), None):
        raise TextProblem(
            f"{name} has a word that training lacks: {unknown!r}; replace rare words by <unk>"
        )


def counts(contents: Mapping[str, bytes], names: Mapping[str, str]) -> dict:
    """{"tokens": {split: number}, "vocabulary": number} of a text's files.

    Raises
    ------
    TextProblem : a file is empty or not UTF-8, or has a word that training lacks
    """
    texts = {split: words(content, names[split]) for split, content in contents.items()}
    for split, found in texts.items():
        if all(word == END for word in found):
            raise TextProblem(f"{names[split]} has no words")
    known = set(vocabulary(texts["train"]))
    for split, found in texts.items():
        require_known(found, known, names[split])
    sizes = {split: len(found) for split, found in texts.items()}
    return {"tokens": sizes, "vocabulary": len(known)}


def require_fits(
    counted: Mapping, benchmarks: Mapping[str, Mapping], trained: Iterable[str], stride: int
) -> None:
    """Check a text's sizes against the benchmarks that read it.

    Parameters
    ----------
    counted : what `counts` returns
    benchmarks : {name: sizes} of language models
    trained : the benchmarks with training runs, which read the validation text, too
    stride : tokens from the start of a window to the next

    Raises
    ------
    TextProblem : the vocabulary is larger than a benchmark's, or the text is shorter than a batch
    """
    for name, sizes in benchmarks.items():
        if counted["vocabulary"] > sizes["vocabulary"]:
            raise TextProblem(
                f"the text has {counted['vocabulary']:,} different words, benchmark {name} has a vocabulary of "
                f"{sizes['vocabulary']:,}; replace rare words by <unk>"
            )
        batch, length = sizes["batch"], sizes["length"]
        carried = sizes.get("state") == "carried"
        # Streams side by side, with a target after the last token; or windows `stride` apart.
        wanted = batch * (length + 1) if carried else length + 1 + stride * (batch - 1)
        read = ("train", "valid") if name in set(trained) else ("train",)
        for split in read:
            if counted["tokens"][split] < wanted:
                raise TextProblem(
                    f"{split} has {counted['tokens'][split]:,} tokens, a batch of benchmark {name} takes {wanted:,}"
                )
