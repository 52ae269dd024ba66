"""The lines of code of a cell's page compute what its reference does: outputs, last states, gradients."""

import pytest

from reporting.own_cell_lines import CODE

from .running import run

FRAMEWORKS = {
    "pytorch": ["fine-grained", "fine-grained-jit", "compiled"],
    "tensorflow": ["eager-fine-grained", "graph-unrolled", "graph-while", "graph-xla"],
    "jax": ["scan"],
    "recurrent_cells": ["module"],
}


def processes(framework: str = "", **_: object) -> list[tuple[str, ...]]:
    environment = "pytorch" if framework == "recurrent_cells" else framework
    return [(environment, "run_snippets.py", framework)] if framework else []


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_lines_of_a_page(framework: str) -> None:
    errors = run(*processes(framework)[0])
    styles = {f"{framework}/{style}" for style in FRAMEWORKS[framework]}
    assert {name.partition(" ")[0] for name in errors} == styles
    assert {name.split()[-1] for name in errors} == {"training", "forward"}
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}


def test_other_lines_are_of_a_gpu_or_those_of_another() -> None:
    tested = {
        f"{framework}/{style}" for framework, styles in FRAMEWORKS.items() for style in styles
    }
    assert CODE.keys() - tested == {"tvm/template-tuned", "pytorch/compiled-graph"}
    assert CODE["tvm/template-tuned"] == CODE["recurrent_cells/module"]
