"""Where compilers keep what they have compiled for the next process, which would find it instead of building it: in 3 s
instead of 21, torch.compile of five steps of a cell (PyTorch 2.13). Theano's is below TMPDIR.

So every process has an empty folder for it; where a protocol has `compile_once`, those of a cell have one in common. It is
always the same, as much of what compilers leave names the folder that it lies in: found elsewhere, it is compiled again.
"""

import os
import shutil
import tempfile

# Not JAX's: its operators one by one took 0.83 to 0.90 times as long where they were found in its cache (12 pairs of processes).
FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")
WHOLE = "whole"  # a file; there is none while a process may add to the others


def below(folder):
    """Environment variables of a process whose temporary files and compiled code go to a folder of its own."""
    return dict({name: os.path.join(folder, name.lower()) for name in FOLDERS}, TMPDIR=folder)


def work_in(folder):
    """Have what this process writes meanwhile, and compiles, go to a folder from now on."""
    os.makedirs(folder, exist_ok=True)
    os.environ.update(below(folder))
    tempfile.tempdir = None  # is chosen anew


def share(folder):
    """Have this process's compilers work in a folder of its cell; -> whether an earlier process has left its work there.
    Temporary files too: PyTorch's compiled headers are among them, and what is compiled depends on where they lie."""
    found = os.path.exists(os.path.join(folder, WHOLE))
    try:
        if found:
            os.unlink(os.path.join(folder, WHOLE))
        else:  # of one that was killed, maybe with half of a file
            shutil.rmtree(folder, ignore_errors=True)
        work_in(os.path.abspath(folder))
    except OSError:  # nothing can be written there
        return False
    return found


def leave(folder):
    """Leave that folder to the cell's next process, if something was compiled there; where nothing can be written, that one
    compiles for itself."""
    if not any(os.path.isdir(path) for path in map(below(folder).get, FOLDERS)):
        return
    try:
        open(os.path.join(folder, WHOLE), "w").close()
    except OSError:
        pass
