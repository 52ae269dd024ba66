"""The filter that makes tables, and the words rows and machines are called by."""

from pathlib import Path

from measurement.cells import CELLS
from plan import matrix
from reporting import page, words


def test_a_table_aligns_and_keeps_its_cells_apart() -> None:
    rows = [{"name": "A | B", "time": 0.5}, {"name": "C"}]
    template = page.environment().from_string(
        "{{ rows | table([['Row', 'name'], ['Time', 'time', 'time']]) }}"
    )
    assert template.render(rows=rows).splitlines() == [
        "| Row | Time |",
        "| :-- | --: |",
        "| A \\| B | 500 ms |",
        "| C | – |",
    ]


def test_names_tell_implementations_apart() -> None:
    names = words.names(matrix.implementations())
    assert len(set(names.values())) == len(names)


def test_a_machine_is_called_by_its_processor() -> None:
    cpu = {"Model name": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"}
    facts = {"cpu": cpu, "cores": 2, "gpus": []}
    assert words.machines([("x-1", facts)]) == {"x-1": "Intel Xeon Platinum 8481C, 2 cores"}
    two = words.machines([("x-abc123", facts), ("x-def456", facts)])
    assert two["x-def456"] == "Intel Xeon Platinum 8481C, 2 cores (def456)"
    other = facts | {"cpu": {"Model name": "Another"}}
    several = [("x-1", facts), ("x-2", other)]
    assert words.machines(several) == {"x-1": "Intel Xeon Platinum 8481C", "x-2": "Another"}
    assert words.machines(several, in_full=True)["x-2"] == "Another, 2 cores"
    with_gpu = facts | {"gpus": [{"name": "NVIDIA H200"}]}
    several = [("x-1", facts), ("x-2", other), ("x-3", with_gpu)]
    assert words.machines(several)["x-3"] == "Intel Xeon Platinum 8481C + H200"


def test_every_flexibility_has_one_word() -> None:
    used = {entry["flexibility"] for entry in matrix.implementations() if "flexibility" in entry}
    assert used == set(words.LEVELS)


def test_every_cell_has_a_short_file_in_every_framework() -> None:
    """25 lines at most, whatever stands in them."""
    assert set(CELLS) == set(words.CELLS)
    own = Path("scripts/recurrent_cells/cells")
    for folder in (*Path("scripts/implementations").glob("*/cells"), own):
        files = [folder / f"{name.replace('-', '_')}.py" for name in CELLS]
        assert all(len(file.read_text().splitlines()) <= 25 for file in files if file.exists())
