"""Theano as Lasagne and Keras of 2018 need it; they import it from here.

Its flags are read when it is imported; and what they name has to be found in the environment itself:
SciPy's wheel brings the OpenBLAS that Theano links its compiled code with.
"""

import ctypes
import glob
import os
import platform
import tempfile

import numpy as np

from measurement import machine

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(np.__file__)))


def flush_denormals():
    """Have this thread, and those that it starts from now on, flush denormal numbers to zero.

    Theano has no switch, and denormals slowed an LSTM's backward pass down twentyfold. The C library
    keeps the flags in the last four bytes of its floating-point environment; elsewhere nothing is done.
    """
    if platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc":
        library, state = ctypes.CDLL("libm.so.6"), np.zeros(8, dtype=np.uint32)
        library.fegetenv(state.ctypes.data_as(ctypes.c_void_p))
        state[7] |= 0x8040  # MXCSR: flush results to zero, take denormal operands as zero
        library.fesetenv(state.ctypes.data_as(ctypes.c_void_p))


def flushes_to_zero():
    """Whether this thread does so: 2e-38 * 1e-2 is denormal."""
    return bool((np.full(1, 2e-38, np.float32) * np.float32(1e-2))[0] == 0)


def openblas():
    """Path of the OpenBLAS in SciPy's wheel; None where there is none."""
    return next(iter(glob.glob(os.path.join(PACKAGES, "scipy.libs", "libopenblas*"))), None)


def flags():
    """Theano's flags for this environment."""
    # By default it would find in the home folder what an earlier process has compiled.
    compiled = os.path.join(tempfile.gettempdir(), "theano")
    found = ["floatX=float32", "device=cpu", "base_compiledir=" + compiled]
    if openblas():
        folder, name = os.path.split(openblas())
        found.append("blas.ldflags=-L%s -l:%s -Xlinker -rpath=%s" % (folder, name, folder))
    warpctc = os.path.join(PACKAGES, "warpctc_pytorch")
    if os.path.isdir(warpctc):  # its wheel has the library for Theano's CTC, and not the header
        found += ["ctc.root=" + warpctc, "gcc.cxxflags=-I" + os.path.join(HERE, "lasagne")]
    return ",".join(found)


if "avx2" in machine.lscpu().get("Flags", "").split():
    # It takes CPUs that came after it for ones of 2004, and then leaves out vectors of more than 128 bits.
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
flush_denormals()  # before OpenBLAS is loaded, whose threads inherit it
os.environ["THEANO_FLAGS"] = flags()

import theano  # noqa: E402

from measurement.contract import Unsupported  # noqa: E402


def configure(device, threads):
    """Set the threads; returns settings for the record. Raises Unsupported where Theano cannot run as it should."""
    if device == "gpu":
        raise Unsupported(
            "Theano %s needs libgpuarray for a GPU, and has none here" % theano.__version__
        )
    if not theano.config.cxx:
        raise Unsupported("Theano needs a C++ compiler (g++); without one it interprets its graphs")
    settings = {
        "threads": threads,
        "flush_to_zero": flushes_to_zero(),
        "openmp": theano.config.openmp,
    }
    if openblas():
        ctypes.CDLL(openblas()).openblas_set_num_threads(threads)
    return settings


def build_facts():
    """What Theano says of itself, for the record."""
    blas = "NumPy's"
    if openblas():
        library = ctypes.CDLL(openblas())
        library.openblas_get_config.restype = ctypes.c_char_p
        blas = library.openblas_get_config().decode().strip()
    return {
        "theano": theano.__version__,
        "blas": blas,
        "cxx": theano.config.cxx,
        "gcc_version": theano.gof.cmodule.gcc_version(),
    }
