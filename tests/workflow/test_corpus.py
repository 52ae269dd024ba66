"""The corpus through Snakemake: what a change of it reruns, and the stand-in from end to end."""

import hashlib

import yaml

from .conftest import Project
from .test_staleness import BOTH


def other_text(project: Project) -> None:
    """Change a few words of the training file, and its digest in the configuration."""
    text = project.path("corpus/ptb.train.txt")
    text.write_text(text.read_text().replace("cat", "mat", 3))
    config = yaml.safe_load(project.path("tiny.yaml").read_text())
    config["corpus"]["sha256"]["train"] = hashlib.sha256(text.read_bytes()).hexdigest()
    project.configure("tiny.yaml", corpus=config["corpus"])


def test_other_text_reruns_all_cells(project: Project) -> None:
    other_text(project)
    assert project.stale_cells() == BOTH


def test_run_cut_short_between_fetching_and_tokenizing(project: Project) -> None:
    """The cells must not stay as they are because the token counts happen to be the same."""
    other_text(project)
    project.snakemake("--until", "fetch_corpus")
    assert project.stale_cells() == BOTH


def test_version_bump_of_the_report_environment_reruns_no_cell(project: Project) -> None:
    """It draws the figures; what the cells computed stays true."""
    project.edit("envs/report.yaml", "jinja2==", "jinja2==9")
    assert project.stale_cells() == set()
    assert "report/tiny.md" in project.stale()


def test_stand_in_is_announced_on_every_page(project: Project) -> None:
    corpus = {"path": None, "mirrors": [], "stand_in": True}
    project.configure("tiny.yaml", corpus=corpus)
    document = yaml.safe_load(project.path("config/documents/tiny.yaml").read_text())
    document["benchmarks"]["tiny-lm"]["vocabulary"] = 10_001
    project.path("config/documents/tiny.yaml").write_text(yaml.safe_dump(document))
    project.snakemake()
    assert set(project.cells().query("device == 'cpu'")["status"]) == {"ok"}
    for name in ("index.md", "tiny.md", "index.html", "tiny.html"):
        page = project.path(f"results/report/{name}").read_text()
        assert "Measured on a stand-in corpus" in page
    assert "929,589 training" in project.path("results/report/tiny.md").read_text()
    assert project.stale() == set()
