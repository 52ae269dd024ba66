"""A persistent kernel, written in CUDA: all steps of a layer in one launch, its weights in shared memory all the time.

persistent.cu has the recurrence, forward and backward; it is compiled by nvcc for the layer's sizes and for this GPU.
The products that wait for no step, of the input and of the weights' gradients, are cuBLAS's. Hidden sizes whose weights
fit the shared memory of all multiprocessors can be had: up to 1024 on an H100, 512 on an A100.
"""

import ctypes
import itertools
import os
import shutil
import subprocess
import tempfile

import torch

from measurement.contract import Unsupported

from .model import Model, from_zeros

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "persistent.cu")
MOST_THREADS = 256


class Sizes(object):
    """What the source is compiled with, see there; `shared`: bytes of a block."""

    def __init__(self, hidden, units, rows, chunk):
        self.hidden, self.units, self.rows, self.chunk = hidden, units, rows, chunk
        self.threads = min(MOST_THREADS, -(-units * rows // 32) * 32)
        # The weights, and backward the tile of four gates and the parts of its sums.
        self.shared = 4 * (4 * hidden * units + 4 * rows * (chunk + 4) + 4 * rows * units)

    def options(self):
        return [
            "-D%s=%d" % (name.upper(), getattr(self, name))
            for name in ("hidden", "units", "rows", "threads", "chunk")
        ]


def chosen(hidden, batch, processors, shared):
    """The Sizes with the least work of a thread, then the least that a block reads, then the fewest that meet, that a GPU with so many
    multiprocessors, and bytes of shared memory each, can hold. Raises Unsupported where there are none."""
    found = []
    for units, chunk in itertools.product((4, 8, 16, 32), (32, 16, 8, 4)):
        if hidden % units or hidden % chunk or hidden // units > processors:
            continue
        groups = min(batch, processors // (hidden // units))
        sizes = Sizes(hidden, units, -(-batch // groups), chunk)
        if sizes.shared <= shared:
            work = -(-units * sizes.rows // sizes.threads)
            found.append(((work, sizes.rows + 4 * units, hidden // units, -chunk), sizes))
    if not found:
        raise Unsupported(
            "%d units at batch %d cannot be shared out evenly so that each of this GPU's %d multiprocessors keeps its "
            "weights in %d KB" % (hidden, batch, processors, shared >> 10)
        )
    return min(found, key=lambda pair: pair[0])[1]


def compiled(sizes, architecture):
    """The source as a library for an architecture (`sm_90`)."""
    if not shutil.which("nvcc"):
        raise Unsupported("there is no nvcc on PATH to compile it with")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "persistent.so")
        command = ["nvcc", "-O3", "-arch=" + architecture, "-shared", "-Xcompiler", "-fPIC"]
        subprocess.check_call(command + sizes.options() + [SOURCE, "-o", library])
        return ctypes.CDLL(library)


class Kernels(object):
    """The two kernels for one hidden size and batch."""

    def __init__(self, library, sizes):
        self._library, self.sizes = library, sizes
        library.words.restype = ctypes.c_char_p

    def launch(self, name, tensors, length, batch, stream):
        """tensors: the kernel's, before `arrived`; None is a null pointer."""
        groups = -(-batch // self.sizes.rows)
        arrived = torch.zeros(groups, dtype=torch.int32, device=tensors[0].device)
        pointers = [
            ctypes.c_void_p(tensor.data_ptr() if tensor is not None else None)
            for tensor in tensors + [arrived]
        ]
        numbers = [ctypes.c_int(number) for number in (length, batch, self.sizes.shared)]
        launched = getattr(self._library, "launch_" + name)
        status = launched(*(pointers + numbers + [ctypes.c_void_p(stream)]))
        if status:
            raise RuntimeError("CUDA: %s" % self._library.words(status).decode())


def stream_of(tensor):
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.is_cuda else None


class Recurrence(torch.autograd.Function):
    """from_input [T, B, 4H], h and c [B, H], weight [4H, H] -> h of all steps [T, B, H], the last c [B, H]. No gradient
    flows to the states, from which batches begin."""

    @staticmethod
    def forward(ctx, kernels, from_input, h, c, weight):
        length, batch, hidden = from_input.size(0), h.size(0), h.size(1)
        units = kernels.sizes.units
        states = h.new_empty(length + 1, batch, hidden)
        cells = torch.empty_like(states)
        states[0], cells[0] = h, c
        gates = torch.empty_like(from_input) if weight.requires_grad else None
        packed = weight.view(4, hidden // units, units, hidden).permute(1, 3, 2, 0).contiguous()
        tensors = [from_input.contiguous(), packed, states, cells, gates]
        kernels.launch("forward", tensors, length, batch, stream_of(h))
        ctx.kernels = kernels
        ctx.save_for_backward(states, cells, gates, weight)
        last = cells[-1].clone()
        ctx.mark_non_differentiable(last)
        return states[1:], last

    @staticmethod
    def backward(ctx, of_h, _):
        states, cells, gates, weight = ctx.saved_tensors
        length, batch, hidden = of_h.shape
        units = ctx.kernels.sizes.units
        packed = weight.view(4, hidden, hidden // units, units).permute(2, 1, 0, 3).contiguous()
        of_gates = torch.empty_like(gates)
        tensors = [of_h.contiguous(), gates, cells, packed, of_gates]
        ctx.kernels.launch("backward", tensors, length, batch, stream_of(of_h))
        rows = of_gates.view(length * batch, 4 * hidden)
        of_weight = rows.t() @ states[:-1].reshape(length * batch, hidden)
        return None, of_gates, None, None, of_weight


def layer_with(kernels):
    """A style's `layer` around the kernels."""

    def lstm_layer(x, h, c, w_input, w_recurrent, bias):
        length, batch, depth = x.size()
        from_input = torch.addmm(bias, x.reshape(length * batch, depth), w_input.t())
        from_input = from_input.view(length, batch, -1)
        outputs, c = Recurrence.apply(kernels, from_input, h, c, w_recurrent)
        return outputs, outputs[-1], c

    return lstm_layer


def build(workload, weights, device, phase):
    if device == "cpu":
        raise Unsupported("the kernel is written for NVIDIA GPUs")
    if not torch.cuda.is_available():
        raise Unsupported("PyTorch %s sees no GPU" % torch.__version__)
    gpu = torch.cuda.get_device_properties(0)
    shared = getattr(gpu, "shared_memory_per_block_optin", 0)
    sizes = chosen(workload.hidden, workload.batch, gpu.multi_processor_count, shared)
    library = compiled(sizes, "sm_%d%d" % (gpu.major, gpu.minor))
    layer = layer_with(Kernels(library, sizes))
    return Model(workload, weights, device, phase, from_zeros(layer), layer)
