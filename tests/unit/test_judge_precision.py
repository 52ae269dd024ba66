"""Further processes go to wide intervals, and to both sides of what is undecided, within the time there is."""

from dataclasses import asdict, replace

import pytest

from measurement.record import read_json, write_json, write_sealed
from plan import matrix
from plan.matrix import Measurement
from stats import samples
from steps import judge_precision

PROTOCOL = {"processes": 3, "target_interval": 0.5, "most_processes": 8, "further_s": None}
ROWS = ["x/a", "x/b", "x/c"]
CLAIM = {
    **{"name": "c", "document": "d", "lines": "1", "statement": "s", "above": 1},
    "for": {"benchmark": "b", "phase": "training", "device": "cpu"},
    "ratios": {"r": {"of": {"implementation": "x/a"}, "to": {"implementation": "x/b"}}},
}


def cell(name: str, environment: str = "now") -> Measurement:
    return Measurement("b", name, environment, "training", "cpu")


def records(*medians: float, status: str = "ok") -> list[dict]:
    shape = {"batch": 20, "length": 10, "vocabulary": 100}
    return [
        {"status": status, "samples": [each] * 3, "benchmark": shape, "seconds": 2.0}
        | {"faults": [0] * 3, "machine": {"cores": 2}}
        for each in medians
    ]


NEAR = {cell("x/a"): records(1.0, 1.06, 1.03), cell("x/b"): records(1.0, 1.01, 1.02)}
FAR = {cell("x/a", "x-2019"): records(3.0, 3.06, 3.03), cell("x/b", "x-2019"): records(1, 1.01, 1)}
OLD = {replace(each, environment="x-2019"): own for each, own in NEAR.items()}
FINDING = CLAIM | {"finding": {"means": "m", "refuted_by": "r"}}


def wanted(cells: dict, claims: list[dict], rows: list[str], **protocol: object) -> dict:
    """How many processes each cell needs."""
    return judge_precision.of_document(cells, claims, rows, PROTOCOL | protocol)


def test_both_sides_of_an_undecided_claim() -> None:
    """In one generation; in another the same claim is decided. A cell that is in no claim needs nothing."""
    cells = NEAR | FAR | {cell("x/c"): records(1.0, 1.06, 1.03)}
    found = wanted(cells, [CLAIM], [])
    assert found == dict.fromkeys(NEAR, 8) | dict.fromkeys(FAR, 3) | {cell("x/c"): 3}
    assert wanted(cells, [], []) == dict.fromkeys(cells, 3)


def test_a_wide_interval_needs_them_without_a_claim_unless_it_is_far_from_all_others() -> None:
    assert wanted({cell("x/a"): records(1.0, 1.5, 2.0)}, [], []) == {cell("x/a"): 8}
    cells = {cell("x/a"): records(11.0, 15.0, 22.0), cell("x/b"): records(1.0, 1.01, 1.02)}
    assert wanted(cells, [], []) == dict.fromkeys(cells, 3)


def test_what_other_cells_tell_of_noise_counts() -> None:
    """Three processes that lie apart by luck, beside eleven cells whose processes do not."""
    others = {cell(f"x/{n}"): records(1.0, 1.01, 1.02 + n / 1000) for n in range(11)}
    wide = {cell("x/a"): records(1.0, 1.1, 1.2)}
    alone, among = (wanted(cells, [], [], target_interval=0.25) for cells in (wide, wide | others))
    assert 3 < among[cell("x/a")] < alone[cell("x/a")]


def test_which_row_to_use_is_worth_some_too() -> None:
    cells = NEAR | {cell("x/c"): records(2.0, 2.01, 2.02)}
    assert wanted(cells, [], ROWS) == dict.fromkeys(NEAR, 8) | {cell("x/c"): 3}


def test_nobody_asks_which_row_of_an_old_framework_or_of_a_departure_to_use() -> None:
    departed = {
        each: [one | {"benchmark": one["benchmark"] | {"baseline": "a"}} for one in own]
        for each, own in NEAR.items()
    }
    for cells in (OLD, departed):
        assert wanted(cells, [], ROWS) == dict.fromkeys(cells, 3)


def test_a_claim_that_lacks_a_number_is_not_waited_for() -> None:
    cells = {cell("x/a"): records(1.0, 1.06, 1.03), cell("x/b"): records(1, 1, 1, status="failed")}
    assert set(wanted(cells, [CLAIM], []).values()) == {3}


@pytest.mark.parametrize(("claim", "further_s"), [(CLAIM, 20), (FINDING, None)])
def test_verdicts_on_the_frameworks_of_today_come_first(claim: dict, further_s: int | None) -> None:
    """Of a claim that is as undecided then as now, where there is time for one: 20 s. A finding speaks of now alone."""
    found = wanted(OLD | NEAR, [claim], [], target_interval=None, further_s=further_s)
    assert found == dict.fromkeys(OLD, 3) | dict.fromkeys(NEAR, 8)


def test_what_a_document_concludes_and_what_was_found_beside_it(tmp_path, monkeypatch) -> None:
    """A run asks for both. The only statement here that its document has is a finding."""
    entries = []
    for at, (each, own) in enumerate(NEAR.items()):
        paths = [f"{at}-{number}.json" for number in range(len(own))]
        for path, record in zip(paths, own, strict=True):
            write_json(str(tmp_path / path), record)
        entries.append(asdict(each) | {"records": paths})
    manifest = {"document": "d", "cells": entries}
    manifest["protocol"] = PROTOCOL | {"target_interval": None}
    write_json(str(tmp_path / "first.json"), manifest)
    monkeypatch.setattr(matrix, "statements", lambda: (FINDING, FINDING | {"document": "e"}))
    monkeypatch.setattr(judge_precision, "RESULTS", tmp_path)
    output = tmp_path / "processes.json"
    arguments = ["--manifest", str(tmp_path / "first.json"), "--output", str(output)]
    monkeypatch.setattr("sys.argv", ["judge_precision", *arguments])
    judge_precision.main()
    assert read_json(str(output)) == {each.name: 8 for each in NEAR}


@pytest.mark.parametrize(
    ("beside", "most", "count"),
    [
        ({4: "p", 5: "p"}, 8, 5),
        ({4: "p", 5: "p"}, 4, 4),  # a protocol that has fewer at most
        ({4: "p", 6: "p"}, 8, 4),  # one was lost
        ({4: "another protocol"}, 8, 3),
        ({4: "p", 5: None}, 8, 4),  # damaged
    ],
)
def test_processes_of_an_earlier_run_are_kept(tmp_path, monkeypatch, beside, most, count) -> None:
    monkeypatch.setattr(judge_precision, "RESULTS", tmp_path)
    paths = [f"now/training-cpu-{number}.{number}abc.json" for number in (1, 2, 3)]
    for number, parts in beside.items():
        path = tmp_path / f"now/training-cpu-{number}.{number}def.json"
        write_sealed(str(path), {"parts": {"protocol": parts}})
        if parts is None:
            path.write_text(path.read_text()[:-9])
    assert len(judge_precision.kept(paths, {"parts": {"protocol": "p"}}, most)) == count


def test_words_per_second_are_of_the_same_processes() -> None:
    claim = CLAIM | {"for": CLAIM["for"] | {"quantity": "words_per_s"}}
    assert wanted(NEAR, [claim], []) == dict.fromkeys(NEAR, 8)
    (number,) = (
        n
        for key, n in judge_precision.numbers(samples.measured(NEAR), NEAR).items()
        if key[1] == "x/a" and key[-1] == "words_per_s"
    )
    assert number.value == pytest.approx(200 / 1.03)
