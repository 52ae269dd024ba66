"""What is said of a number whose processes were not clean."""

import re
from pathlib import Path

import pytest

from reporting import layout, marks


@pytest.mark.parametrize(
    ("processes", "disturbed", "mark"),
    [(3, 0, ""), (5, 2, ""), (5, 3, "°"), (3, None, ""), (3, float("nan"), ""), (2, 2, "")],
)
def test_a_number_is_marked_whose_clean_processes_are_too_few(
    processes: int, disturbed: float | None, mark: str
) -> None:
    """Of fewer than three processes it is one look, which is said otherwise."""
    assert marks.mark({"processes": processes, "disturbed_processes": disturbed}) == mark


def test_two_rows_are_marked_by_the_worse() -> None:
    clean, noisy = ({"processes": 4, "disturbed_processes": n} for n in (0, 3))
    assert marks.mark(clean, noisy) == "°"
    assert marks.counted(clean, noisy) == "1 of 4 processes clean"


def document(disturbed: int, noisy: int) -> dict:
    noise = {"machine": "m", "processes": 10, "disturbed": disturbed, "rows": 3, "noisy": noisy}
    return {"noise": [noise], "machines": [{"machine": "m", "facts": None}]}


def test_a_wide_interval_is_marked() -> None:
    assert layout.interval(0.94, 4.75) == "[0.94, 4.75]≈"
    assert layout.interval(0.94, 1.20) == "[0.94, 1.20]"
    assert layout.within(1.0, 0.7, 1.2).endswith("%≈")


def test_marks_are_explained_once_where_the_first_one_is_in_sight() -> None:
    page = "# A\n\n<details><summary>x</summary>\n\n1.0°\n\n</details>\n\n- 2.0 [0.9, 4.0]≈°\n- b\n\nend °C"
    found = marks.explained(page)
    said = found[found.index("Marks: ") :].splitlines()[0]
    assert (
        found.count("Marks: ") == 1 and marks.MEANINGS["°"] in said and marks.MEANINGS["≈"] in said
    )
    assert found.index("- b") < found.index("Marks: ") < found.index("end")
    assert marks.explained("nothing at 20 °C") == "nothing at 20 °C"


def test_a_page_explains_the_marks_that_it_has() -> None:
    assert "≈" not in marks.explained("1.0°").partition("Marks: ")[2]


@pytest.mark.parametrize("page", ["1.02 [0.88, 1.25], undecided.", "- *Undecided*: a claim."])
def test_a_page_says_once_what_undecided_means(page: str) -> None:
    found = marks.explained(f"{page}\n\nundecided, too")
    assert found.startswith(f"{page}\n\nMarks: *undecided*: the 95 % interval contains 1")
    assert found.count(marks.MEANINGS["undecided"]) == 1


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
