"""Recurrent cells, a file each, which every style of operators takes. A cell is made once a layer and batch:

    cell(w, bias, own) -> step, step(x_t, states) -> new states

w [D + H, gates * H], bias [gates * H]; own: what else the cell has, [H] each: biases of products that are kept apart, then
its vectors, and matrices, [H, H / heads] each; x_t [B, D]; states: a list, the output first, [B, H] each.
"""

from measurement.cells import Known, generated

from . import coupled, gru, layer_norm, lstm, peephole, slstm

CELLS = Known(
    {
        "lstm": lstm.cell,
        "gru": gru.cell,
        "coupled": coupled.cell,
        "peephole": peephole.cell,
        "layer-norm": layer_norm.cell,
        "slstm": slstm.cell,
    },
    generated("tensorflow", "cell"),
)
