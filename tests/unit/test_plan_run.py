"""What `make plan` says of processes that are not known yet."""

from pathlib import Path

import pytest

from commands import plan_run
from plan.planner import Plan
from tests.unit import planned


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned.empty_project(tmp_path, monkeypatch)


def further(**protocol: object) -> str:
    return plan_run.further(Plan(planned.config(protocol={"processes": 3} | protocol)))


def test_how_long_further_processes_may_take() -> None:
    """Three documents, of which one is judged already."""
    limited = {"target_interval": None, "further_s": 120}
    assert "up to 6 minutes" in further(**limited)
    judged = Path(plan_run.PROCESSES.format("tvm-lstm"))
    judged.parent.mkdir(parents=True)
    judged.write_text("{}")
    assert "up to 4 minutes" in further(**limited)


def test_no_limit_where_there_is_none() -> None:
    for protocol in ({"further_s": None, "target_interval": None}, {"further_s": None}):
        found = further(**protocol)
        assert found and "minutes" not in found
    assert not further(most_processes=3)
