"""All documents' conclusions on one page: where each holds on this machine."""

from collections.abc import Iterator

from reporting.blocks import Block, Table
from reporting.sections.conclusions import MISSING, Answer, analyse, said

__all__ = ["Answer", "analyse", "write"]


def write(answer: Answer) -> Iterator[Block]:
    rows = [
        [
            each.told,
            said(each.published),
            "needs a GPU" if each.now.verdict == MISSING and each.gpu else each.now.verdict,
        ]
        for each in answer.claims
    ]
    yield Table(["The document says", "By its own numbers", "Here"], rows)
