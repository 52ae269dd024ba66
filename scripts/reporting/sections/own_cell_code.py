"""The lines that use a cell's fastest styles in a program of one's own."""

from collections.abc import Mapping

from plan import own
from reporting.sections import Tables
from reporting.sections.own_cell import answers, name, pairs

KERNEL = """\
# pip install '.[torch]', in this repository
from recurrent_cells import Recurrent

from {module} import {cell}

layers = Recurrent({cell}, {features}, {hidden}, num_layers={layers})
y, states = layers(x)  # x [T, B, {features}]; y.sum().backward()
"""
SAVED = """\
# As above, then: layers.save("{cell}", batch={batch}, length={length})
import recurrent_cells

layers = recurrent_cells.load("{cell}")  # neither PyTorch nor a compiler
y, states = layers(x)  # x [{length}, {batch}, {features}], of NumPy
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
    step, steps = cell(w, bias, own), len(x)

    def body(t, y, *states):
        states = step(x[t], list(states))
        return [t + 1, y.write(t, states[0]), *states]

    first = [0, tf.TensorArray(x.dtype, steps), *states]
    _, y, *states = tf.while_loop(lambda t, *_: t < steps, body, first)
    return y.stack(), states
"""
CODE: dict[str, tuple[str, str]] = {
    "tvm/template-tuned": (KERNEL, ""),
    "pytorch/fine-grained": (PYTORCH, ""),
    "pytorch/fine-grained-jit": (SCRIPTED, ""),
    "pytorch/compiled": (PYTORCH, "@torch.compile(dynamic=False)\n"),
    "tensorflow/eager-fine-grained": (TENSORFLOW, ""),
    "tensorflow/graph-unrolled": (TENSORFLOW, "@tf.function\n"),
    "tensorflow/graph-while": (LOOP, "@tf.function\n"),
    "tensorflow/graph-xla": (LOOP, "@tf.function(jit_compile=True)\n"),
    "jax/scan": (JAX, ""),
}
"""By implementation: the lines, and what decorates the function in them. A style that is not here is named by its file."""


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"winners": [{"label", "for": [what for], "code", "file": the style's, "step": the generated one}], "folder"}"""
    said = [
        each
        for request in (False, True)
        for each in answers(pairs(tables, about, request), request)
    ]
    if not said:
        return None
    cell = own.name_of(name(about))
    folder = f"{own.FOLDER}/{cell}"
    shapes = about["document"]["benchmarks"]
    shape = next(each for each in shapes.values() if each.get("cell") == name(about))
    facts = {**shape, "cell": cell, "module": cell, "folder": folder}
    found: dict[str, dict] = {}
    for each in said:
        row = found.setdefault(
            each["implementation"],
            {
                "label": each["label"],
                "for": [],
                "code": "",
                "file": file_of(each["implementation"]),
            },
        )
        purpose = "one sequence" if each["request"] else each["phase"]
        row["for"] += [] if purpose in row["for"] else [purpose]
    for implementation, row in found.items():
        lines, decorator = CODE.get(implementation, ("", ""))
        row["more"] = ""
        row["code"] = lines.format(**facts, decorator=decorator)
        if lines is KERNEL and {"forward", "one sequence"} & set(row["for"]):
            batch = 1 if row["for"] == ["one sequence"] else shape["batch"]
            row["more"] = SAVED.format(**{**facts, "batch": batch})
        framework = implementation.partition("/")[0]
        row["step"] = f"{folder}/{own.FRAMEWORKS.get(framework, framework)}.py"
    return {"winners": list(found.values()), "cell": cell, "folder": folder}


def file_of(implementation: str) -> str:
    return f"scripts/implementations/{implementation.replace('-', '_')}.py"
