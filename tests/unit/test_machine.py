"""Facts about clocks: the CPU's, as Linux tells them in one place or another; a GPU's, as nvidia-smi prints them."""

from pathlib import Path

import pytest

from measurement import machine
from measurement.devices import cpu, cuda

CPUS = Path("/sys/devices/system/cpu")
HERTZ, HOT = "cpu{}/cpufreq/scaling_cur_freq", "cpu{}/thermal_throttle/core_throttle_count"
INFO = "/proc/cpuinfo"


@pytest.mark.parametrize(
    ("files", "mhz", "throttled"),
    [
        ({HERTZ: ("800000\n", "3200000\n"), HOT: ("2\n", "3\n")}, 3200.0, 5),
        (
            {INFO: ["cpu MHz\t\t: 2599.998\ncache size\t: 4 KB\ncpu MHz\t\t: 2700.5\n"]},
            2700.5,
            None,
        ),
        ({HERTZ: ["<unknown>"], INFO: ["processor : 0\n"]}, None, None),
        ({}, None, None),
    ],
)
def test_frequency(files: dict, mhz: float, throttled: int, monkeypatch) -> None:
    each = [(CPUS / name.format(k), text) for name in files for k, text in enumerate(files[name])]
    texts = dict(each)
    monkeypatch.setattr(cpu, "read", lambda path: texts.get(Path(path), "").strip() or None)
    monkeypatch.setattr(
        cpu.glob, "glob", lambda pattern: [str(path) for path in texts if path.match(pattern)]
    )
    assert cpu.state() == {"mhz": mhz, "throttled": throttled}


H200 = "NVIDIA H200, 1980, 3201, 1980, 43, 212.40, 700.00, 97, 5321"
RTX = "NVIDIA GeForce RTX 3060, 210, 405, 2130, 41, [N/A], [Not Supported], [Unknown Error], 1024"


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts an nvidia-smi on PATH that prints something, if it is asked for a field that it knows."""

    def write(output: str, known: str, status: int = 0) -> None:
        script = tmp_path / "nvidia-smi"
        script.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n'
            f"case \"$*\" in *{known}*) echo '{output}'; exit {status};; esac\n"
            "echo 'Field \"x\" is not a valid field to query.'; exit 2\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return write


def test_state_of_a_gpu(nvidia_smi, tmp_path: Path) -> None:
    nvidia_smi(f"{H200}, 0x0000000000000004", known="clocks_event_reasons.active")
    assert cuda.state("0") == {
        **{"name": "NVIDIA H200", "sm_mhz": 1980, "memory_mhz": 3201, "most_sm_mhz": 1980},
        **{"temperature_c": 43, "power_w": 212.4, "power_limit_w": 700},
        **{"utilisation_percent": 97, "memory_used_mib": 5321, "held_back_by": ["power cap"]},
    }
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == 1
    assert asked[0].startswith("-i 0 --query-gpu=name,clocks.sm,")


@pytest.mark.parametrize(
    ("mask", "reasons"),
    [
        ("0x0000000000000061", ["idle", "thermal slowdown", "hardware thermal slowdown"]),
        ("[N/A]", None),
    ],
)
def test_fields_that_a_gpu_does_not_have(nvidia_smi, mask: str, reasons: list | None) -> None:
    """From a driver that knows the reasons by their old name only."""
    nvidia_smi(f"{RTX}, {mask}", known="clocks_throttle_reasons.active")
    found = cuda.state("GPU-0123abcd")
    assert found["held_back_by"] == reasons
    assert (found["sm_mhz"], found["memory_used_mib"]) == (210, 1024)
    assert {found[name] for name in ("power_w", "power_limit_w", "utilisation_percent")} == {None}


@pytest.mark.parametrize(
    ("output", "status"),
    [("No devices were found", 0), ("NVIDIA-SMI has failed, as there is no driver.", 9)],
)
def test_no_gpu_to_ask(nvidia_smi, output: str, status: int) -> None:
    nvidia_smi(output, known="query-gpu", status=status)
    assert cuda.state("0") is None
    assert cuda.found() == []


def test_gpus_of_the_machine(nvidia_smi, monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia_smi("NVIDIA GB10, 580.95.05, [N/A]\nNVIDIA H200, 580.95.05, 143771 MiB", "query-gpu")
    assert [gpu["name"] for gpu in cuda.found()] == ["NVIDIA GB10", "NVIDIA H200"]
    assert (cuda.found()[1]["driver"], cuda.found()[1]["memory"]) == ("580.95.05", "143771 MiB")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cuda.visible(1)["CUDA_VISIBLE_DEVICES"] == "0"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-0123abcd,GPU-4567abcd")
    assert cuda.visible(1)["CUDA_VISIBLE_DEVICES"] == "GPU-0123abcd"


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/a/b\n", "", None),
        ("0::/a/b\n", "a/b/cpu.max=max 1000, a/cpu.max=3500 1000, cpu.max=8000 1000", 3.5),
        (
            "8:cpuset:/x\n4:cpu,cpuacct:/x\n0::/\n",
            "cpu/x/cpu.cfs_quota_us=1500, cpu/x/cpu.cfs_period_us=1000, "
            "cpu/cpu.cfs_quota_us=-1, cpu/cpu.cfs_period_us=1000",
            1.5,
        ),
    ],
)
def test_quota(own: str, files: str, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the own control group and of those above it, in both versions."""
    texts = dict(f"/sys/fs/cgroup/{each}".split("=") for each in files.split(", ") if each)
    texts["/proc/self/cgroup"] = own
    monkeypatch.setattr(machine, "read", lambda path: texts.get(path, "").strip() or None)
    assert machine.quota() == expected


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (3.5, 3), (0.5, 1), (64.0, 8)])
def test_cores_are_those_that_the_quota_pays_for(quota: float, cores: int, monkeypatch) -> None:
    monkeypatch.setattr(machine, "quota", lambda: quota)
    monkeypatch.setattr(machine, "lscpu", lambda: {"Thread(s) per core": "2"})
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    assert machine.usable_cores() == cores
