"""Whether a text can be measured on: its tokens, and the sizes of the benchmarks that read it."""

import sys
from collections.abc import Container, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

from datasets import TextProblem
from measurement.record import read_json

if TYPE_CHECKING:
    from plan.planner import Plan


def require_known(found: Iterable[str], known: Container[str], name: str) -> None:
    """Raise TextProblem where a file of this name has a token that is not among the known ones."""
    if unknown := next((word for word in found if word not in known), None):
        raise TextProblem(
            f"{name} has a word that training lacks: {unknown!r}; replace rare words by <unk>"
        )


def counts(dataset: ModuleType, contents: Mapping[str, bytes], names: Mapping[str, str]) -> dict:
    """{"tokens": {split: number}, "vocabulary": number} of a text's files.

    Raises
    ------
    TextProblem : a file is empty or not UTF-8, or has a word that training lacks
    """
    texts = {split: dataset.tokens(content, names[split]) for split, content in contents.items()}
    known = set(dataset.vocabulary(texts["train"]))
    for split, found in texts.items():
        require_known(found, known, names[split])
    sizes = {split: len(found) for split, found in texts.items()}
    return {"tokens": sizes, "vocabulary": len(known)}


def require_fits(
    counted: Mapping,
    names: Mapping[str, str],
    benchmarks: Mapping[str, Mapping],
    trained: Iterable[str],
    stride: int,
) -> None:
    """Check a text's sizes against the benchmarks that read it.

    Parameters
    ----------
    counted : what `counts` returns
    names : {split: name of its file}, for messages
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


def require_own_text(plan: "Plan") -> None:
    """Stop with one line, before anything runs, if a folder's text is not the wanted one, cannot be read, or does not
    fit the benchmarks that a run measures on it."""
    documents, contents = plan.config["documents"], plan.corpus.require_files()
    cells = (cell for document in documents for cell in plan.cells(document))
    read = {cell.benchmark for cell in cells if plan.reads_text(cell.benchmark)}
    if not contents or not read:
        return
    trained = {job.cell.benchmark for name in documents for job in plan.convergences(name)}
    tokens, folder = plan.corpus_job(), plan.corpus.config["path"]
    names = {split: f"{folder}/{plan.corpus.file(split)}" for split in contents}
    sizes = {name: plan.benchmarks[name] for name in sorted(read)}
    counted = read_json(tokens.path) if tokens.done() else {}
    try:
        if "vocabulary" not in counted:
            counted = counts(plan.corpus.dataset, contents, names)
        require_fits(counted, names, sizes, trained, plan.config["corpus"]["stride"])
    except TextProblem as problem:
        sys.exit(f"corpus.path: {problem}")
