"""The lines of code of a cell's page compute what its reference does: outputs, last states, gradients."""

import pytest

from reporting.own_cell_lines import CODE

from .running import run

FRAMEWORKS = sorted({implementation.partition("/")[0] for implementation in CODE})


def processes(framework: str) -> list[tuple[str, ...]]:
    environment = "pytorch" if framework in ("recurrent_cells", "tvm") else framework
    return [(environment, "run_snippets.py", framework)]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_lines_of_a_page(framework: str) -> None:
    errors = run(*processes(framework)[0])
    styles = {name.partition(" ")[0] for name in errors}
    assert styles == {each for each in CODE if each.partition("/")[0] == framework}
    phases = {tuple(name.split()[2:]) for name in errors}
    assert phases == {(batch, phase) for batch in "31" for phase in ("training", "forward")}
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}
