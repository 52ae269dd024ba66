"""How many operators a step launches, forward and on the way back, in each framework."""

import numpy as np

BATCH, HIDDEN = 3, 4


def drawn(*shape):
    return np.random.RandomState(0).uniform(-1, 1, shape).astype(np.float32)


def owned(kind):
    return len(kind.biases) - len(kind.of_x) + len(kind.vectors)


def pytorch(step, kind):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counted(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            Counted.count += 1
            return function(*args, **(kwargs or {}))

    def given(*shape):
        return torch.from_numpy(drawn(*shape)).requires_grad_()

    columns = len(kind.of_x) * HIDDEN
    states = [given(BATCH, HIDDEN) for _ in kind.states]
    own = [given(HIDDEN) for _ in range(owned(kind))]
    with Counted():
        new = step(given(BATCH, columns), states, given(HIDDEN, columns), own)
        torch.autograd.backward(new, [torch.ones_like(each) for each in new])
    return Counted.count


def jax(step, kind):
    import jax

    def way_and_back(from_input, states, recurrent, own):
        new, back = jax.vjp(step, from_input, states, recurrent, own)
        return back(new)

    columns = len(kind.of_x) * HIDDEN
    found = jax.make_jaxpr(way_and_back)(
        drawn(BATCH, columns),
        [drawn(BATCH, HIDDEN) for _ in kind.states],
        drawn(HIDDEN, columns),
        [drawn(HIDDEN) for _ in range(owned(kind))],
    )

    def count(jaxpr):
        inner = [each.params.get("jaxpr") for each in jaxpr.eqns]
        return sum(1 if one is None else count(one.jaxpr) for one in inner)

    return count(found.jaxpr)


def tensorflow(cell, kind):
    import tensorflow as tf

    columns = len(kind.of_x) * HIDDEN
    shapes = [(HIDDEN + HIDDEN, columns), (columns,), (BATCH, HIDDEN)]
    shapes += [(HIDDEN,)] * owned(kind) + [(BATCH, HIDDEN)] * len(kind.states)

    @tf.function
    def way_and_back(w, bias, x_t, *others):
        own, states = list(others[: owned(kind)]), list(others[owned(kind) :])
        new = cell(w, bias, own)(x_t, states)
        return tf.gradients(new, [w, bias, x_t, *others])

    made = way_and_back.get_concrete_function(*(tf.TensorSpec(shape) for shape in shapes))
    kinds = [node.op for node in made.graph.as_graph_def().node]
    return sum(kind not in ("Const", "Identity", "Placeholder") for kind in kinds)


COUNTS = {"pytorch": pytorch, "jax": jax, "tensorflow": tensorflow}
