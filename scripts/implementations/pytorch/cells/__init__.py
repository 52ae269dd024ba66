"""Recurrent cells, a file each, which every style of operators takes. A cell is

    step(from_input, states, recurrent, own) -> new states

from_input [B, gates * H]: the input's products, the gates' biases added; states: the output first, [B, H] each;
recurrent [H, gates * H]; own: what else the cell has, [H] each: biases of products that are kept apart, then its vectors;
and matrices, [H, H / heads] each.
TorchScript compiles them, so the arguments have types.
"""

from measurement.cells import Known, generated

from . import coupled, gru, layer_norm, lstm, peephole, slstm

STEPS = Known(
    {
        "lstm": lstm.step,
        "gru": gru.step,
        "coupled": coupled.step,
        "peephole": peephole.step,
        "layer-norm": layer_norm.step,
        "slstm": slstm.step,
    },
    generated("pytorch", "step"),
)
