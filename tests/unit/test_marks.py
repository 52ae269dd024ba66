"""What is said of a number whose processes were not clean."""

import pytest

from stats import marks


@pytest.mark.parametrize(
    ("processes", "disturbed", "noisy"),
    [(3, 0, 0), (5, 2, 0), (5, 3, 1), (3, None, 0), (3, float("nan"), 0), (2, 2, 0)],
)
def test_a_number_is_noisy_whose_clean_processes_are_too_few(processes, disturbed, noisy) -> None:
    """Of fewer than three processes there is no interval anyway."""
    assert marks.noisy({"processes": processes, "disturbed_processes": disturbed}) == bool(noisy)
