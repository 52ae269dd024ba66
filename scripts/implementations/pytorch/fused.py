"""nn.LSTM over all layers and steps without cuDNN: oneDNN or ATen kernels.

On a CPU that is oneDNN where the version has it for LSTM, else ATen's C++ loop; on a GPU, with cuDNN
switched off, ATen's loop with one matrix product and one fused kernel a step.
"""

import torch

from .model import LanguageModel


def whole_sequence(workload, layers, training):
    """nn.LSTM on the weights `layers` themselves, no copies; x [T, B, E] -> (h [T, B, H], state)."""
    lstm = torch.nn.LSTM(workload.features, workload.hidden, workload.layers)
    lstm.to(layers[0][0].device)
    for layer, (w_input, w_recurrent, bias) in enumerate(layers):
        setattr(lstm, "weight_ih_l%d" % layer, w_input)
        setattr(lstm, "weight_hh_l%d" % layer, w_recurrent)
        setattr(lstm, "bias_ih_l%d" % layer, bias)
        # The model has one bias: the second stays zero, or Adam would move their sum twice as far.
        second = getattr(lstm, "bias_hh_l%d" % layer).requires_grad_(False)
        second.zero_()
    lstm.flatten_parameters()  # one chunk of memory, as cuDNN wants it; nothing otherwise
    return lstm.train(training)


def build(workload, weights, device, phase):
    runner = LanguageModel(workload, weights, device, phase, lambda x, layers: lstm(x)[0])
    torch.backends.cudnn.enabled = False
    lstm = whole_sequence(workload, runner.layers, runner.training)
    return runner
