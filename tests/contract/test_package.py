"""What of packages/recurrent_cells needs PyTorch, or its environment's setuptools."""

import os
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest

from .running import interpreter, run


def processes(file: str = "", **_: object) -> list[tuple[str, ...]]:
    return [("pytorch", "run_package.py", sysconfig.get_path("purelib"), file)] if file else []


@pytest.mark.parametrize("file", ["test_recurrent.py", "test_export.py", "test_examples.py"])
def test_of_the_package(file: str) -> None:
    (process,) = processes(file)
    assert run(*process) == {"failed": 0}


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
