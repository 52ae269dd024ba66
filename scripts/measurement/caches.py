"""Where compilers keep what they have compiled for the next process, which would find it instead of building it: in 3 s
instead of 21, torch.compile of five steps of a cell (PyTorch 2.13). Theano's is below TMPDIR.

So every process has an empty folder for it; where a protocol has `compile_once`, those of a cell have one in common. It is
always the same, as much of what compilers leave names the folder that it lies in: found elsewhere, it is compiled again.
"""

import os
import shutil
import tempfile

FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")
# Not JAX's: its operators one by one took 0.83 to 0.90 times as long where they were found in its cache (12 pairs of processes).
WHOLE = "whole"  # a file; there is none while a process may add to the others


def below(folder):
    """Environment variables of a process whose temporary files and compiled code go to a folder of its own."""
    return dict({name: os.path.join(folder, name.lower()) for name in FOLDERS}, TMPDIR=folder)


def share(folder):
    """Have this process's compilers work in a folder of its cell; -> whether an earlier process has left its work there. The
    folder for temporary files too: PyTorch's compiled headers lie in it, and what is compiled depends on where."""
    folder = os.path.abspath(folder)
    temporary = os.path.join(folder, "tmp")
    found = os.path.exists(os.path.join(folder, WHOLE))
    try:
        if found:
            os.unlink(os.path.join(folder, WHOLE))
        else:  # of one that was killed, maybe with half of a file
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(temporary, exist_ok=True)
    except OSError:  # nothing can be written there
        return False
    os.environ.update((name, os.path.join(folder, name.lower())) for name in FOLDERS)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None  # is chosen anew
    return found


def leave(folder):
    """Leave that folder to the cell's next process; where nothing can be written, that one compiles for itself."""
    try:
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, WHOLE), "w").close()
    except OSError:
        pass
