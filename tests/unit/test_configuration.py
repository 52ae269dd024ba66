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


def test_defaults_stand_on_their_own() -> None:
    with open("config/config.yaml") as stream:
        assert configuration.validated({"devices": ["cpu"]}) == yaml.safe_load(stream) | {
            "devices": ["cpu"]
        }


def test_quick_changes_no_shape() -> None:
    with open("config/quick.yaml") as stream:
        quick = configuration.validated(yaml.safe_load(stream))
    default = configuration.validated({})
    changed = {key for key in default if quick[key] != default[key]}
    assert changed == {"corpus", "documents", "protocol", "kernels", "overrides"}
    assert {key for key in quick["corpus"] if quick["corpus"][key] != default["corpus"][key]} == {
        "stand_in"
    }


def test_strings_of_the_command_line() -> None:
    found = configuration.validated(
        {
            "devices": "[gpu]",
            "corpus": "{path: /data, stride: 5}",
            "interpreters": "{pytorch: /bin/py}",
        }
    )
    assert found["devices"] == ["gpu"]
    assert (found["corpus"]["path"], found["corpus"]["stride"]) == ("/data", 5)
    assert configuration.validated({"corpus": {"stride": "5"}})["corpus"]["stride"] == 5
    assert found["corpus"]["dataset"] == "ptb"  # what the command line does not name stays
    assert found["interpreters"] == {"pytorch": "/bin/py"}


@pytest.mark.parametrize("value", ["{path: null}", {"path": "null"}, {"path": None}])
def test_null_on_the_command_line_is_no_folder(value: str | dict) -> None:
    """Snakemake hands on the values of a nested mapping as strings."""
    assert configuration.validated({"corpus": value})["corpus"]["path"] is None


def test_every_mistake_is_named_at_once() -> None:
    found = stopped({"protocol": {"seed": -1, "timeout_s": 0}, "extra": 1})
    assert [line.split(":")[0] for line in found] == [
        "top level",
        "protocol.seed",
        "protocol.timeout_s",
    ]


def test_unknown_document() -> None:
    (line,) = stopped({"documents": ["stacked-ml"]})
    assert line.startswith("documents: no config/documents/stacked-ml.yaml; there are:")
    assert "stacked-lm" in line


def test_a_benchmark_of_two_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config", "workflow"):
        shutil.copytree(name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    own = yaml.safe_load(Path("config/documents/tvm-lstm.yaml").read_text())
    own["benchmarks"] = {"of-its-own": (size := own["benchmarks"]["cell-512"]), "cell-512": size}
    Path("config/documents/copied.yaml").write_text(yaml.safe_dump(own))
    (line,) = stopped({"documents": ["tvm-lstm", "copied"]})
    assert line == "documents: tvm-lstm and copied both have a benchmark `cell-512`; rename one"


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
        ("lead-over-eager-larger-on-cpu", {"against": {"phase": "forward"}}, "at and against: all"),
        ("pytorch-as-fast-as-tensorflow", {"below": None}, "needs `above` or `below`"),
    ],
)
def test_a_mistake_in_claims(name: str, change: dict, line: str) -> None:
    claims = list(configuration.read_yaml("config/claims.yaml"))
    (at,) = (at for at, claim in enumerate(claims) if claim["name"] == name)
    claims[at] = {key: value for key, value in (claims[at] | change).items() if value}
    (found,) = configuration.claim_problems(claims)
    assert found.startswith(f"{name}: {line}")


def test_a_mistake_in_published_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config", "workflow"):
        shutil.copytree(name, tmp_path / name)
    path = tmp_path / "config/published/001-stacked-lm.csv"
    path.write_text(path.read_text().replace("1.9554,97.7685", "1.9554s,97.7685", 1))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"001-stacked-lm\.csv is not valid:\n  line 9\.wall_s: "):
        configuration.validated({"devices": ["cpu"]})


def test_every_departure_is_described() -> None:
    benchmark = configuration.schema("document")["properties"]["benchmarks"]["additionalProperties"]
    assert set(benchmark["properties"]["departure"]["enum"]) == set(words.DEPARTURES)


def test_settings_are_laid_over_the_file() -> None:
    """Key by key, as Snakemake does."""
    with open("config/quick.yaml") as stream:
        quick = yaml.safe_load(stream)
    settings = ["protocol={seed: 7, rounds: 5}", "devices=[cpu]", "preliminary=true"]
    found = configuration.given("config/quick.yaml", settings)
    assert (found["protocol"]["seed"], found["protocol"]["rounds"]) == (7, 5)
    assert found["protocol"]["warmup_batches"] == quick["protocol"]["warmup_batches"]
    assert (found["devices"], found["preliminary"]) == (["cpu"], True)
