"""The published tables are held against their own identities."""

from pathlib import Path

import pytest

from reporting import consistency

PUBLISHED = Path("config/published")


@pytest.mark.parametrize(
    ("document", "plain", "narrow"),
    [
        ("000-stacked-lm-early", {"112", "114", "124"}, {"76", "91", "113"}),
        ("001-stacked-lm", {"94", "96", "109"}, {"148"}),
    ],
)
def test_known_contradictions(document: str, plain: set[str], narrow: set[str]) -> None:
    found = list(consistency.contradictions(PUBLISHED / f"{document}.csv"))
    assert {entry["line"] for entry in found if entry["plain"]} == plain
    assert {entry["line"] for entry in found if not entry["plain"]} == narrow


def test_the_odd_number_is_named_with_what_the_others_make_of_it() -> None:
    found = {e["line"]: e for e in consistency.contradictions(PUBLISHED / "001-stacked-lm.csv")}
    assert (found["94"]["column"], found["96"]["column"]) == ("wall_s", "elapsed_s")
    assert found["94"]["consistent"] == pytest.approx(85.0492 / 50, rel=1e-5)
    assert found["96"]["consistent"] == pytest.approx(50 * 0.2687, rel=1e-4)
    assert found["96"]["printed"] == "32.2603"


def test_rounding_is_no_contradiction(tmp_path: Path) -> None:
    header = "document,line,label,wall_s,elapsed_s,sequences_per_s\n"
    rows = ["0,1,rounded,0.0059,0.2939,21775.8", "0,2,off,0.0057,0.2939,21775.8"]
    table = tmp_path / "table.csv"
    table.write_text(header + "\n".join(rows) + "\n")
    assert [entry["label"] for entry in consistency.contradictions(table)] == ["off"]
    assert consistency.interval("0.10") == pytest.approx((0.095, 0.105))
