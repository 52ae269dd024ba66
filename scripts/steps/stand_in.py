"""A deterministic stand-in for PTB: its size and Zipf-like statistics, none of its text.

For machines that reach none of PTB's hosts. Every report made from it says so.
"""

import numpy as np

# Lines and tokens (end-of-sentence included) of the real files; 9,999 word types in the training file.
SIZES = {"train": (42_068, 929_589), "valid": (3_370, 73_760), "test": (3_761, 82_430)}
WORD_TYPES = 9_999
# Zipf-Mandelbrot constants fitted to the training file's frequencies at ranks from 1 to 8,000.
EXPONENT, OFFSET = 1.09, 1.9


def split(name: str) -> str:
    """The text of one split, one sentence a line."""
    lines, tokens = SIZES[name]
    # Raw generator output and our own inverse transform: the distributions of numpy.random.Generator
    # may change between releases, the raw stream of a bit generator may not.
    generator = np.random.PCG64(sorted(SIZES).index(name))
    words = tokens - lines
    uniform = (generator.random_raw(words) >> np.uint64(11)) * 2.0**-53
    weights = 1.0 / (np.arange(1, WORD_TYPES + 1) + OFFSET) ** EXPONENT
    ranks = np.searchsorted(np.cumsum(weights / weights.sum()), uniform).clip(max=WORD_TYPES - 1)
    if name == "train":  # every type occurs, as in the real file; it is the vocabulary
        ranks[:: words // WORD_TYPES][:WORD_TYPES] = np.arange(WORD_TYPES)
    cuts = (generator.random_raw(words - 1) >> np.uint64(11)).argsort()[: lines - 1] + 1
    sentences = np.split(ranks, np.sort(cuts))
    return "".join(" " + " ".join(f"w{rank:04d}" for rank in ranks) + " \n" for ranks in sentences)
