"""The published numbers are held against their own identities."""

from pathlib import Path

import pytest

from plan import matrix
from reporting import consistency

KNOWN = {  # document: (lines that plainly contradict others, lines that narrowly do)
    "000": ({112, 114, 124}, {76, 91, 113}),
    "001": ({94, 96, 109}, {148}),
    "002": (set(), set()),
    "003": ({66}, {67, 69}),  # 8.5M for 59 outputs is 8,554,880 at least
    "004": ({42}, set()),
}


@pytest.mark.parametrize("document", KNOWN)
def test_known_contradictions(document: str) -> None:
    (path,) = Path("config/published").glob(f"{document}-*.csv")
    found = consistency.contradictions([str(path)])
    plain, narrow = KNOWN[document]
    assert {entry["line"] for entry in found if entry["plain"]} == plain
    assert {entry["line"] for entry in found if not entry["plain"]} == narrow


@pytest.mark.parametrize(
    ("row", "wrong", "quantity", "consistent"),
    [
        ("001,97,", ("39.3426", "93.3426"), "elapsed_s", 39.345),
        ("001,101,", ("65.4607", "64.5607"), "sequences_per_s", 65.461),
        ("001,165,", ("0.0311", "0.0331"), "wall_s", 0.03106),
        ("002,62,", ("16.5516e-3", "26.5516e-3"), "median_s", 20.72e-3),
        ("002,63,", ("0.3491e-3", "0.0491e-3"), "std_s", 0.097e-3),
        ("003,68,", ("8.5e6", "5.8e6"), "parameters", 8_523_520),
        ("004,41,", ("1.1,", "1.3,"), "speedup", 17 / 15),
    ],
)
def test_a_copying_error_is_named(tmp_path: Path, row: str, wrong, quantity, consistent) -> None:
    """In a copy, one number of one row; that one is named beside those of the document itself, no other."""
    document, line = row.split(",")[:2]
    (source,) = Path("config/published").glob(f"{document}-*.csv")
    text = source.read_text()
    (right,) = [found for found in text.splitlines() if found.startswith(row)]
    assert right.count(wrong[0]) == 1
    copy = tmp_path / source.name
    copy.write_text(text.replace(right, right.replace(*wrong)))
    known = KNOWN[document][0] | KNOWN[document][1]
    (found,) = [e for e in consistency.contradictions([str(copy)]) if e["line"] not in known]
    assert (found["document"], found["line"], found["quantity"]) == (document, int(line), quantity)
    assert found["consistent"] == pytest.approx(consistent, rel=1e-3)
    assert found["printed"] == wrong[1].rstrip(",")


HEADER = "document,line,benchmark,implementation,phase,device,wall_s,elapsed_s,sequences_per_s\n"


def of_rows(folder: Path, *rows: str) -> list[dict]:
    """What contradicts itself in a table of these rows."""
    table = folder / "009-table.csv"
    table.write_text(HEADER + "\n".join(rows) + "\n")
    return consistency.contradictions([str(table)])


def test_rounding_is_no_contradiction(tmp_path: Path) -> None:
    rounded = "009,1,b,a/rounded,forward,cpu,0.0059,0.2939,21775.8"
    found = of_rows(tmp_path, rounded, "009,2,b,a/off,forward,cpu,0.0057,0.2938,21783.5")
    assert [entry["implementation"] for entry in found] == ["a/off"]


def test_copied_digits_are_no_second_voice(tmp_path: Path) -> None:
    """Lines 112 and 114 of document 000 have elapsed times and rates of other rows beside wall times of their own."""
    found = consistency.contradictions(matrix.published_files("*"))
    for entry in found:  # how many times too large
        assert entry["factor"] == pytest.approx(float(entry["printed"]) / entry["consistent"])
    for line, wall_s in ((112, 3.0750), (114, 1.6191)):
        wrong = {e["quantity"]: e for e in found if (e["document"], e["line"]) == ("000", line)}
        assert set(wrong) == {"elapsed_s", "sequences_per_s"}
        assert wrong["elapsed_s"]["consistent"] == pytest.approx(50 * wall_s)
        assert wrong["sequences_per_s"]["consistent"] == pytest.approx(128 / wall_s)
    # Two that stand nowhere else outvote the third.
    (found,) = of_rows(tmp_path, "009,1,b,a/x,forward,cpu,1.6191,2.6479,2417.05")
    assert (found["quantity"], found["consistent"]) == ("wall_s", pytest.approx(0.05296, rel=1e-3))


def test_a_gate_has_one_bias_or_two() -> None:
    short = {"layers": 1, "directions": 1, "hidden": 320, "features": 123, "outputs": 10}
    assert [consistency.parameters(short, biases) for biases in (1, 2)] == [571_520, 572_800]
