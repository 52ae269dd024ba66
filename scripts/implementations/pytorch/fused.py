"""nn.LSTM, or nn.GRU, over all layers and steps without cuDNN: oneDNN or ATen kernels.

On a CPU that is oneDNN where the version has it for LSTM, else ATen's C++ loop; on a GPU, with cuDNN
switched off, ATen's loop with one matrix product and one fused kernel a step.
"""

import torch
from torch.nn.utils import rnn

from measurement import precision
from measurement.contract import Unsupported

from .cell import gru_biases
from .model import Model, both_ways, rounded

DATA_TYPES = ("float32", "bfloat16", "int8")  # by autocast and quantize_dynamic


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
    if workload.data_type == precision.INT8:
        lstm = rounded(lstm)
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


def whole_gru(workload, layers, training):
    """nn.GRU's operator on the weights `layers` themselves, its biases made of the model's, as a stack of model.py."""

    if workload.data_type == precision.INT8:
        return rounded_gru(workload, layers)

    def stack(x, layers):
        zeros = x.new_zeros(len(layers), x.size(1), workload.hidden)
        weights = [each for *w, bias in layers for each in (*w, *gru_biases(bias))]
        # has biases, layers, dropout, training, bidirectional, batch first
        return torch.gru(x, zeros, weights, True, len(layers), 0.0, training, False, False)[0]

    return stack if not workload.bidirectional else both_ways(stack, order=None)


def rounded_gru(workload, layers):
    """nn.GRU in int8 as a stack, weights copied."""
    if workload.bidirectional:
        raise Unsupported("this row runs nn.GRU in int8 one way")
    gru = torch.nn.GRU(workload.features, workload.hidden, workload.layers)
    names = ("weight_ih_l%d", "weight_hh_l%d", "bias_ih_l%d", "bias_hh_l%d")
    with torch.no_grad():
        for number, (*matrices, bias) in enumerate(layers):
            for name, weight in zip(names, (*matrices, *gru_biases(bias))):
                getattr(gru, name % number).copy_(weight)
    gru = rounded(gru)
    return lambda x, layers: gru(x)[0]


KERNELS = {"lstm": whole_sequence, "gru": whole_gru}


def model(workload, weights, device, phase):
    """The model whose stack the operator is; raises Unsupported for a cell that has none."""
    reason = "PyTorch has no such cell of its own: nn.LSTM and nn.GRU are all"
    runner = Model(workload, weights, device, phase, cells=KERNELS, reason=reason)
    if workload.cell != "lstm" and (workload.carried or workload.lengths is not None):
        raise Unsupported("this row runs nn.GRU over whole sequences from zero states")
    return runner


def build(workload, weights, device, phase):
    runner = model(workload, weights, device, phase)
    torch.backends.cudnn.enabled = False
    runner.stack = KERNELS[workload.cell](workload, runner.layers, runner.training)
    return runner
