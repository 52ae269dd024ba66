"""The corpus through Snakemake: what a change of it reruns, and the stand-in from end to end."""

import contextlib
import functools
import hashlib
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from measurement.record import read_json

from .conftest import Project
from .test_staleness import BOTH


def test_other_text_reruns_all_cells(project: Project) -> None:
    """Also after a run that was cut short between fetching and tokenizing, though there are as many tokens."""
    text = project.path("corpus/ptb.train.txt")
    text.write_text(text.read_text().replace("cat", "mat", 3))
    corpus = project.setting("corpus")
    corpus["sha256"]["train"] = hashlib.sha256(text.read_bytes()).hexdigest()
    project.settings(corpus=corpus)
    project.snakemake("--until", "fetch_corpus")
    assert project.stale_cells() == BOTH


def test_text_by_mirror_or_from_a_folder_is_the_same(project: Project) -> None:
    """Where it came from does not matter: not even its tokens are made again. Nor is a cell for another version of what draws
    figures."""
    project.edit("envs/report.yaml", "jinja2==", "jinja2==9")
    before = project.measured()
    with serving(project):
        project.snakemake()
    after = project.measured()
    assert before.items() <= after.items()
    assert {Path(name).parts[:2] for name in after.keys() - before.keys()} == {
        ("corpus", "sources")
    }


@contextlib.contextmanager
def serving(project: Project) -> Iterator[None]:
    """A mirror of the project's texts, which it fetches them from."""
    folder = str(project.path("corpus"))
    handler = functools.partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        mirror = f"http://127.0.0.1:{server.server_port}/ptb.{{split}}.txt"
        corpus = project.setting("corpus") | {"path": None, "mirrors": [mirror]}
        project.settings(corpus=corpus)
        yield
        server.shutdown()


def enlarge(project: Project, **sizes: int) -> None:
    """Give the benchmark other sizes."""
    document = yaml.safe_load(project.path("config/documents/tiny.yaml").read_text())
    document["benchmarks"]["tiny-lm"].update(sizes)
    project.configure("config/documents/tiny.yaml", benchmarks=document["benchmarks"])


def test_a_fetched_text_that_is_too_short_stops_the_run(project: Project) -> None:
    """Nothing is measured on it: a batch would be waited for in vain."""
    before = project.measured()
    enlarge(project, batch=1000)
    shutil.rmtree(project.path("results/corpus"))
    with serving(project):
        printed = project.snakemake(ok=False)
    assert printed.count("ptb.train.txt has ") == 1 and "longer text" in printed
    assert "Traceback" not in printed
    folders = {Path(name).parts[0] for name in project.measured().keys() - before.keys()}
    assert folders == {"corpus"}


def test_cells_of_a_stand_in_are_others(project: Project) -> None:
    """Which text it is is known when no mirror has answered, and the plan follows."""
    before = project.measured()
    project.settings(corpus={"path": None, "mirrors": [], "stand_in": True})
    enlarge(project, vocabulary=10_001)
    project.snakemake()
    assert before.items() <= project.measured().items()
    assert set(project.cells().query("device == 'cpu'")["status"]) == {"ok"}
    corpora = [read_json(str(file))["corpus"] for file in project.listed("plain/loop")]
    assert [(c["stand_in"], c["tokens"]["train"]) for c in corpora] == [(True, 929_589)] * 2
    assert project.stale() == set()
