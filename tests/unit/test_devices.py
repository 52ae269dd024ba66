"""Another vendor's GPU is one more module: nothing else of the harness names one."""

import types

import pytest

from measurement import devices, machine, supervisor
from measurement.devices import cuda


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A kind of GPU of which this machine has one, and none of NVIDIA's."""
    kind = types.SimpleNamespace(
        HIDDEN={"OTHER_VISIBLE": ""},
        found=lambda: [{"name": "Other 1", "driver": "2", "memory": "3"}],
        variables=lambda count, departure: {"OTHER_VISIBLE": ",".join(map(str, range(count)))},
    )
    monkeypatch.setattr(devices, "GPUS", (cuda, kind))
    monkeypatch.setattr(cuda, "found", list)
    return kind


def test_another_kind_of_gpu(other: types.SimpleNamespace) -> None:
    assert devices.of("gpu") is other
    assert [gpu["name"] for gpu in machine.facts()["gpus"]] == ["Other 1"]
    seen = {
        device: supervisor.worker_environment("time", 1, device, workers=2)
        for device in ("cpu", "gpu")
    }
    assert {name: each["OTHER_VISIBLE"] for name, each in seen.items()} == {"cpu": "", "gpu": "0,1"}
    assert {each["CUDA_VISIBLE_DEVICES"] for each in seen.values()} == {"-1"}


def test_nvidia_is_asked_first(other: types.SimpleNamespace, monkeypatch) -> None:
    monkeypatch.setattr(cuda, "found", lambda: [{"name": "H200"}])
    assert devices.of("gpu") is cuda
