"""What `make prune` deletes: results that no configuration asks for."""

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from commands import prune_results
from plan import configuration, lease, matrix, own, own_cell
from reporting import profiles
from tests.unit import planned


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    planned.empty_project(tmp_path, monkeypatch)
    return tmp_path


def pruned(files: list[Path], config: str, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which of the files, made for it, one configuration asks for."""
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    monkeypatch.setattr(prune_results, "configurations", lambda: [config])
    monkeypatch.setattr(lease, "take", lambda: None)
    monkeypatch.setattr(sys, "argv", ["prune", "--yes"])
    prune_results.main()
    return [file.exists() for file in files]


def test_what_a_configuration_asks_for_stays(monkeypatch, capsys) -> None:
    """Records, and the profiles that explain them."""
    asked = prune_results.asked_for([configuration.given("config/timeline.yaml", [])])
    kept = next(path for path in asked if "pytorch-2021" in str(path) and "records" in str(path))
    records = [kept, kept.with_name("training-cpu-1.000000000000.json")]
    files = [*records, *(Path(profiles.beside(record)) for record in records)]
    assert pruned(files, "config/timeline.yaml", monkeypatch) == [True, False, True, False]
    assert capsys.readouterr().out.startswith("2 results ")


def test_what_a_killed_process_has_seen_is_kept() -> None:
    """Its looks, and what its compiler has left."""
    asked = prune_results.asked_for([configuration.given("config/timeline.yaml", [])])
    files = [next(p for p in asked if f"/{name}/" in str(p)) for name in ("looks", "compiled")]
    others = [path.with_name("other.jsonl") for path in files]
    for looks, compiled in (files, others):
        looks.parent.mkdir(parents=True, exist_ok=True)
        looks.write_text("{}")
        compiled.mkdir(parents=True)
    assert prune_results.superfluous(asked) == others


def test_every_file_of_config_that_a_run_can_be_given_counts(project: Path) -> None:
    """Also one that somebody has put there: what it measured must not be deleted."""
    (project / "config").unlink()
    shutil.copytree(planned.ROOT / "config", "config")
    shipped = set(prune_results.configurations())
    assert {"config/config.yaml", "config/quick.yaml", "config/gpu.yaml"} <= shipped
    assert not shipped & {"config/claims.yaml", "config/implementations.yaml", "config/pages.yaml"}
    for file in shipped:
        configuration.given(file, [])  # does not refuse it
    Path("config/mine.yaml").write_text("documents: [timeline]\n")
    assert set(prune_results.configurations()) == shipped | {"config/mine.yaml"}


def test_what_a_cell_of_ones_own_asks_for_stays(monkeypatch, capsys) -> None:
    """As long as its folder is there; of another cell's records nothing is asked."""
    folder = own.FOLDER / "mine"
    folder.mkdir(parents=True)
    usual = own_cell.template()
    document = own_cell.document("mine", "f0", "mine.py", usual["shape"], usual["phases"])
    (folder / "document.yaml").write_text(yaml.safe_dump(document))
    base = configuration.mapping("config/cell/config.yaml")
    (folder / "config.yaml").write_text(yaml.safe_dump(own_cell.config("mine", base, ["pytorch"])))
    config = str(folder / "config.yaml")
    assert config in prune_results.configurations()
    asked = prune_results.asked_for([configuration.given(config, [])])
    kept = next(path for path in asked if "mine-cell" in str(path) and "records" in str(path))
    other = Path(str(kept).replace("mine-cell", "gone-cell"))
    assert pruned([kept, other], config, monkeypatch) == [True, False]
    assert "gone-cell" in capsys.readouterr().out
    for each in (matrix.document, matrix.cells_of):
        each.cache_clear()
