"""The book's blocks of commands are run as they stand: in a project with a tiny document, but for those that a comment
before them takes out."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.unit.test_book import book

from .conftest import Project, copied, lend_environment

RUN = {}  # the blocks of a page that are run
for page, block in book.all_blocks():
    if block.why_not is None:
        RUN.setdefault(page, []).append("\n".join(block.commands))


@pytest.fixture
def shelf(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished project, its configuration under the names that commands have, and set up."""
    project = copied(finished, tmp_path)
    tiny = yaml.safe_load(project.path("tiny.yaml").read_text())
    tiny["protocol"]["processes"] = 2  # one says nothing of noise
    project.path("config/quick.yaml").write_text(yaml.safe_dump(tiny))
    project.configure("config/config.yaml", documents=["tiny"], overrides={})
    lend_environment(project.root)
    return project


@pytest.mark.parametrize("page", RUN)
def test_commands_run(page: str, shelf: Project) -> None:
    environment = os.environ | {"PATH": f"{shelf.root / '.venv/bin'}:{os.environ['PATH']}"}
    for block in RUN[page]:
        done = subprocess.run(
            ["bash", "-e"],
            input=block,
            cwd=shelf.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}"
