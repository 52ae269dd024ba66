"""Wheels bring kernels of LSTM and GRU along, where there is a C compiler to build them; without one they are pure Python."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent / "src"))

from recurrent_cells.codegen import CompilerError, prebuilt


class Build(build_py):
    """Also compiles."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        try:
            prebuilt.build(Path(self.build_lib, "recurrent_cells/codegen/prebuilt"))
        except CompilerError as reason:
            print(f"without ready-made kernels: {reason}")


class Wheel(bdist_wheel):
    """For this platform and any Python 3, as kernels are no extension modules."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": Build, "bdist_wheel": Wheel})
