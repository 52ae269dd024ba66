"""What is said of a number whose processes were not clean."""

import re
from pathlib import Path

import pytest

from stats import marks


@pytest.mark.parametrize(
    ("processes", "disturbed", "noisy"),
    [
        (3, 0, False),
        (5, 2, False),
        (5, 3, True),
        (3, None, False),
        (3, float("nan"), False),
        (2, 2, False),
    ],
)
def test_a_number_is_noisy_whose_clean_processes_are_too_few(
    processes: int, disturbed: float | None, noisy: bool
) -> None:
    """Of fewer than three processes there is no interval anyway."""
    assert marks.noisy({"processes": processes, "disturbed_processes": disturbed}) == noisy


def test_pages_have_one_word_for_what_is_not_decided() -> None:
    """Of all templates and sections."""
    files = [
        path
        for folder in ("scripts/reporting", "scripts/stats", "report")
        for path in Path(folder).rglob("*.*")
    ]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".j2")}
    others = re.compile("inconclusive|not told apart|cannot be told apart", re.IGNORECASE)
    assert texts and [path for path, text in texts.items() if others.search(text)] == []
