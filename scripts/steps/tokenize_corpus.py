"""Tokenize a text: one integer a token, as its data set divides it."""

import argparse
from pathlib import Path
from types import ModuleType

import numpy as np

import datasets
from datasets import TextProblem
from measurement.record import plainly, read_json, sha256, write_sealed
from plan import text


def tokenize(
    dataset: ModuleType, folder: Path, splits: list[str]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """{split: int32 tokens}, and the vocabulary, whose positions the tokens are."""
    files = {split: folder / dataset.FILE.format(split=split) for split in splits}
    contents = {split: file.read_bytes() for split, file in files.items()}
    texts, vocabulary = text.words(dataset, contents, {split: str(files[split]) for split in files})
    index = {word: position for position, word in enumerate(vocabulary)}
    tokens = {
        split: np.array([index[word] for word in words], np.int32) for split, words in texts.items()
    }
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
    folder, source = arguments.output.parent, read_json(str(arguments.source))
    dataset = datasets.load(source["dataset"])
    try:
        tokens, vocabulary = tokenize(dataset, arguments.source.parent, ["train", "valid", "test"])
    except TextProblem as problem:
        raise SystemExit(f"corpus: {problem}") from None
    for split, values in tokens.items():
        np.save(folder / f"{split}.npy", values)
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n")
    write_sealed(
        str(arguments.output),
        {
            **source,
            "title": dataset.TITLE,
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
