"""What pages say of published numbers that contradict themselves: where the document stands, and which verdict it changes."""

import pandas as pd
import pytest

from plan import matrix
from reporting import summary, words
from reporting.sections import Tables, contradictions

NOTHING = Tables(pd.DataFrame(), pd.DataFrame(), pd.DataFrame())
DOCUMENT = matrix.document("stacked-lm")
CLAIMS = [claim for claim in matrix.claims() if claim["document"] == "stacked-lm"]
NAMES = words.names(matrix.implementations())
ABOUT = {"name": "stacked-lm", "document": DOCUMENT, "claims": CLAIMS, "names": NAMES}


def test_every_contradiction_says_where_its_document_stands() -> None:
    found = contradictions.analyse(NOTHING, ABOUT)
    assert {row["cited"] for row in found["rows"]} == {
        f"[{number}]({link})" for number, link in DOCUMENT["origin"]["links"].items()
    }


@pytest.mark.parametrize("name", matrix.documents())
def test_published_documents_have_a_link_a_number(name: str) -> None:
    origin = matrix.document(name).get("origin", {"numbers": []})
    assert [*origin.get("links", {})] == origin["numbers"]


def test_a_document_that_nobody_finds_says_so() -> None:
    assert words.cited("9", {"numbers": ["9"]}) == "9 (in nobody's reach)"


def test_a_machine_keeps_its_name_beside_a_document_of_which_nothing_was_measured() -> None:
    facts = {"cpu": {"Model name": "Abacus 9000"}, "cores": 2, "gpus": []}
    measured, none = ({"machines": [{"machine": "m", "facts": each}]} for each in (facts, None))
    assert summary.machine_names([measured, none]) == summary.machine_names([none, measured])
    assert summary.machine_names([measured, none]) != summary.machine_names([none])
