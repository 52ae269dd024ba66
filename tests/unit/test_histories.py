"""The page of a package's releases."""

import math
from types import SimpleNamespace

import pytest

from commands import history
from reporting import histories


def step(before: str, after: str, ratio: float, verdict: str) -> dict:
    row = {"cell": "a/b", "before_s": 0.01, "ratio": ratio, "verdict": verdict}
    row |= {"low": ratio / 1.03, "high": ratio * 1.03}
    versions = {
        name: SimpleNamespace(version=v) for name, v in (("before", before), ("after", after))
    }
    about = {"errors": [], "statuses": [], "machine": "m", "relevant": 0.03}
    return {**versions, **about, "cells": [row]}


def test_a_change_is_named_with_its_release_and_ratios_multiply() -> None:
    steps = [step("1.0", "1.1", 1.0, "same"), step("1.1", "1.2", 1.2, "regression")]
    text = histories.rendered("abacus", steps, {"1.3": "no | wheel"})
    changes = text[text.index("## Where") : text.index("## All")]
    assert [line for line in changes.splitlines() if "`a/b`" in line] == [
        "| 1.2 | `a/b` | **1.200 [1.165, 1.236]** |"
    ]
    assert "| `a/b` | 10 | 1.000 [0.971, 1.030] | **1.200" in text
    assert "| 1.3 | no \\| wheel |" in text
    found = histories.product([one["cells"][0] for one in steps])
    assert found["ratio"] == pytest.approx(1.2)
    assert math.log(found["high"] / 1.2) == pytest.approx(math.sqrt(2) * math.log(1.03))
    assert histories.product([None, steps[0]["cells"][0]]) is None


@pytest.mark.parametrize(("package", "since"), [("numpy", ""), ("", "1"), ("numpy", "x")])
def test_a_package_and_a_version_are_needed(
    package: str, since: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "begin", lambda parent: None)
    monkeypatch.setattr("sys.argv", ["history", package, "--since", since, "--configfile", "x"])
    with pytest.raises(SystemExit) as stopped:
        history.main()
    assert stopped.value.code == 2
