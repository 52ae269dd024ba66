"""The page of a package's releases; tests/workflow/test_bump.py makes one."""

import math

import pytest

from commands import history
from reporting import histories


def test_ratios_of_releases_multiply() -> None:
    steps = [{"ratio": ratio, "low": ratio / 1.03, "high": ratio * 1.03} for ratio in (1.0, 1.2)]
    found = histories.product(steps)
    assert found["ratio"] == pytest.approx(1.2)
    assert math.log(found["high"] / 1.2) == pytest.approx(math.sqrt(2) * math.log(1.03))
    assert histories.product([None, steps[0]]) is None


@pytest.mark.parametrize(("package", "since"), [("numpy", ""), ("", "1"), ("numpy", "x")])
def test_a_package_and_a_version_are_needed(package: str, since: str, monkeypatch) -> None:
    monkeypatch.setattr(history, "begin", lambda parent: None)
    monkeypatch.setattr("sys.argv", ["history", package, "--since", since, "--configfile", "x"])
    with pytest.raises(SystemExit) as stopped:
        history.main()
    assert stopped.value.code == 2
