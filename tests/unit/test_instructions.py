"""What holds a process to an instruction set, and what is made of what the system then says."""

import subprocess
import sys
from pathlib import Path

import pytest

from measurement import instructions, machine, supervisor, worker

AVX512 = "fma avx2 avx512f avx512vl"


def test_switches_are_set_beside_what_the_user_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/tmp")
    held = supervisor.worker_environment("time", 2, "cpu", isa="avx2")
    assert held["XLA_FLAGS"] == "--xla_dump_to=/tmp --xla_cpu_max_isa=AVX2"
    assert instructions.SWITCHES["avx2"].keys() <= held.keys()
    assert instructions.held_to(held) == "avx2"
    free = supervisor.worker_environment("time", 2, "cpu")
    assert free["XLA_FLAGS"] == "--xla_dump_to=/tmp" and instructions.held_to(free) is None


def test_a_switch_that_a_release_does_not_know_is_taken_back() -> None:
    held = instructions.switches("avx2", {"XLA_FLAGS": "--xla_dump_to=/tmp"})
    assert instructions.without("XLA_FLAGS", held) == "--xla_dump_to=/tmp"
    assert instructions.without("XLA_FLAGS", instructions.switches("avx2", {})) == ""
    assert instructions.without("XLA_FLAGS", {}) == ""


def test_a_processor_without_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "cpu_flags", lambda: "sse2 avx")
    job = {"kind": "check", "identity": {"implementation": "none/none"}, "check": {}}
    job |= {"held_to": {"sources": "", "environment": {}, "beside": {}}}
    found = worker.attempt(job | {"benchmark": {"isa": "avx2"}}, print, str(tmp_path))
    assert found == {"status": "unsupported", "reason": "this processor has no AVX2"}


@pytest.mark.parametrize(
    ("flags", "told", "reason"),
    [
        ("fma avx2", {"threads": None, "beyond": None}, ""),  # there is nothing to hide
        (AVX512, {"threads": 3, "beyond": 0}, ""),
        (AVX512, {"threads": None, "beyond": None}, "cannot verify that it was limited to AVX2"),
        (AVX512, {"threads": 3, "beyond": 2}, "still uses AVX-512 (in 2 of its 3 threads)"),
    ],
)
def test_only_a_row_that_kept_to_it_is_timed(flags, told, reason, monkeypatch) -> None:
    monkeypatch.setattr(machine, "cpu_flags", lambda: flags)
    found = instructions.refusal("avx2", told)
    assert reason in found and bool(found) == bool(reason)


def test_threads_that_were_seen_before_the_run_do_not_count() -> None:
    since = {"1": -1, "2": 3_600_000, "3": 4}  # never, an hour ago, 4 ms ago
    assert instructions.seen(lambda: None, lambda: since) == {"threads": 3, "beyond": 1}
    assert instructions.seen(lambda: None, dict) == {"threads": None, "beyond": None}


def test_hidden_flags_are_those_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpu_flags", lambda: AVX512 + " amx_tile")
    assert instructions.visible("avx2") == {"fma", "avx2"}
    assert instructions.visible(None) == {*AVX512.split(), "amx_tile"}


@pytest.mark.skipif("avx512f" not in machine.cpu_flags(), reason="the CPU has no AVX-512")
@pytest.mark.skipif(not instructions._since_ms(), reason="the system does not tell")
@pytest.mark.parametrize("isa", ["avx2", None])
def test_products_of_numpy_are_seen(isa: str | None) -> None:
    """Held to AVX2 they are not seen, otherwise they are."""
    code = (
        "import numpy as np; from measurement import instructions\n"
        "x = np.ones((600, 600), np.float32)\n"
        "print(instructions.seen(lambda: [x @ x for _ in range(20)])['beyond'] > 0)"
    )
    variables = supervisor.worker_environment("check", 2, "cpu", isa=isa)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=variables)
    assert done.stdout.strip() == str(isa is None)
