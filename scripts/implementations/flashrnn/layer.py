"""One layer by a backend of FlashRNN, which has the recurrence; the input's product is PyTorch's."""

import torch
from flashrnn import FlashRNNConfig, flashrnn

from implementations.contract import Unsupported
from implementations.pytorch.model import Model, from_zeros


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
        found, _ = flashrnn(
            from_input.view(length, batch, 4, 1, hidden),
            w_recurrent.view(4, 1, hidden, hidden),
            bias.view(4, 1, hidden),
            states,
            config=config,
        )
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
    return FlashRnn(workload, weights, device, phase, backend)
