"""The configuration: what is accepted, and the one line that a mistake gives."""

import shutil
from pathlib import Path

import pytest
import yaml

from measurement import devices
from plan import configuration


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


def test_every_mistake_is_named_at_once() -> None:
    found = stopped({"protocol": {"seed": -1, "timeout_s": 0}, "extra": 1})
    wrong = ["top level", "protocol.seed", "protocol.timeout_s"]
    assert [line.split(":")[0] for line in found] == wrong


def test_a_benchmark_of_two_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config", "workflow"):
        shutil.copytree(name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
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


def test_settings_are_laid_over_the_file() -> None:
    """Key by key, as Snakemake does."""
    settings = ["protocol={seed: 7, rounds: 5}", "devices=[cpu]", "corpus={path: null}"]
    found, quick = configuration.given("config/quick.yaml", settings), loaded("config/quick.yaml")
    assert (found["protocol"]["seed"], found["protocol"]["rounds"]) == (7, 5)
    assert found["protocol"]["warmup_batches"] == quick["protocol"]["warmup_batches"]
    assert (found["devices"], found["corpus"]["path"]) == (["cpu"], None)
    # Snakemake hands on the values of a nested mapping as strings.
    given = {"devices": "[gpu]", "corpus": {"path": "null", "stride": "5"}, "machine": "a"}
    found = configuration.validated(given)
    assert (found["corpus"]["path"], found["corpus"]["stride"]) == (None, 5)
    assert found["devices"] == ["gpu"] and found["corpus"]["dataset"] == "ptb"
