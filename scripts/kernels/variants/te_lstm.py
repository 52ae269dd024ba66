"""The LSTM written naturally in tensor expressions, without any schedule.

This is what a user would give the compiler: one step (or all steps, unrolled) of plain matrix
products and activations, weights in the project's layout [K, 4H], gates i, f, g, o.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import te, tirx

from ..spec import KernelSpec

Tensor = Any


def step_module(spec: KernelSpec, input_size: int) -> tvm.ir.IRModule:
    """One step: (x [B, K], w_input, w_recurrent, bias, h, c) to new h and c [B, H]."""
    batch, hidden = spec.batch, spec.hidden_size
    x = te.placeholder((batch, input_size), name="x")
    w_input = te.placeholder((input_size, 4 * hidden), name="w_input")
    w_recurrent = te.placeholder((hidden, 4 * hidden), name="w_recurrent")
    bias = te.placeholder((4 * hidden,), name="bias")
    h = te.placeholder((batch, hidden), name="h")
    c = te.placeholder((batch, hidden), name="c")
    projected = _matmul(x, w_input, "projected")
    recurrent = _matmul(h, w_recurrent, "recurrent")
    new_h, new_c = _cell(projected, recurrent, bias, c, "step")
    return _module([x, w_input, w_recurrent, bias, h, c], [new_h, new_c])


def split_step_modules(spec: KernelSpec, input_size: int) -> dict[str, tvm.ir.IRModule]:
    """The step as functions of one output each, which GPU schedules need.

    projected: (x [B, K], w_input) to p [B, 4H]; recurrent: (h, w_recurrent) to r [B, 4H]; cell:
    (p, r, bias, c) to the new c [B, H]; hidden: (p, r, bias, new c) to the new h [B, H].
    """
    batch, hidden = spec.batch, spec.hidden_size
    x = te.placeholder((batch, input_size), name="x")
    w_input = te.placeholder((input_size, 4 * hidden), name="w_input")
    h = te.placeholder((batch, hidden), name="h")
    weight = te.placeholder((hidden, 4 * hidden), name="w_recurrent")
    projected = te.placeholder((batch, 4 * hidden), name="p")
    recurrent = te.placeholder((batch, 4 * hidden), name="r")
    bias = te.placeholder((4 * hidden,), name="bias")
    c = te.placeholder((batch, hidden), name="c")
    i, f, g, o = _gates(projected, recurrent, bias, c, "step")
    new_c = te.compute(c.shape, lambda m, n: f[m, n] * c[m, n] + i[m, n] * g[m, n], "new_c")
    new_h = te.compute(c.shape, lambda m, n: o[m, n] * te.tanh(c[m, n]), "new_h")
    arguments = [projected, recurrent, bias, c]
    return {
        f"projected_{input_size}": _module([x, w_input], [_matmul(x, w_input, "projected")]),
        "recurrent": _module([h, weight], [_matmul(h, weight, "recurrent")]),
        "cell": _module(arguments, [new_c]),
        "hidden": _module(arguments, [new_h]),
    }


def split_step_functions(spec: KernelSpec) -> dict[str, tvm.ir.IRModule]:
    """Those of all layers by name: one `projected_K` for each different input size."""
    return {
        name: module
        for size in sorted(set(spec.input_sizes()))
        for name, module in split_step_modules(spec, size).items()
    }


def unrolled_module(spec: KernelSpec) -> tvm.ir.IRModule:
    """All layers and steps unrolled into one function: x [T, B, K], then w_input, w_recurrent
    and bias of every layer; then y [T, B, H] as its outputs of every step, one after another.

    This is document 002's own way; it is kept as evidence of its cost.
    """
    batch, hidden = spec.batch, spec.hidden_size
    x = te.placeholder((spec.length, batch, spec.input_size), name="x")
    parameters: list[Tensor] = []
    sequence = [_step_of(x, step) for step in range(spec.length)]
    for layer, size in enumerate(spec.input_sizes()):
        w_input = te.placeholder((size, 4 * hidden), name=f"w_input{layer}")
        w_recurrent = te.placeholder((hidden, 4 * hidden), name=f"w_recurrent{layer}")
        bias = te.placeholder((4 * hidden,), name=f"bias{layer}")
        parameters += [w_input, w_recurrent, bias]
        h = _zeros(batch, hidden, f"h{layer}")
        c = _zeros(batch, hidden, f"c{layer}")
        outputs = []
        for t, value in enumerate(sequence):
            name = f"l{layer}t{t}"
            projected = _matmul(value, w_input, f"{name}_input")
            recurrent = _matmul(h, w_recurrent, f"{name}_recurrent")
            h, c = _cell(projected, recurrent, bias, c, name)
            outputs.append(h)
        sequence = outputs
    return _module([x, *parameters], sequence)


def _step_of(x: Tensor, step: int) -> Tensor:
    return te.compute(x.shape[1:], lambda m, k: x[step, m, k], name=f"x{step}")


def _zeros(rows: int, columns: int, name: str) -> Tensor:
    return te.compute((rows, columns), lambda m, n: tirx.const(0, "float32"), name=name)


def _matmul(a: Tensor, b: Tensor, name: str) -> Tensor:
    k = te.reduce_axis((0, b.shape[0]), name=f"{name}_k")
    return te.compute(
        (a.shape[0], b.shape[1]), lambda m, n: te.sum(a[m, k] * b[k, n], axis=k), name=name
    )


def _gates(
    projected: Tensor, recurrent: Tensor, bias: Tensor, c: Tensor, name: str
) -> list[Tensor]:
    """Activated gates i, f, g, o, each [B, H]."""
    hidden = c.shape[1]

    def gate(index: int, activation: Any) -> Any:
        def value(m: Any, n: Any) -> Any:
            column = n + index * hidden
            return activation(projected[m, column] + recurrent[m, column] + bias[column])

        return value

    activations = [("i", te.sigmoid), ("f", te.sigmoid), ("g", te.tanh), ("o", te.sigmoid)]
    return [
        te.compute(c.shape, gate(index, activation), name=f"{name}_{letter}")
        for index, (letter, activation) in enumerate(activations)
    ]


def _cell(
    projected: Tensor, recurrent: Tensor, bias: Tensor, c: Tensor, name: str
) -> tuple[Tensor, Tensor]:
    i, f, g, o = _gates(projected, recurrent, bias, c, name)
    new_c = te.compute(c.shape, lambda m, n: f[m, n] * c[m, n] + i[m, n] * g[m, n], f"{name}_c")
    new_h = te.compute(c.shape, lambda m, n: o[m, n] * te.tanh(new_c[m, n]), f"{name}_h")
    return new_h, new_c


def in_memory_order(module: tvm.ir.IRModule) -> tvm.ir.IRModule:
    """Every matrix product with its reduction outside the loop over columns, as plain C would have it:
    a tensor expression's own order walks the weights against their layout, 20 times slower."""
    schedule = tvm.s_tir.Schedule(module)
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        loops = schedule.get_loops(block)
        if len(loops) == 3:  # rows, columns, reduction
            schedule.reorder(loops[2], loops[1])
    return schedule.mod


def _module(inputs: list[Tensor], outputs: list[Tensor]) -> tvm.ir.IRModule:
    function = te.create_prim_func([*inputs, *outputs])
    return tvm.ir.IRModule({"main": function.with_attr("global_symbol", "main")})
