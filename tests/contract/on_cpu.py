"""Rows that are for GPUs only, as far as a CPU runs them: the same mathematics, launched in another way.

Instead of replaying a CUDA graph, the function that it is of is called again, on the same fixed tensors. Triton's kernels
run in its interpreter.
"""

import ctypes
import functools
import os
import subprocess
import tempfile

os.environ["TRITON_INTERPRET"] = "1"

from implementations.pytorch import cell, fine_grained, graphs, persistent, triton_step
from implementations.pytorch.cells import STEPS
from implementations.pytorch.model import Model, from_zeros

graphs.captured = lambda function: function
graphs.beside = lambda function, times: [function() for _ in range(times)]


def fine_grained_graph(workload, weights, device, phase):
    stack = fine_grained.stack_of(workload.cell)
    return graphs.Graphed(workload, weights, device, phase, stack, cells=STEPS)


def cell_graph(workload, weights, device, phase):
    return graphs.Graphed(workload, weights, device, phase, cell.lstm_stack, cell.lstm_layer)


def triton(workload, weights, device, phase):
    stack = fine_grained.unrolled(triton_step.lstm_cell)
    return Model(workload, weights, device, phase, stack)


def triton_graph(workload, weights, device, phase):
    stack = fine_grained.unrolled(triton_step.lstm_cell)
    return graphs.Graphed(workload, weights, device, phase, stack)


@functools.lru_cache(None)
def emulated(options):
    """persistent.cu with these options as a library in which threads stand for CUDA's."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "persistent.so")
        own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "emulated_cuda.cpp")
        command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread"]
        named = f'-DPERSISTENT="{persistent.SOURCE}"'
        subprocess.check_call(command + list(options) + [named, own, "-o", library])
        return ctypes.CDLL(library)


def persistent_kernel(workload, weights, device, phase):
    """On a GPU of eight multiprocessors, with which blocks have to wait for one another, and share a batch."""
    sizes = persistent.chosen(workload.hidden, workload.batch, 8, 2**16)
    library = emulated(tuple(sizes.options()))
    layer = persistent.layer_with(persistent.Kernels(library, sizes))
    return Model(workload, weights, device, phase, from_zeros(layer), layer)


def flashrnn(workload, weights, device, phase):
    """FlashRNN's own reference, of the layouts that its kernels take."""
    from implementations.flashrnn.layer import FlashRnn

    return FlashRnn(workload, weights, device, phase, "vanilla")
