"""The configuration: what is accepted, and the one line that a mistake gives."""

import shutil
from pathlib import Path

import pytest
import yaml

from measurement import devices
from plan import configuration
from reporting import words


def stopped(config: dict) -> list[str]:
    """The lines with which this configuration stops the run."""
    with pytest.raises(SystemExit) as stop:
        configuration.validated(config)
    first, *lines = str(stop.value).splitlines()
    assert first == "The configuration is not valid:"
    return [line.strip() for line in lines]


def loaded(path: str) -> dict:
    return yaml.safe_load(Path(path).read_text())


def test_defaults_stand_on_their_own() -> None:
    cpu = {"devices": ["cpu"]}
    assert configuration.validated(cpu) == loaded("config/config.yaml") | cpu


def test_quick_changes_no_shape() -> None:
    quick, default = (configuration.validated(each) for each in (loaded("config/quick.yaml"), {}))
    changed = {key for key in default if quick[key] != default[key]}
    assert changed == {"corpus", "documents", "protocol", "kernels", "overrides"}
    assert quick["corpus"] | {"stand_in": default["corpus"]["stand_in"]} == default["corpus"]


def test_strings_of_the_command_line() -> None:
    given = {"devices": "[gpu]", "corpus": "{path: /data, stride: 5}"}
    found = configuration.validated(given | {"interpreters": "{pytorch: /bin/py}"})
    assert found["devices"] == ["gpu"] and found["interpreters"] == {"pytorch": "/bin/py"}
    assert (found["corpus"]["path"], found["corpus"]["stride"]) == ("/data", 5)
    assert configuration.validated({"corpus": {"stride": "5"}})["corpus"]["stride"] == 5
    assert found["corpus"]["dataset"] == "ptb"  # what the command line does not name stays


@pytest.mark.parametrize("value", ["{path: null}", {"path": "null"}, {"path": None}])
def test_null_on_the_command_line_is_no_folder(value: str | dict) -> None:
    """Snakemake hands on the values of a nested mapping as strings."""
    assert configuration.validated({"corpus": value})["corpus"]["path"] is None


def test_every_mistake_is_named_at_once() -> None:
    found = stopped({"protocol": {"seed": -1, "timeout_s": 0}, "extra": 1})
    wrong = ["top level", "protocol.seed", "protocol.timeout_s"]
    assert [line.split(":")[0] for line in found] == wrong


def test_unknown_document() -> None:
    (line,) = stopped({"documents": ["stacked-ml"]})
    assert line.startswith("documents: no config/documents/stacked-ml.yaml; ")
    assert "stacked-lm" in line


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder has a copy of config/."""
    for name in ("config", "workflow"):
        shutil.copytree(name, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def test_a_benchmark_of_two_documents(copied: None) -> None:
    own = loaded("config/documents/tvm-lstm.yaml")
    own["benchmarks"] = {"of-its-own": (size := own["benchmarks"]["cell-512"]), "cell-512": size}
    Path("config/documents/copied.yaml").write_text(yaml.safe_dump(own))
    (line,) = stopped({"documents": ["tvm-lstm", "copied"]})
    assert line.startswith("documents: tvm-lstm and copied ") and "`cell-512`" in line


@pytest.mark.parametrize(
    ("gpus", "expected"), [([], ["cpu"]), ([{"name": "a GPU"}], ["cpu", "gpu"])]
)
def test_devices_auto(monkeypatch: pytest.MonkeyPatch, gpus: list, expected: list) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: gpus)
    assert configuration.validated({"devices": "auto"})["devices"] == expected
    assert configuration.validated({"devices": ["cpu"]})["devices"] == ["cpu"]


@pytest.mark.parametrize(
    ("name", "change", "line"),
    [
        (
            "loop-costs-on-gpu",
            {"ratios": {"a": {"of": {"implementation": "tensorflow/graph-whlie"}}}},
            "ratios.a.of: there is no implementation `tensorflow/graph-whlie`; did you mean",
        ),
        ("lead-over-eager-larger-on-cpu", {"against": {"phase": "forward"}}, "at and against: "),
        ("pytorch-as-fast-as-tensorflow", {"below": None}, "needs `above` or `below`"),
    ],
)
def test_a_mistake_in_claims(name: str, change: dict, line: str) -> None:
    claims = list(configuration.read("config/claims.yaml"))
    (at,) = (at for at, claim in enumerate(claims) if claim["name"] == name)
    claims[at] = {key: value for key, value in (claims[at] | change).items() if value}
    (found,) = configuration.claim_problems(claims)
    assert found.startswith(f"{name}: {line}")


def test_a_mistake_in_published_numbers(copied: None) -> None:
    path = Path("config/published/001-stacked-lm.csv")
    path.write_text(path.read_text().replace("1.9554,97.7685", "1.9554s,97.7685", 1))
    with pytest.raises(SystemExit, match=r"001-stacked-lm\.csv is not valid:\n  line 9\.wall_s: "):
        configuration.validated({"devices": ["cpu"]})


def test_every_departure_is_described() -> None:
    benchmark = configuration.schema("document")["properties"]["benchmarks"]["additionalProperties"]
    assert set(benchmark["properties"]["departure"]["enum"]) == set(words.DEPARTURES)


def test_settings_are_laid_over_the_file() -> None:
    """Key by key, as Snakemake does."""
    settings = ["protocol={seed: 7, rounds: 5}", "devices=[cpu]", "preliminary=true"]
    found, quick = configuration.given("config/quick.yaml", settings), loaded("config/quick.yaml")
    assert (found["protocol"]["seed"], found["protocol"]["rounds"]) == (7, 5)
    assert found["protocol"]["warmup_batches"] == quick["protocol"]["warmup_batches"]
    assert (found["devices"], found["preliminary"]) == (["cpu"], True)
