"""Files of cells are short. What is said of them, tests/workflow/test_pages.py has in the example."""

from pathlib import Path

from measurement.cells import CELLS
from reporting import words


def test_every_cell_has_a_short_file_in_every_framework() -> None:
    """25 lines at most, whatever stands in them."""
    assert set(CELLS) == set(words.CELLS)
    own = Path("scripts/recurrent_cells/cells")
    for folder in (*Path("scripts/implementations").glob("*/cells"), own):
        files = [folder / f"{name.replace('-', '_')}.py" for name in CELLS]
        assert all(len(file.read_text().splitlines()) <= 25 for file in files if file.exists())
