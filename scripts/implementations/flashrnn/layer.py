"""One layer by a backend of FlashRNN, which has the recurrence; the input's product is PyTorch's."""

import os
import sys
import types

import torch
from flashrnn import FlashRNNConfig, flashrnn
from flashrnn.flashrnn import cuda_init
from torch.utils import cpp_extension

from implementations.pytorch.model import Model, from_zeros
from measurement.contract import Unsupported

THREADS_OF_A_BLOCK = 1024  # at most, of every GPU since CUDA's compute capability 2.0


def gpu_info(device_id):
    """What FlashRNN's fused kernel is laid out by, under the names of cudaDeviceProp."""
    found = torch.cuda.get_device_properties(device_id)
    return {
        "maxThreadsPerBlock": THREADS_OF_A_BLOCK,
        "multiProcessorCount": found.multi_processor_count,
        "regsPerMultiprocessor": found.regs_per_multiprocessor,
        "sharedMemPerBlockOptin": found.shared_memory_per_block_optin,
    }


# Before each of several loads it waits for up to ten seconds, lest processes that compile meet; PyTorch's lock sees to that.
cuda_init.time = types.SimpleNamespace(sleep=lambda seconds: None)
# It builds a module of its own to ask a GPU, of fields that CUDA 13 has no longer (FlashRNN 1.0.8); PyTorch says as much.
sys.modules["flashrnn.flashrnn.flashrnn"].get_gpu_info = gpu_info
# It looks for cuBLAS in lib/ beside the headers, which is lib64/ where NVIDIA's installer has put them.
if not os.path.isdir(os.environ.get("CUDA_LIB", os.curdir)):
    os.environ["CUDA_LIB"] += "64"


def layer_of(backend, batch, hidden):
    """A `layer` as pytorch/model.py has them. One head is a plain LSTM; gates stand in the canonical order."""
    config = FlashRNNConfig(
        backend=backend,
        function="lstm",
        batch_size=batch,
        num_heads=1,
        head_dim=hidden,
        hidden_dim=hidden,
        dtype="float32",
        input_shape="TBGHD",
        output_shape="STBHD",
    )

    def lstm_layer(x, h, c, w_input, w_recurrent, bias):
        length, batch, depth = x.size()
        from_input = x.reshape(length * batch, depth) @ w_input.t()
        states = torch.stack((h, c)).view(2, 1, batch, 1, hidden)
        given = (
            from_input.view(length, batch, 4, 1, hidden),
            w_recurrent.view(4, 1, hidden, hidden),
            bias.view(4, 1, hidden),
            states,
        )
        try:
            found, _ = flashrnn(*given, config=config)
        except ValueError as error:
            if "solution of constraints" not in str(error):
                raise
            raise Unsupported("FlashRNN has no kernel of these sizes for this GPU")
        outputs, cells = found[:, :, :, 0]  # [T, B, H] each
        return outputs, outputs[-1], cells[-1]

    return lstm_layer


class FlashRnn(Model):
    def __init__(self, workload, weights, device, phase, backend):
        layer = layer_of(backend, workload.batch, workload.hidden)
        super().__init__(workload, weights, device, phase, from_zeros(layer), layer)


def built(workload, weights, device, phase, backend):
    if device == "cpu":
        raise Unsupported("FlashRNN's kernels are for NVIDIA GPUs")
    if not cpp_extension.CUDA_HOME:
        raise Unsupported("there is no nvcc on PATH to compile FlashRNN's kernels with")
    return FlashRnn(workload, weights, device, phase, backend)
