"""Generated C against the float64 reference: outputs, states and all gradients, for every cell."""

from __future__ import annotations

import multiprocessing
import shlex
import subprocess
import zlib
from pathlib import Path

import kernel_cases
import numpy as np
import pytest
from given_cells import EXAMPLES, HEADS, MANY, MATRICES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_cases import Case, computed, drawn, expected

from recurrent_cells import CELLS, cell_file
from recurrent_cells.cells.language import Cell, cell, norm
from recurrent_cells.codegen import CompilerError, Kernel, Shape, c_source, kernel, prebuilt
from recurrent_cells.codegen.library import compiler, cpu_flags, library

OF_FILES = {
    name: cell_file.load(path)
    for name, path in {**EXAMPLES, "many": MANY, "heads": HEADS, "matrices": MATRICES}.items()
}
# One of each structure: without a matrix of h; with a second product and no heads.
NARROW = [
    *CELLS.values(),
    *(OF_FILES[name] for name in ("many", "heads", "matrices", "sru", "lem")),
]
EVERY = [
    *((one, {}) for one in (*CELLS.values(), *OF_FILES.values())),
    *((one, {kind: True}) for one in NARROW for kind in ("half", "int8")),
    # Several products, and a transposed one, which bfloat16 refuses.
    *((OF_FILES[name], {"int8": True}) for name in ("mogrifier", "antisymmetric")),
]
IN_TILES = [
    *((one, kind) for one in CELLS.values() for kind in ("half", "int8")),
    *((OF_FILES["many"], "half"), (OF_FILES["sru"], "half"), (OF_FILES["lem"], "int8")),
    (OF_FILES["antisymmetric"], "int8"),
]

TIE = 127 * 2e-6
"""Steps of int8 that float32 may be off by: of a row's largest value, as a share of it."""

NEAR = 2.0**-17
"""What float32 may be off by beside a tie of bfloat16, as a share of a value; where it takes the other side, it is a step off."""
STEP = 2.0**-7
"""A step of bfloat16, at most, as a share of a value."""


