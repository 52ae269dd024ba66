"""The book's blocks of commands are run as they stand: in a project with a tiny document, but for those that a comment
before them takes out."""

import os
from pathlib import Path

import pytest

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
    project.set_protocol(processes=2)  # one says nothing of noise
    project.path("tiny.yaml").rename(project.path("config/quick.yaml"))
    project.configure("config/config.yaml", documents=["tiny"], overrides={})
    lend_environment(project.root)
    return project


@pytest.mark.parametrize("page", RUN)
def test_commands_run(page: str, shelf: Project) -> None:
    path = f"PATH={shelf.root / '.venv/bin'}:{os.environ['PATH']}"
    for block in RUN[page]:
        shelf.run(["env", path, "bash", "-ec", block])
