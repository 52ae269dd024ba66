"""What of packages/recurrent_cells needs PyTorch, or its environment's setuptools."""

import os
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest

from .running import interpreter

# pytest of the workflow's environment, behind the packages of PyTorch's.
PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@pytest.mark.parametrize("file", ["test_recurrent.py", "test_export.py", "test_examples.py"])
def test_of_the_package(file: str) -> None:
    command = [interpreter("pytorch"), "-c", PROGRAM, sysconfig.get_path("purelib")]
    command += ["-p", "no:cacheprovider", f"packages/recurrent_cells/tests/{file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout or "[100%]" in done.stdout


def test_a_wheel_has_all_files_of_the_source(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree("packages/recurrent_cells", source, ignore=ignored)
    kinds = (".py", ".c", ".h", ".typed")
    files = [each for each in (source / "src").rglob("*") if each.suffix in kinds]
    wanted = {str(each.relative_to(source / "src")) for each in files}
    command = [interpreter("pytorch"), "-m", "pip", "wheel", "--no-build-isolation", "--no-deps"]
    command += ["--no-index", "--wheel-dir", str(tmp_path), str(source)]
    variables = os.environ | {"CC": "/nonexistent"}  # compiles no kernels to bring along
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name.rpartition("purelib/")[2] for name in archive.namelist()}
    assert wanted and wanted <= found
