"""TVM's kernels for GPUs, as far as that goes without one: schedules, CUDA source, nvcc, and the host's part."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .running import run

WAYS = ("default-rules-gpu", "dlight")


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_gpu_kernels.py")]


def found() -> dict:
    return run("tvm", "run_gpu_kernels.py")


@pytest.mark.parametrize("way", WAYS)
def test_all_steps_agree_with_the_reference(way: str) -> None:
    """With views of the steps of one tensor, of two inputs in turn."""
    assert found()["errors"][way] < 1e-5


def test_rules_for_cuda_are_searched() -> None:
    """Every function has a schedule that keeps a GPU's limits, and that its library is then built of."""
    assert found()["trials"] >= 5


@pytest.mark.parametrize("way", WAYS)
def test_functions_of_a_step_are_kernels(way: str) -> None:
    """Projections of two input sizes, the recurrence, c and h."""
    names = found()["kernels"][way]
    assert all(
        any(name.startswith(each) for name in names)
        for each in ("projected_16", "projected_32", "recurrent", "cell", "hidden")
    )


needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on PATH")


@needs_nvcc
@pytest.mark.long
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("way", WAYS)
def test_kernels_compile_and_are_exact(way: str, architecture: str) -> None:
    """As TVM calls nvcc; and not by the approximate functions of its fast mathematics. (30 s)"""
    compiled = run("tvm", "run_gpu_kernels.py", "--compile")["compiled"][way][architecture]
    assert compiled["bytes"] > 1000
    assert compiled["approximate"] == []


@pytest.fixture(scope="module")
def pretended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """What TVM's rows ask of a device that is none."""
    folder = tmp_path_factory.mktemp("cuda")
    include = Path(shutil.which("nvcc")).resolve().parents[1] / "include"
    if not (include / "cuda.h").exists():
        include = Path("/usr/local/cuda/include")
    (folder / "versions").write_text("libcudart.so.13 { global: *; };")
    library = folder / "libcudart.so.13"
    options = ["-shared", "-fPIC", f"-I{include}", f"-Wl,--version-script,{folder / 'versions'}"]
    source = "tests/contract/pretended_cuda.c"
    subprocess.run(["cc", *options, source, "-o", library], check=True)
    (folder / "libcuda.so.1").symlink_to(library)  # one library, or each would know half of it
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setenv("PRETENDED_CUDA", str(folder / "events"))
        yield run("tvm", "run_pretended_gpu.py")


LAUNCHES = (
    4 * 2 * 4
)  # of four functions a step, of two layers with four steps; more where one has several kernels


@needs_nvcc
@pytest.mark.long
def test_a_graph_is_captured_once_and_replayed(pretended: dict) -> None:
    """With input from pinned memory in one copy; outside the graph nothing is launched but to load the kernels. (60 s)"""
    found = pretended["default-rules-gpu"]
    assert found["arch"] == "sm_90" and found["shape"] == [4, 8, 32]
    built, first, second = found["events"]
    copy = f"copy in {4 * 8 * 16 * 4}"
    assert "pinned" in built and second == [copy, "replay"]
    (captured,) = [each for each in first if each.startswith("captured")]
    launched = first.count("launch")
    assert captured == f"captured {launched}" and launched >= LAUNCHES
    assert first[-1] == "replay" and first[0] == copy
    assert "load fatbin" in first and "load something else" not in first


@needs_nvcc
@pytest.mark.long
def test_the_host_launches_what_is_not_in_a_graph(pretended: dict) -> None:
    _, first, second = pretended["dlight"]["events"]
    assert second.count("launch") == first.count("launch") >= LAUNCHES
    assert not {each for each in first + second if "captured" in each or "replay" in each}