@pytest.fixture(scope="module", autouse=True)
def _compiled_quickly() -> None:
    """Not optimised: twenty times as quick to compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECURRENT_CELLS_CFLAGS", "-march=native -O0")
        yield


def check(case: Case, seed: int = 0) -> None:
    """Errors of at most 1e-5, or ten times those of NumPy in float32 where a cell makes more of rounding. Those of int8 are from
    the same products of integers: where float32 takes a value beside a tie to the other side, of what that makes."""
    values = drawn(case, seed)
    if case.half:
        check_half(case, values)
        return
    right = expected(case, kernel_cases.quantised(values) if case.int8 else values)
    for training in (False,) if case.int8 else (True, False):
        found = kernel_cases.errors(computed(case, values, training), right)
        wrong = {name: one for name, one in found.items() if not one <= 1e-5}
        if wrong:
            rounding = rounded(case, values, right)
            wrong = {
                name: one for name, one in wrong.items() if not one <= 1e-5 + 10 * rounding[name]
            }
        assert not wrong, case


def check_half(case: Case, values: kernel_cases.Arrays) -> None:
    right = kernel_cases.expected_in_half(case, values)
    bounds = half_bounds(case, values, right)
    for training in (True, False):
        assert not beyond(bounds, computed(case, values, training), right), case


def half_bounds(
    case: Case, values: kernel_cases.Arrays, right: kernel_cases.Arrays
) -> list[dict[str, float]]:
    """Of the largest error and of the mean one, from the same products of bfloat16 in float64: one value of an array that is a
    step off, and twice what the cell makes of all values beside ties being taken to the other side."""
    near = [kernel_cases.expected_in_half(case, values, by) for by in (NEAR, -NEAR)]
    near.append(kernel_cases.expected_in_half(case, values, kind=np.float32))
    found = []
    for measure in (kernel_cases.errors, kernel_cases.mean_errors):
        known = [measure(one, right) for one in near]
        found.append({name: 2 * max(one[name] for one in known) for name in known[0]})
    one = kernel_cases.one_wrong(right)
    largest, mean = found
    return [
        {name: STEP + bound for name, bound in largest.items()},
        {name: STEP * one[name] + bound for name, bound in mean.items()},
    ]


def beyond(
    bounds: list[dict[str, float]], found: kernel_cases.Arrays, right: kernel_cases.Arrays
) -> set[str]:
    """The arrays that are wrong."""
    measured = kernel_cases.errors(found, right), kernel_cases.mean_errors(found, right)
    pairs = list(zip(measured, bounds, strict=True))
    return {n for own, bound in pairs for n, error in own.items() if not error <= bound[n]}


def rounded(
    case: Case, values: kernel_cases.Arrays, right: kernel_cases.Arrays
) -> dict[str, float]:
    """What rounding alone makes wrong."""
    if case.int8:
        near = [expected(case, kernel_cases.quantised(values, by)) for by in (TIE, -TIE)]
        near.append(expected(case, kernel_cases.quantised(values), np.float32))
        all_errors = [kernel_cases.errors(one, right) for one in near]
        return {name: max(one[name] for one in all_errors) for name in all_errors[0]}
    return kernel_cases.errors(expected(case, values, np.float32), right)


def shaped(cell: Cell, steps: int, batch: int, inputs: int, hidden: int) -> Shape:
    """hidden: rounded up to whole heads. An output that is projected has half as many values."""
    hidden = -(-hidden // cell.heads) * cell.heads
    return Shape(steps, batch, inputs, hidden, (hidden + 1) // 2 if cell.projected else hidden)


@pytest.mark.parametrize(("cell", "kind"), EVERY, ids=lambda one: getattr(one, "name", str(one)))
def test_every_cell(cell: Cell, kind: dict[str, bool]) -> None:
    heads = cell.heads > 1 or cell.of_heads
    mixed = heads or bool(cell.matrices)
    if (heads and kind) or (mixed and kind.get("half")):
        with pytest.raises(CompilerError, match=f"cell {cell.name}: "):
            c_source(cell, **kind)
        return
    check(Case(cell, shaped(cell, 5, 17, 9, 21), **kind))
    lengths, resets = np.array([0, 6, 1, 3, 6, 2, 5, 4, 6, 6, 3, 2, 6]), np.zeros((6, 13))
    resets[2, :5] = resets[0, 3] = resets[5, 8] = 1
    for reverse in (False, True):
        shape = shaped(cell, 6, 13, 20, 33)
        check(Case(cell, shape, lengths, resets, reverse, False, 2, batch_first=True, **kind))
    check(Case(cell, shaped(cell, 7, 2, 5, 40), threads=2, **kind))
    if mixed:
        check(Case(cell, shaped(cell, 3, 7, 5, 192), threads=2, **kind))  # heads of whole vectors


@pytest.mark.parametrize("name", ["gru", "slstm"])
def test_bounds_of_bfloat16_are_exceeded_by_what_is_wrong(name: str) -> None:
    """Weights of any gate that are off by 2 %, an input that is left out, a step that reads the states of the one before."""
    case = Case(CELLS[name], shaped(CELLS[name], 7, 5, 64, 70), half=True)
    values = drawn(case)
    right = kernel_cases.expected_in_half(case, values)
    bounds = half_bounds(case, values, right)

    def is_seen(weights: list[np.ndarray]) -> bool:
        return bool(beyond(bounds, computed(case, {**values, "weights": weights}), right))

    assert not is_seen(values["weights"])
    hidden = case.shape.hidden
    for gate in range(len(case.cell.x_gates)):
        weights = [one.copy() for one in values["weights"]]
        for matrix in weights[:2]:
            matrix[:, gate * hidden : (gate + 1) * hidden] *= np.float32(1.02)
        assert is_seen(weights), gate
    for matrix in range(2):
        weights = [one.copy() for one in values["weights"]]
        weights[matrix][-1] = 0
        assert is_seen(weights)
    stale = computed(case, values)
    stale["y"][3, -1] = stale["y"][2, -1]
    assert beyond(bounds, stale, right) == {"y_0"}


def in_software_tiles(monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """From here on kernels in bfloat16 and int8 compute in tiles, which are functions in C."""
    if "avx512f" not in cpu_flags():
        pytest.skip("tiles are of 16 lanes, which this machine does not have")
    header = Path(__file__).parent / "software_tiles.h"
    made = zlib.crc32(header.read_bytes())
    flags = f"-march=native -O0 -DMADE={made} {more} -include {shlex.quote(str(header))}"
    monkeypatch.setenv("RECURRENT_CELLS_CFLAGS", flags)
    monkeypatch.setattr(kernel, "_kernels", {})


@pytest.mark.parametrize(("cell", "kind"), IN_TILES, ids=lambda one: getattr(one, "name", one))
def test_every_cell_in_tiles(cell: Cell, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_software_tiles(monkeypatch)
    own = {kind: True}
    check(Case(cell, shaped(cell, 3, 33, 9, 21), **own))
    lengths, resets = np.array([0, 6, 1, 3, 6, 2, 5, 4, 6, 6, 3, 2, 6]), np.zeros((6, 13))
    resets[2, :5] = resets[0, 3] = resets[5, 8] = 1
    shape = shaped(cell, 6, 13, 20, 33)
    check(Case(cell, shape, lengths, resets, True, False, 2, batch_first=True, **own))


@pytest.mark.parametrize("refused", [0, 1])
@pytest.mark.parametrize("name", ["lstm", "gru", "projected", "layer_norm"])
def test_sizes_in_tiles(name: str, refused: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_software_tiles(monkeypatch, f"-DREFUSED={refused}")
    cell = CELLS[name]
    few, odd, rest, rows = (9, 1, 5, 40), (7, 5, 64, 70), (4, 10, 37, 66), (2, 70, 32, 64)
    for threads, sizes in ((1, (3, 1, 5, 40)), (1, few), (2, odd), (3, rest), (2, rows)):
        for kind in ({"half": True}, {"int8": True}):
            check(Case(cell, shaped(cell, *sizes), threads=threads, **kind))
    check(Case(cell, shaped(cell, 160, 4, 40, 20), half=True))  # elements of two chunks


@pytest.mark.parametrize(("kind", "instruction"), [("half", "tdpbf16ps"), ("int8", "tdpbusd")])
def test_tiles_are_instructions(kind: str, instruction: str, tmp_path: Path) -> None:
    source, made = tmp_path / "cell.c", tmp_path / "cell.s"
    source.write_text(c_source(CELLS["gru"], **{kind: True}))
    command = [*compiler(), "-std=gnu11", "-march=sapphirerapids", "-Wall", "-Wextra", "-Werror"]
    known = subprocess.run([*command, "-E", "-xc", "/dev/null"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip("the compiler does not know this CPU")
    subprocess.run([*command, "-O0", "-S", str(source), "-o", str(made)], check=True)
    assert instruction in made.read_text()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, {}) for name in ("lstm", "gru", "projected", "layer_norm")),
        *(("lstm", {"half": True}), ("lstm", {"int8": True})),
    ],
    ids=str,
)
def test_weights_that_no_cache_holds(
    name: str, kind: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recurrent_cells.codegen.library.second_level", lambda: 64)
    monkeypatch.setattr(kernel, "_kernels", {})
    lengths = np.array([5, 1, 0, 4, 2] * 9)
    for threads, batch in ((1, 33), (2, 33), (3, 45)):
        shape = shaped(CELLS[name], 5, batch, 30, 260)
        check(Case(CELLS[name], shape, lengths if batch == 45 else None, threads=threads, **kind))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small cases of any kind."""
    cell = CELLS[draw(st.sampled_from(["lstm", "gru", "projected", "layer_norm"]))]
    steps, batch = draw(st.integers(1, 9)), draw(st.integers(1, 20))
    fewest = 8 if cell.norms else 2  # gradients of a norm of two units are what rounding leaves
    inputs, hidden = draw(st.integers(1, 70)), draw(st.integers(fewest, 70))
    outputs = draw(st.integers(1, 40)) if cell.projected else hidden
    random = np.random.default_rng(draw(st.integers(0, 1000)))
    return Case(
        cell,
        Shape(steps, batch, inputs, hidden, outputs),
        random.integers(0, steps + 1, batch) if draw(st.booleans()) else None,
        random.random((steps, batch)) < 0.3 if draw(st.booleans()) else None,
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.integers(1, 3)),
        draw(st.booleans()),
        *draw(st.sampled_from([(False, False), (True, False), (False, True)])),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.integers(0, 100))
