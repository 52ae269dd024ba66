"""The README's numbers are those of the published example."""

import re

import pytest

from commands import fill_readme


@pytest.fixture(scope="module")
def rows() -> fill_readme.Rows:
    return fill_readme.table()


def test_numbers_are_those_of_the_example(rows: fill_readme.Rows) -> None:
    text = fill_readme.README.read_text()
    assert {found[2] for found in fill_readme.MARKED.finditer(text)} == set(fill_readme.NUMBERS)
    assert fill_readme.filled(text, rows) == text


def test_another_number_is_replaced(rows: fill_readme.Rows) -> None:
    marked = "a <!--number: pytorch-zen-4-->9.9 (1 to 2)<!--/--> b"
    changed = fill_readme.filled(marked, rows)
    number = r"[\d.]+ \([\d.]+ to [\d.]+\)"
    assert re.fullmatch(rf"a <!--number: pytorch-zen-4-->{number}<!--/--> b", changed)
    assert "9.9" not in changed


def test_it_is_a_page() -> None:
    assert len(fill_readme.README.read_text().split()) <= 600
