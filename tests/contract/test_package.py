"""The tests of packages/recurrent_cells that need PyTorch, in its environment."""

import subprocess
import sysconfig

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
