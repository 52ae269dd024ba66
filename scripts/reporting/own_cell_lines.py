"""The lines of code that use a cell's fastest style in a program of one's own. Only Python's own modules: tests run these lines
in the environments that they are for."""

from collections.abc import Mapping

KERNEL = """\
# pip install './packages/recurrent_cells[torch]', in this repository
from recurrent_cells import Recurrent

from {cell} import {cell}  # your file, or {folder}/cell.py

layers = Recurrent({cell}, {features}, {hidden}, num_layers={layers})
y, states = layers(x)  # x [T, B, {features}]; y.sum().backward()
"""
STEPS = """\
# As above, then, while the input arrives{single}:
stream = layers.stream(batch={batch})
y_t = stream.step(x_t)  # x_t [{batch}, {features}]
"""
PYTORCH = """\
import torch
from {cell}_pytorch import step  # {folder}/pytorch.py


{decorator}def layer(x, w_input, w_recurrent, bias, own, states):
    \"\"\"x [T, B, D] -> y [T, B, H] and the last states, a list of [B, H].\"\"\"
    outputs = []
    for from_input in (x @ w_input + bias).unbind(0):
        states = step(from_input, states, w_recurrent, own)
        outputs.append(states[0])
    return torch.stack(outputs), states
"""
SCRIPTED = """\
from typing import List

import torch
from torch import Tensor
from {cell}_pytorch import step  # {folder}/pytorch.py


@torch.jit.script
def layer(x: Tensor, w_input: Tensor, w_recurrent: Tensor, bias: Tensor, own: List[Tensor], states: List[Tensor]):
    \"\"\"x [T, B, D] -> y [T, B, H] and the last states, a list of [B, H].\"\"\"
    outputs: List[Tensor] = []
    for from_input in (x @ w_input + bias).unbind(0):
        states = step(from_input, states, w_recurrent, own)
        outputs.append(states[0])
    return torch.stack(outputs), states
"""
JAX = """\
import jax
from {cell}_jax import step  # {folder}/jax.py


@jax.jit
def layer(x, w_input, w_recurrent, bias, own, states):
    \"\"\"x [T, B, D] -> y [T, B, H] and the last states, a list of [B, H].\"\"\"

    def body(states, from_input):
        states = step(from_input, states, w_recurrent, own)
        return states, states[0]

    states, y = jax.lax.scan(body, states, x @ w_input + bias)
    return y, states
"""
TENSORFLOW = """\
import tensorflow as tf
from {cell}_tensorflow import cell  # {folder}/tensorflow.py


{decorator}def layer(x, w, bias, own, states):
    \"\"\"x [T, B, D] -> y [T, B, H] and the last states, a list of [B, H].\"\"\"
    step, outputs = cell(w, bias, own), []
    for x_t in tf.unstack(x):
        states = step(x_t, states)
        outputs.append(states[0])
    return tf.stack(outputs), states
"""
LOOP = """\
import tensorflow as tf
from {cell}_tensorflow import cell  # {folder}/tensorflow.py


{decorator}def layer(x, w, bias, own, states):
    \"\"\"x [T, B, D] -> y [T, B, H] and the last states, a list of [B, H].\"\"\"
    step, steps = cell(w, bias, own), x.shape[0]

    def body(t, y, *states):
        states = step(x[t], list(states))
        return [t + 1, y.write(t, states[0]), *states]

    first = [0, tf.TensorArray(x.dtype, steps), *states]
    _, y, *states = tf.while_loop(lambda t, *_: t < steps, body, first, maximum_iterations=steps)
    return y.stack(), states
"""
XLA = (
    LOOP
    + """

compiled = tf.function(layer, jit_compile=True)


@tf.function(jit_compile=True)
def trained(x, w, bias, own, states):
    \"\"\"Loss and gradients: XLA wants the loop and the way back through it in one function.\"\"\"
    with tf.GradientTape() as tape:
        tape.watch([w, bias, own])
        y, _ = layer(x, w, bias, own, states)
        loss = tf.reduce_sum(y * y)  # your own
    return loss, tape.gradient(loss, [w, bias, own])
"""
)
CODE: dict[str, tuple[str, str]] = {
    "tvm/template-tuned": (KERNEL, ""),  # not packaged: the same cell as generated C
    "recurrent_cells/module": (KERNEL, ""),
    "pytorch/fine-grained": (PYTORCH, ""),
    "pytorch/fine-grained-jit": (SCRIPTED, ""),
    "pytorch/compiled": (PYTORCH, "@torch.compile(dynamic=False)\n"),
    "pytorch/compiled-graph": (
        PYTORCH,
        "# Before each call: torch.compiler.cudagraph_mark_step_begin(); what it returns is written over by the next one.\n"
        '@torch.compile(dynamic=False, mode="reduce-overhead")\n',
    ),
    "tensorflow/eager-fine-grained": (TENSORFLOW, ""),
    "tensorflow/graph-unrolled": (TENSORFLOW, "@tf.function\n"),
    "tensorflow/graph-while": (LOOP, "@tf.function\n"),
    "tensorflow/graph-xla": (XLA, ""),
    "jax/scan": (JAX, ""),
}
"""By implementation: the lines, and what decorates the function in them. A style that is not here is named by its file."""


def of(implementation: str, cell: str, folder: str, shape: Mapping[str, int]) -> tuple[str, str]:
    """(the lines, what more a kernel has: those of a single step) of a style; "" where it has none. folder: what was made of the
    cell; shape: with `single`, what is said of one sequence."""
    lines, decorator = CODE.get(implementation, ("", ""))
    facts = {"single": "", **shape, "cell": cell, "folder": folder, "decorator": decorator}
    return lines.format(**facts), STEPS.format(**facts) if lines is KERNEL else ""