def test_any_case(case: Case, seed: int) -> None:
    check(case, seed)


@pytest.mark.parametrize("flags", ["-O0", "-O0 -march=haswell"])
def test_every_kind_of_number_without_wide_vectors(
    flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "haswell" in flags and not {"avx2", "fma"} <= cpu_flags():
        pytest.skip("this machine has no AVX2")
    monkeypatch.setenv("RECURRENT_CELLS_CFLAGS", flags)
    monkeypatch.setattr(kernel, "_kernels", {})
    for kind in ({}, {"half": True}, {"int8": True}):
        check(Case(CELLS["projected"], Shape(5, 17, 9, 21, 11), **kind))


@pytest.mark.parametrize(("threads", "backward"), [(8, 1), (1, 3), (2, 5)])
@pytest.mark.parametrize(("hidden", "batch"), [(13, 3), (13, 20), (40, 20)])
def test_backward_may_have_other_threads(
    hidden: int, batch: int, threads: int, backward: int
) -> None:
    shape = Shape(600 // batch, batch, 9, hidden, hidden)
    check(Case(CELLS["lstm"], shape, threads=threads, threads_backward=backward))


@pytest.mark.parametrize(("steps", "batch"), [(0, 3), (4, 0), (0, 0)])
def test_nothing_to_compute(steps: int, batch: int) -> None:
    check(Case(CELLS["lstm"], Shape(steps, batch, 3, 5, 5), threads=2))


def test_forked_child_computes_on_threads_of_its_own() -> None:
    case = Case(CELLS["lstm"], Shape(5, 20, 8, 40, 40), threads=2)
    check(case)
    child = multiprocessing.get_context("fork").Process(target=check, args=(case,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_cells_without_generated_c_are_refused() -> None:
    @cell(gates="f", states="h", matrices="u")
    def both(f, h, u):  # type: ignore[no-untyped-def]
        return norm(f) + h @ u

    with pytest.raises(CompilerError, match="cell both: "):
        c_source(both)


def test_a_cell_has_one_kernel_and_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Kernel.of(CELLS["lstm"]) is Kernel.of(CELLS["lstm"])
    monkeypatch.setenv("RECURRENT_CELLS_CACHE", str(tmp_path))
    for _ in range(2):
        library("int one(void) { return 1; }", "one")
    (made,) = tmp_path.iterdir()
    whole = made.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-1], b""):
        other = tmp_path / "other"  # a new file: the old one is in this process's memory
        other.write_bytes(damaged)
        other.replace(made)
        library("int one(void) { return 1; }", "one")
        assert made.read_bytes() == whole
    monkeypatch.setenv("CC", "no-such-compiler")
    assert library("int one(void) { return 1; }", "one").one() == 1


def test_compilers_that_are_missing_or_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECURRENT_CELLS_CACHE", str(tmp_path))
    with pytest.raises(CompilerError) as failed:
        library("no C", "wrong")
    assert "\n" not in str(failed.value)
    for wrong in ("no-such-compiler", "true", "'"):
        monkeypatch.setenv("CC", wrong)
        with pytest.raises(CompilerError, match=wrong):
            library("int one(void) { return 1; }", "one")
    assert not list(tmp_path.iterdir())


def test_kernels_of_a_wheel_compute_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prebuilt, "FLAGS", [*prebuilt.FLAGS, "-O0"])
    prebuilt.build(tmp_path)
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
    monkeypatch.setattr(kernel, "_kernels", {})
    monkeypatch.setenv("RECURRENT_CELLS_CACHE", str(tmp_path / "none"))
    monkeypatch.setenv("CC", "no-such-compiler")
    for name in ("lstm", "gru"):
        check(Case(CELLS[name], Shape(5, 17, 9, 21, 21)))
    with pytest.raises(CompilerError):
        Kernel.of(CELLS["mgu"])


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RECURRENT_CELLS_CACHE", str(tmp_path / "file"))
    assert library("int one(void) { return 1; }", "one").one() == 1
