"""Recurrent cells, a file each, which every style of operators takes. A cell is

    step(from_input, states, w_recurrent, own) -> new states

from_input [B, gates * H]: the input's products, the gates' biases added; states: a list, the output first, [B, H] each;
w_recurrent [H, gates * H]; own: what else the cell has, [H] each: biases of products that are kept apart, then its vectors.
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


def divided(w_input, w_recurrent, bias, *vectors):
    """A layer's bias and vectors as (the biases of gates that read x, own)."""
    hidden, gates = w_recurrent.shape[0], w_input.shape[1]
    if bias.shape[0] == gates and not vectors:
        return bias, []
    own = jnp.concatenate([bias[gates:], *vectors]).reshape(-1, hidden)
    return bias[:gates], list(jnp.unstack(own))
