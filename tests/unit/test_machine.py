"""Facts about the CPU's clock, as Linux tells them in one place or another."""

from pathlib import Path

import pytest

from measurement import machine

CPUS = Path("/sys/devices/system/cpu")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {
                "cpu0/cpufreq/scaling_cur_freq": "800000\n",
                "cpu1/cpufreq/scaling_cur_freq": "3200000\n",
                "cpu0/thermal_throttle/core_throttle_count": "2\n",
                "cpu1/thermal_throttle/core_throttle_count": "3\n",
            },
            {"mhz": 3200.0, "throttled": 5},
        ),
        (
            {"/proc/cpuinfo": "cpu MHz\t\t: 2599.998\ncache size\t: 4 KB\ncpu MHz\t\t: 2700.5\n"},
            {"mhz": 2700.5, "throttled": None},
        ),
        (
            {"cpu0/cpufreq/scaling_cur_freq": "<unknown>", "/proc/cpuinfo": "processor : 0\n"},
            {"mhz": None, "throttled": None},
        ),
        ({}, {"mhz": None, "throttled": None}),
    ],
)
def test_frequency(files: dict[str, str], expected: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {CPUS / name: text for name, text in files.items()}
    monkeypatch.setattr(machine, "_read", lambda path: texts.get(Path(path), "").strip() or None)
    monkeypatch.setattr(
        machine.glob, "glob", lambda pattern: [str(path) for path in texts if path.match(pattern)]
    )
    assert machine.frequency() == expected
