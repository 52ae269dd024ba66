"""What the template knows of a machine: rows of kinds of CPU, caches as the system tells them, tiles and blocks from these."""

import platform
from pathlib import Path

import pytest

from kernels.target import CACHES, KINDS, Kind, core_of, cpu_caches, cpu_target
from kernels.template import blocking
from measurement.contract import Unsupported


def of_kind(kind: Kind) -> dict:
    # Caches of its own: those of this machine are not what is tested.
    return cpu_target(2, kind.flags, kind.architecture, caches=kind.caches)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.mcpu)
def test_a_row_is_found_by_its_flags_and_by_its_target(kind: Kind) -> None:
    target = of_kind(kind)
    assert (target["mcpu"], target["num-cores"]) == (kind.mcpu, 2)
    core = core_of(target)
    assert (core.lanes, core.registers) == (kind.lanes, kind.registers)
    assert (core.first, core.second, core.shared) == kind.caches
    assert core.avx512 == (core.lanes == 16)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.mcpu)
@pytest.mark.parametrize("vectors", range(1, 5))
def test_a_tile_fits_into_the_registers_and_a_taller_one_does_not(kind: Kind, vectors: int) -> None:
    rows = blocking.tallest(core_of(of_kind(kind)), vectors)

    def needed(rows: int) -> int:
        return rows * vectors + vectors + 1

    assert needed(rows) <= kind.registers < needed(rows + 1)


@pytest.mark.parametrize(
    ("told", "sizes"),
    [
        (["1 Data 48K", "1 Instruction 32K", "2 Unified 2048K", "3 Unified 9K"], (48, 2048, 9)),
        (["1 Data 64K", "2 Unified 1024K"], (64, 1024, 1024)),  # shares its second level
        ([], None),
        (["1 Data 32K"], None),
        (["1 Data many"], None),
    ],
)
def test_caches_as_the_system_tells_them(tmp_path: Path, told: list, sizes: tuple | None) -> None:
    for number, row in enumerate(told):
        (folder := tmp_path / f"index{number}").mkdir()
        for name, value in zip(("level", "type", "size"), row.split(), strict=True):
            (folder / name).write_text(value + "\n")
    assert cpu_caches(tmp_path) == (sizes and tuple(size << 10 for size in sizes))


def test_caches_of_another_machine_are_the_rows_own() -> None:
    elsewhere = "x86_64" if platform.machine() == "aarch64" else "aarch64"
    kind = [kind for kind in KINDS if kind.architecture == elsewhere][-1]
    assert cpu_target(1, frozenset(), elsewhere)[CACHES] == list(kind.caches)


def test_what_no_row_knows_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="riscv64"):
        cpu_target(1, frozenset(), "riscv64")
    with pytest.raises(Unsupported, match="does not run on 'cuda'"):
        core_of({"kind": "cuda"})
    with pytest.raises(Unsupported, match=r"target\.py tells what 'tomorrow'"):
        core_of({"kind": "llvm", "mcpu": "tomorrow"})
