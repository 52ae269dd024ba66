"""What pages say of published numbers that contradict themselves: where the document stands, and which verdict it changes."""

import pandas as pd

from plan import matrix
from reporting import words
from reporting.sections import Tables, contradictions

NOTHING = Tables(pd.DataFrame(), pd.DataFrame())
DOCUMENT = matrix.document("stacked-lm")
CLAIMS = [claim for claim in matrix.claims() if claim["document"] == "stacked-lm"]
NAMES = words.names(matrix.implementations())
ABOUT = {"name": "stacked-lm", "document": DOCUMENT, "claims": CLAIMS, "names": NAMES}


def test_every_contradiction_says_where_its_document_stands() -> None:
    found = contradictions.analyse(NOTHING, ABOUT)
    rows = [row for group in found.numbers.values() for row in group]
    assert {row.cited for row in rows} == {*DOCUMENT["origin"]["links"]}


def test_of_two_numbers_neither_is_called_wrong_where_nothing_shows_which() -> None:
    document = matrix.document("cudnn-lstm-ptb")
    claims = [claim for claim in matrix.claims() if claim["document"] == "cudnn-lstm-ptb"]
    about = ABOUT | {"name": "cudnn-lstm-ptb", "document": document, "claims": claims}
    numbers = contradictions.analyse(NOTHING, about).numbers
    found = {key: [each.line for each in group] for key, group in numbers.items() if group}
    assert found == {"either": [42]} and not numbers["either"][0].changes
