"""`Recurrent.export_c`: its files compile with GCC and clang, for x86-64 and AArch64, and compute what the layer does."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from given_cells import EXAMPLES, HEADS, MATRICES  # noqa: E402

from recurrent_cells import Recurrent, cell_file  # noqa: E402

LAYERS: dict[str, dict[str, Any]] = {
    "lstm": {"hidden_size": 70},
    "gru": {"num_layers": 3, "batch_first": True, "dropout": 0.5},
    "peephole": {"num_layers": 2, "bidirectional": True, "bias": False},
    "layer_norm": {},
    "projected": {"proj_size": 9, "num_layers": 2},
    "heads": {"hidden_size": 30},
    "matrices": {"hidden_size": 30},
    "mlstm": {"hidden_size": 68, "num_layers": 2},
}
FILES = {"heads": HEADS, "matrices": MATRICES, "mlstm": EXAMPLES["mlstm"]}
SANITIZED = "-march=native -fsanitize=address,undefined -fno-sanitize-recover=all"
# Of each way to compute: by rows, with norms, of matrices, of heads.
FEW = ("gru", "layer_norm", "mlstm", "heads")
COMPILERS = {
    "gcc": f"gcc {SANITIZED}",
    "clang": "clang -march=native",
    "gcc, baseline": "gcc",
    "gcc, AVX2": "gcc -mavx2 -mfma",
    "gcc, AArch64": "aarch64-linux-gnu-gcc -static",
    "clang, AArch64": "clang --target=aarch64-linux-gnu -static",
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("exported")
    for name, options in LAYERS.items():
        one = cell_file.load(FILES[name]) if name in FILES else name
        Recurrent(one, 7, **{"hidden_size": 21, **options}).export_c(folder / name)
    return folder


@pytest.mark.parametrize("compiler", COMPILERS)
def test_files_compile_and_agree_with_the_layer(compiler: str, exported: Path) -> None:
    command = COMPILERS[compiler].split()
    needed = [
        command[0],
        *(["qemu-aarch64", "aarch64-linux-gnu-gcc"] if "AArch64" in compiler else []),
    ]
    if missing := [one for one in needed if shutil.which(one) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    for folder in [exported / name for name in (LAYERS if compiler == "gcc" else FEW)]:
        warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
        built = [*command, "-O1", "-std=gnu99", *warnings, "cell.c", "test.c", "-o", "test"]
        subprocess.run([*built, "-pthread", "-lm"], cwd=folder, check=True)
        run = ["qemu-aarch64"] if "AArch64" in compiler else []
        done = subprocess.run([*run, "./test"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, (folder.name, done.stdout, done.stderr[-2000:])


def test_weights_of_another_layer_are_refused(exported: Path) -> None:
    folder = exported / "lstm"
    built = ["gcc", "-O1", "cell.c", "test.c", "-o", "test", "-pthread", "-lm"]
    subprocess.run(built, cwd=folder, check=True)
    done = subprocess.run(["./test", "../gru/weights.bin"], cwd=folder, capture_output=True)
    assert done.returncode == 2


THREADS = """
#include "cell.h"
int main(void) {
  static float x[2 * CELL_INPUTS], y[2 * CELL_OUTPUTS];
  cell *made = cell_load("weights.bin");
  int failed = cell_forward(made, 2, 1, x, y, 0, 0) | cell_forward(made, 2, 1, x, y, 0, -5);
  cell_stream *stream = cell_stream_make(made, 1, 0);
  const float first = cell_step(stream, x)[0];
  cell_stream_free(stream);
  cell_free(made);
  return failed || first != y[0];
}
"""


def test_no_threads_are_one(exported: Path) -> None:
    folder = exported / "lstm"
    (folder / "threads.c").write_text(THREADS)
    built = ["gcc", "-O1", "-fsanitize=address", "cell.c", "threads.c", "-o", "threads"]
    subprocess.run([*built, "-pthread", "-lm"], cwd=folder, check=True)
    assert subprocess.run(["./threads"], cwd=folder).returncode == 0


def test_two_layers_in_one_cpp_program(tmp_path: Path) -> None:
    for prefix in ("encoder", "decoder"):
        Recurrent("gru", 7, 9 if prefix == "encoder" else 5).export_c(tmp_path, prefix)
    names = ["encoder_cell", "decoder_cell"]
    includes = "".join(f'#include "{name}.h"\n' for name in names)
    loads = " || ".join(f'!{name}_load("{name.replace("cell", "weights")}.bin")' for name in names)
    (tmp_path / "both.cc").write_text(f"{includes}int main() {{ return {loads}; }}\n")
    for name in names:
        subprocess.run(
            ["gcc", "-O1", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=tmp_path, check=True
        )
    linked = ["g++", "both.cc", *(f"{name}.o" for name in names), "-o", "both", "-pthread", "-lm"]
    subprocess.run(linked, cwd=tmp_path, check=True)
    assert subprocess.run(["./both"], cwd=tmp_path).returncode == 0


def test_bfloat16_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bfloat16"):
        Recurrent("lstm", 3, 4, dtype=torch.bfloat16).export_c(tmp_path)
    assert not list(tmp_path.iterdir())
