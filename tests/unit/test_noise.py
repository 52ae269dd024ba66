"""How noisy a machine was: on records whose noise is known."""

import numpy as np
import pytest

from commands import noise as command
from stats import noise


def drawn(random: np.random.Generator, processes: int = 4) -> list[dict]:
    """Processes that lie apart by 10 %, and batches by 2 %."""
    own = np.exp(0.1 * random.standard_normal(processes))
    return [{"samples": list(k * np.exp(0.02 * random.standard_normal(9)))} for k in own.tolist()]


def test_spread_within_processes_and_between_them() -> None:
    random = np.random.default_rng(1)
    cells = [drawn(random) for _ in range(100)]
    assert noise.within(cells).all == pytest.approx(0.02, rel=0.1)
    assert noise.between(cells).all == pytest.approx(0.1, rel=0.1)
    assert noise.turns(cells) is None


def test_spread_within_rounds() -> None:
    """Rounds lie apart by a half, and looks within them by 5 %."""
    random = np.random.default_rng(2)
    rounds = [*enumerate(0.5 * random.standard_normal(30))]

    def looks() -> list[dict]:
        own = [(k, [np.exp(each + 0.05 * random.normal())]) for k, each in rounds]
        return [{"block": "b", "round": k, "batches": batches} for k, batches in own]

    pair = [{"identity": {"process": process}} for process in (1, 2)]
    found = noise.turns([[each | {"looks": looks()} for each in pair] for _ in range(8)])
    (group,) = found.groups
    assert group["looks"] == 480 and group["deviation"] == pytest.approx(0.05, rel=0.1)
    assert found.further == 0  # of one block
    assert found.pairs == 8 and found.processes < 0.02 and group["correlation"] < 0.2


def test_command_refuses_a_folder_without_results(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["noise", str(tmp_path)])
    with pytest.raises(SystemExit, match="results folder"):
        command.main()
