"""nn.LSTM's oneDNN operator for inference, its weights reordered once when it is built.

nn.LSTM hands oneDNN the weights as PyTorch has them, which reorders them at every call; TVM's kernels and ONNX Runtime
do so when they are built. These are the operators that torch.compile's freezing calls, a layer each.
"""

import torch

from measurement.contract import Unsupported

from .model import Model

LSTM = 2  # the operator's mode


def packed(workload, layers):
    """A stack of model.py over weights in oneDNN's own layout."""
    hidden, features = workload.hidden, workload.features
    ready = []
    for number, (w_input, w_recurrent, bias) in enumerate(layers):
        width = hidden if number else features
        weights = torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(
            w_input.detach(),
            w_recurrent.detach(),
            hidden,
            False,  # reverse
            True,  # has biases
            False,  # batch first
            [workload.length, workload.batch, width],
        )
        ready.append((*weights, bias.detach(), torch.zeros_like(bias)))

    def lstm_stack(x, _):
        """x [T, B, D] -> h [T, B, H], from zero states."""
        for w_input, w_recurrent, bias, second in ready:
            zeros = x.new_zeros(1, x.size(1), hidden)
            x = torch.ops.aten.mkldnn_rnn_layer(
                *(x, w_input, w_recurrent, bias, second, zeros, zeros),
                *(False, [], LSTM, hidden, 1, True, False, False, False),
            )[0]
        return x

    return lstm_stack


def build(workload, weights, device, phase):
    if phase == "training" or device != "cpu":
        raise Unsupported("packed weights are for inference on a CPU")
    if not hasattr(torch.ops.mkldnn, "_reorder_mkldnn_rnn_layer_weight"):
        raise Unsupported("PyTorch %s cannot reorder the weights of an LSTM" % torch.__version__)
    if workload.carried or workload.bidirectional or workload.lengths is not None:
        raise Unsupported("it runs layers one way, from zero states, over whole sequences")
    runner = Model(workload, weights, device, phase)
    runner.stack = packed(workload, runner.layers)
    return runner
