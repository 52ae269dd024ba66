"""What pages say of published numbers that contradict themselves: where the document stands, and which verdict it changes."""

import pandas as pd
import pytest

from plan import matrix
from reporting import page, summary, words
from reporting.sections import Tables, contradictions, machines, wrong_numbers

NOTHING = Tables(pd.DataFrame(), pd.DataFrame(), pd.DataFrame())
DOCUMENT = matrix.document("stacked-lm")
CLAIMS = [claim for claim in matrix.claims() if claim["document"] == "stacked-lm"]
NAMES = words.names(matrix.implementations())
ABOUT = {"name": "stacked-lm", "document": DOCUMENT, "claims": CLAIMS, "names": NAMES}


def test_a_wrong_number_names_the_verdict_that_it_changes() -> None:
    data = wrong_numbers.merge([wrong_numbers.analyse(NOTHING, ABOUT)])
    first, *others = data["matter"]
    assert not any(row["changed"] for row in others)
    change, more = first["changes"]
    (claim,) = [claim for claim in CLAIMS if claim["name"] == change["claim"]]
    assert first["changed"].startswith(f"[{claim['statement'].rstrip('.')}](#")
    part = {"section": "wrong_numbers", "title": "Wrong", "data": data, "figure": None}
    about = {"machine_names": {}, "preliminary": False, "stand_in": False, "introduction": []}
    text = page.markdown("A page", about, [part])
    assert "It changes 2 verdicts: " in text and f"(claims.md#{more['claim']})" in text
    assert f"*{change['verdict']}* as printed, *{change['corrected']}* if corrected" in text
    assert f"[001]({DOCUMENT['origin']['links']['001']})" in text


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


def test_states_of_one_document_are_not_counted_as_documents() -> None:
    def of(*numbers: str) -> dict:
        origin = {"numbers": list(numbers)} if numbers else None
        return {"origin": origin, "machines": [], "noise": []}

    assert "of 2 published benchmark documents (001 and 000 are states of one)." in summary.of_all(
        [of("001", "000"), of("002"), of()]
    )
    assert "of 1 published benchmark document." in summary.of_all([of("002")])


def test_how_noisy_machines_were_is_said_once() -> None:
    """Of one machine its counts; of several from where to where, and a line each on the machines' page, in their order."""

    def of(machine: str, disturbed: int, noisy: int) -> dict:
        facts = {"machine": machine, "facts": None, "origin": None, "environments": {}}
        facts |= {"how": "", "corpus": None, "days": [], "commits": []}
        counts = {"machine": machine, "processes": 10, "rows": 5}
        noise = [counts | {"disturbed": disturbed, "noisy": noisy}]
        return {"name": "a", "origin": None, "machines": [facts], "noise": noise}

    assert summary.noise_words([of("z", 0, 0)]) == ""
    assert summary.noise_words([of("z", 2, 1)]).startswith("The machine was noisy: 2 of 10 ")
    both = [of("z", 2, 1), of("z", 4, 0), of("a", 5, 3)]
    assert summary.noise_words(both).startswith("All of them were noisy: 30 to 50 % of their ")
    assert summary.noise_words([*both[:2], of("a", 0, 0)]).startswith("z was noisy: 30 % of its ")
    lines = [(line["machine"], line["disturbed"]) for line in machines.of_summaries(both)["noise"]]
    assert lines == [("z", 6), ("a", 5)]


def test_a_machine_keeps_its_name_beside_a_document_of_which_nothing_was_measured() -> None:
    facts = {"cpu": {"Model name": "Abacus 9000"}, "cores": 2, "gpus": []}
    measured, none = ({"machines": [{"machine": "m", "facts": each}]} for each in (facts, None))
    assert summary.machine_names([measured, none]) == summary.machine_names([none, measured])
    assert summary.machine_names([measured, none]) != summary.machine_names([none])
