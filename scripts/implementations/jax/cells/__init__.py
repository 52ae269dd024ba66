"""Recurrent cells, a file each, which every style of operators takes. A cell is

    step(from_input, states, w_recurrent, own) -> new states

from_input [B, gates * H]: the input's products, the gates' biases added; states: a list, the output first, [B, H] each;
w_recurrent [H, gates * H]; own: what else the cell has, [H] each: biases of products that are kept apart, then its vectors;
and matrices, [H, H / heads] each.
"""

from jax import numpy as jnp

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
    generated("jax", "step"),
)


def divided(kind, w_input, w_recurrent, bias, *vectors):
    """A layer's weights, of a cell as data, as (w_recurrent without its matrices, the biases of gates that read x, own)."""
    hidden, gates = w_recurrent.shape[0], w_input.shape[1]
    matrices = []
    if kind.matrices:
        size, first = hidden // kind.heads, len(kind.of_h)
        ends = [(first + place) * size for place in range(len(kind.matrices))]
        w_recurrent, *matrices = jnp.split(w_recurrent, ends, axis=1)
    if bias.shape[0] == gates and not vectors:
        return w_recurrent, bias, matrices
    own = jnp.concatenate([bias[gates:], *vectors]).reshape(-1, hidden)
    return w_recurrent, bias[:gates], list(jnp.unstack(own)) + matrices
