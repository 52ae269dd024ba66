"""Verdicts on the documents' claims: on their own numbers, and on those of generations and machines."""

import pandas as pd
import pytest

from plan import matrix
from reporting import consistency
from reporting.published import numbers as published_numbers
from stats import verdicts
from stats.claims import FAILS, HOLDS, MISSING
from tests.unit.test_claims import cell


def test_measured_numbers_by_generation_and_machine() -> None:
    others = ["tensorflow/eager-cell", "pytorch/cell", "pytorch/cell-jit"]
    table = [cell("tensorflow/graph-cell", "tensorflow", "one", 1.0)]
    table += [cell(name, name.partition("/")[0], "one", 2.0) for name in others]
    table += [cell("tensorflow/graph-cell", "tensorflow-2019", "one", 3.0)]
    table += [cell(name, f"{name.partition('/')[0]}-2019", "one", 2.0) for name in others]
    table += [cell("tensorflow/graph-cell", "tensorflow", "two", 1.0, status="failed")]
    (claim,) = [c for c in matrix.claims() if c["name"] == "graph-trains-fastest-on-cpu"]
    claim = claim | {"ratios": {"cell kernel": claim["ratios"]["cell kernel"]}}
    (group,) = verdicts.by_document([claim], pd.DataFrame(table), [])
    assert group["sources"] == ["001", "000", "2019, one", "now, one", "now, two"]
    found = {source: each["verdict"] for source, each in group["claims"][0]["verdicts"].items()}
    assert found == {
        **{"001": HOLDS, "000": MISSING},
        **{"2019, one": FAILS, "now, one": HOLDS, "now, two": MISSING},
    }


NOTHING = pd.DataFrame([cell("none", "none", "none", 1.0)]).iloc[:0]


@pytest.fixture(scope="module")
def published() -> dict[str, dict]:
    """{name of a claim: its verdicts on the published numbers}"""
    contradictions = consistency.contradictions(matrix.published_files("*"))
    groups = verdicts.by_document(matrix.claims(), NOTHING, contradictions)
    return {claim["name"]: claim["verdicts"] for group in groups for claim in group["claims"]}


@pytest.mark.parametrize(
    ("name", "document", "verdict", "value"),
    [
        ("eager-operators-slower-on-gpu", "001", HOLDS, 5.6337 / 5.2381),  # lines 110 and 95
        ("eager-cell-slower-on-gpu", "001", FAILS, 1.1988 / 1.2225),  # lines 147 and 134
        ("lead-over-eager-larger-on-cpu", "001", FAILS, (1.5050 / 0.4266) / (1.6109 / 0.0590)),
        # To four decimals, PyTorch JIT and TF Graph take the same 0.0590 s: no difference.
        ("pytorch-forward-faster-on-gpu", "001", FAILS, 1.0),
        ("jit-faster-on-gpu", "000", MISSING, None),
        ("time-linear-in-depth", "002", HOLDS, 0.930),
        ("cudnn-faster-than-loops", "003", MISSING, None),  # charts without numbers
        ("cudnn-twice-as-fast-as-basic", "004", HOLDS, 32000 / 15000),  # lines 42 and 40
    ],
)
def test_published_verdicts(
    published, name: str, document: str, verdict: str, value: float | None
) -> None:
    """Worked out by hand from the documents' tables."""
    found = published[name][document]
    values = [case["value"] for case in found["cases"] if "value" in case]
    assert found["verdict"] == verdict
    assert pytest.approx(value, rel=1e-3) in values if value else not values


def test_a_verdict_that_rests_on_a_contradiction_says_so(published) -> None:
    assert published["eager-operators-slower-on-gpu"]["001"]["corrected"] == FAILS
    assert "corrected" not in published["graph-trains-fastest-on-gpu"]["001"]


def test_a_benchmark_by_the_name_that_a_document_has_for_it() -> None:
    """Weak scaling: document 004 counts a full batch for each GPU, which is another benchmark here."""
    (claim,) = [c for c in matrix.claims() if c["name"] == "second-gpu-pays"]
    sides = {
        "of": {"implementation": "tensorflow/data-parallel", "benchmark": "twice"},
        "to": {"implementation": "tensorflow/graph-unrolled", "benchmark": "ptb-small"},
    }
    claim = claim | {"ratios": {"two GPUs to one": sides}}
    (path,) = matrix.published_files("cudnn-lstm-ptb")
    printed = published_numbers([path])
    assert verdicts.decide_published(claim, printed, [])["verdict"] == MISSING
    claim |= {"published_as": {"twice": "ptb-tutorial", "ptb-small": "ptb-tutorial"}}
    found = verdicts.decide_published(claim, printed, [])
    assert found["verdict"] == HOLDS
    assert found["cases"][0]["value"] == pytest.approx(25000 / 15000)  # lines 50 and 40


def test_what_follows_from_a_contradiction() -> None:
    """One that changes a verdict, one that is plainly wrong and changes none, one within rounding."""
    contradictions = consistency.contradictions(matrix.published_files("*"))
    found = verdicts.consequences(matrix.claims(), contradictions)
    by_line = {(entry["document"], entry["line"]): entry for entry in found}
    assert by_line["001", 94]["consequence"] == "verdict"
    changed = {change["claim"]: change for change in by_line["001", 94]["changes"]}
    assert changed["eager-operators-slower-on-gpu"]["corrected"] == FAILS
    assert by_line["000", 114]["consequence"] == by_line["003", 66]["consequence"] == "number"
    # A rate, which the time of a batch contradicts: nothing shows which of the two is wrong.
    assert by_line["004", 42]["consequence"] == "either"
    assert by_line["000", 91]["consequence"] == "rounding"
    assert not by_line["000", 114]["changes"]


@pytest.mark.parametrize("either", [False, True])
def test_a_number_is_corrected_only_where_it_is_known_to_be_the_wrong_one(either: bool) -> None:
    (claim,) = [c for c in matrix.claims() if c["name"] == "graph-trains-fastest-on-cpu"]
    numbers = published_numbers(matrix.published_files("stacked-lm"))
    wrong = numbers[
        (numbers["implementation"] == "tensorflow/graph-cell")
        & (numbers[["phase", "device", "quantity"]] == ["training", "cpu", "wall_s"]).all(axis=1)
    ]
    entry = wrong.iloc[0].to_dict() | {"either": either, "consistent": 100.0}
    assert ("corrected" in verdicts.decide_published(claim, numbers, [entry])) == (not either)
