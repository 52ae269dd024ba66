"""Whether a text can be measured on: its tokens, and the sizes of the benchmarks that read it."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from datasets import TextProblem
from measurement.record import read_json

if TYPE_CHECKING:
    from plan.planner import Plan


def words(
    dataset: ModuleType, contents: Mapping[str, bytes], names: Mapping[str, str]
) -> tuple[dict[str, list[str]], list[str]]:
    """{split: its tokens} of a text's files, and the vocabulary; names: {split: name of its file}, for messages. Raises
    TextProblem where a file is empty or not UTF-8, or has a word that training lacks."""
    texts = {split: dataset.tokens(content, names[split]) for split, content in contents.items()}
    vocabulary = dataset.vocabulary(texts["train"])
    known = set(vocabulary)
    for split, found in texts.items():
        if unknown := next((word for word in found if word not in known), None):
            raise TextProblem(
                f"{names[split]} has a word that training lacks: {unknown!r}; replace rare words by <unk>"
            )
    return texts, vocabulary


def counts(dataset: ModuleType, contents: Mapping[str, bytes], names: Mapping[str, str]) -> dict:
    """{"tokens": {split: number}, "vocabulary": number} of a text's files. Raises as `words`."""
    texts, vocabulary = words(dataset, contents, names)
    sizes = {split: len(found) for split, found in texts.items()}
    return {"tokens": sizes, "vocabulary": len(vocabulary)}


def require_fits(
    counted: Mapping,
    names: Mapping[str, str],
    benchmarks: Mapping[str, Mapping],
    trained: Iterable[str],
    stride: int,
) -> None:
    """Raise TextProblem where a text's vocabulary is larger than that of a benchmark that reads it, or the text shorter
    than a batch. counted: what `counts` returns; benchmarks: {name: sizes} of language models; trained: those with
    training runs, which read the validation text, too; stride: tokens from the start of a window to the next."""
    for name, sizes in benchmarks.items():
        if counted["vocabulary"] > sizes["vocabulary"]:
            raise TextProblem(
                f"{names['train']} has {counted['vocabulary']:,} different words, benchmark {name} has a vocabulary of "
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
                    f"{names[split]} has {counted['tokens'][split]:,} tokens, a batch of benchmark {name} takes {wanted:,}; "
                    "use a longer text"
                )


def require_fitting(plan: "Plan") -> None:
    """Stop with one line if a folder's text is not the wanted one, or if the text, where it is known yet, cannot be read
    or does not fit the benchmarks that a run measures on it."""
    documents, corpus = plan.config["documents"], plan.corpus
    corpus.require_files()
    cells = (cell for document in documents for cell in plan.cells(document))
    read = {cell.benchmark for cell in cells if plan.reads_text(cell.benchmark)}
    names = {split: str(file) for split, file in corpus.files.items()}
    sizes = {name: plan.benchmarks[name] for name in sorted(read)}
    try:
        if read and (counted := _counted(plan, names)):
            trained = {job.cell.benchmark for name in documents for job in plan.convergences(name)}
            require_fits(counted, names, sizes, trained, corpus.config["stride"])
    except TextProblem as problem:
        whose = "path" if corpus.config["path"] else f"dataset {corpus.config['dataset']}"
        sys.exit(f"corpus.{whose}: {problem}")


def _counted(plan: "Plan", names: Mapping[str, str]) -> dict:
    """What `counts` returns of a run's text; {} where neither its tokens nor its files are there yet."""
    tokens, files = plan.corpus_job(), plan.corpus.files
    found = read_json(tokens.path) if tokens.done() else {}
    if "vocabulary" in found:
        return found
    if not plan.corpus.known or not all(map(Path.is_file, files.values())):
        return {}
    contents = {split: file.read_bytes() for split, file in files.items()}
    return counts(plan.corpus.dataset, contents, names)
