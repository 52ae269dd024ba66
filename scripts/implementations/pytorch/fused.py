"""nn.LSTM over all layers and steps without cuDNN: oneDNN or ATen kernels.

On a CPU that is oneDNN where the version has it for LSTM, else ATen's C++ loop; on a GPU, with cuDNN
switched off, ATen's loop with one matrix product and one fused kernel a step.
"""

import torch
from torch.nn.utils import rnn

from .model import Model

DATA_TYPES = ("float32", "bfloat16")  # by autocast


def whole_sequence(workload, layers, training):
    """nn.LSTM on the weights `layers` themselves, no copies, as a stack of model.py."""
    both = workload.bidirectional
    shape = workload.features, workload.hidden, workload.layers
    lstm = torch.nn.LSTM(*shape, bidirectional=both, dropout=workload.dropout)  # between layers
    lstm.to(layers[0][0].device)
    ways = ["", "_reverse"] if both else [""]
    names = ["l%d%s" % (layer, way) for layer in range(workload.layers) for way in ways]
    for name, (w_input, w_recurrent, bias) in zip(names, layers):
        setattr(lstm, "weight_ih_" + name, w_input)
        setattr(lstm, "weight_hh_" + name, w_recurrent)
        setattr(lstm, "bias_ih_" + name, bias)
        # The model has one bias: the second stays zero, or Adam would move their sum twice as far.
        second = getattr(lstm, "bias_hh_" + name).requires_grad_(False)
        second.zero_()
    lstm.flatten_parameters()  # one chunk of memory, as cuDNN wants it; nothing otherwise
    lstm.train(training)
    if workload.carried:
        return lambda x, layers, state: lstm(x, state)
    if workload.lengths is None:
        return lambda x, layers: lstm(x)[0]
    lengths = torch.from_numpy(workload.lengths)

    def packed(x, layers):
        """x [T, B, D] -> h [T, B, 2H], zero after a sequence's end: what nn.LSTM has for lengths that differ."""
        h = lstm(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))[0]
        return rnn.pad_packed_sequence(h, total_length=x.size(0))[0]

    return packed


def build(workload, weights, device, phase):
    runner = Model(workload, weights, device, phase)
    torch.backends.cudnn.enabled = False
    runner.stack = whole_sequence(workload, runner.layers, runner.training)
    return runner
