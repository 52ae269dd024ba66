"""Freed memory is kept, the default is a departure, and faults tell which it was."""

import os
import subprocess
import sys

import pytest

from measurement import departures, machine, memory, supervisor

# Takes and frees 100 MB in a thread, twice; prints the page faults of the second time.
BLOCKS = """
import threading
from measurement import memory
def block():
    b"x" * (100 << 20)
def taken():
    before = memory.faults()
    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    return memory.faults() - before
taken()
print(taken())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of glibc")
@pytest.mark.parametrize(
    ("departure", "least", "most"),
    [(None, 0, 50), (departures.DEFAULT_MALLOC, 25_000, 30_000)],
)
def test_freed_memory_is_kept(departure: str | None, least: int, most: int) -> None:
    """Huge pages, where they are always on, would make them 50."""
    if machine.chosen("/sys/kernel/mm/transparent_hugepage/enabled") == "always":
        pytest.skip("transparent huge pages are always on")
    variables = supervisor.worker_environment("time", 1, "cpu", departure)
    command = [sys.executable, "-c", BLOCKS]
    faults = int(subprocess.run(command, env=variables, capture_output=True, text=True).stdout)
    assert least <= faults <= most


def test_only_cells_of_the_cpu_keep_memory() -> None:
    assert memory.KEPT.items() <= supervisor.worker_environment("time", 1, "cpu").items()
    assert not memory.KEPT.keys() & (
        supervisor.worker_environment("time", 1, "gpu").keys() - os.environ.keys()
    )


def test_what_is_inherited() -> None:
    variables = {"LD_PRELOAD": "libjemalloc.so", "KMP_BLOCKTIME": "0", "HOME": "/root"}
    variables |= {"MALLOC_ARENA_MAX": "2", "GOMP_SPINCOUNT": "1", "XOMP_": "1"}
    assert memory.inherited(variables) == {
        **{"GOMP_SPINCOUNT": "1", "KMP_BLOCKTIME": "0"},
        **{"LD_PRELOAD": "libjemalloc.so", "MALLOC_ARENA_MAX": "2"},
    }
