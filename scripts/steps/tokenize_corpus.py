"""Tokenize PTB as document 001's source did: one integer a word, an end-of-sentence token a line."""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from measurement.record import plainly, read_json, sha256, write_sealed

START, END = "<s>", "</s>"


def words(path: Path) -> list[str]:
    """The words of a file, each newline turned into the end-of-sentence token."""
    return path.read_text().replace("\n", f" {END} ").split()


def tokenize(folder: Path, splits: list[str]) -> tuple[dict[str, np.ndarray], list[str]]:
    """{split: int32 tokens}, and the vocabulary, whose positions the tokens are.

    The vocabulary is `<s>`, which never occurs but counts, then the training file's words by frequency
    (ties by first occurrence).
    """
    frequent = Counter(words(folder / "ptb.train.txt")).most_common()
    vocabulary = [START, *(word for word, _ in frequent)]
    index = {word: position for position, word in enumerate(vocabulary)}
    tokens = {}
    for split in splits:
        text = words(folder / f"ptb.{split}.txt")
        if unknown := next((word for word in text if word not in index), None):
            raise SystemExit(f"corpus: {split} has a word that training lacks: {unknown!r}")
        tokens[split] = np.array([index[word] for word in text], np.int32)
    return tokens, vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--source", required=True, type=Path, help="source.json beside the text files"
    )
    parser.add_argument("--stride", required=True, type=int, help="tokens from window to window")
    parser.add_argument(
        "--output", required=True, type=Path, help="corpus.json; tokens lie beside it"
    )
    arguments = parser.parse_args()
    folder = arguments.output.parent
    tokens, vocabulary = tokenize(arguments.source.parent, ["train", "valid", "test"])
    for split, values in tokens.items():
        np.save(folder / f"{split}.npy", values)
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n")
    write_sealed(
        str(arguments.output),
        {
            **read_json(str(arguments.source)),
            "tokens": {split: len(values) for split, values in tokens.items()},
            "sha256_beside": {
                f"{split}.npy": sha256(str(folder / f"{split}.npy")) for split in tokens
            },
            "vocabulary": len(vocabulary),
            "stride": arguments.stride,
        },
    )


if __name__ == "__main__":
    plainly(main)
