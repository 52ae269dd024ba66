"""The models in NumPy, float64: what every implementation is held against.

Written from the equations (`steps` has those of the cells; Kingma & Ba 2015, algorithm 1), for clarity and not for
speed.
"""

import numpy as np

from measurement.cells import CELLS, state_shapes
from measurement.cells import parts as parts_of
from measurement.steps import STEPS
from measurement.workload import BLANK, layer_prefixes, reversal


def product(x, w):
    """x [T, B, D] times w [D, N], in one call: NumPy makes T of them otherwise."""
    return (x.reshape(-1, x.shape[-1]) @ w).reshape(x.shape[:-1] + w.shape[1:])


def whole(w, heads):
    """Block-diagonal matrices side by side with their zeros, [H, n * H], of their blocks [H, n * H / heads] (see `Cell`)."""
    if heads == 1:
        return w
    hidden, size = len(w), len(w) // heads
    count = w.shape[1] // size
    found = np.zeros((hidden, count, hidden), w.dtype)
    for first in range(0, hidden, size):
        rows = slice(first, first + size)
        found[rows, :, rows] = w[rows].reshape(size, count, size)
    return found.reshape(hidden, count * hidden)


def blocks(w, heads):
    """The inverse of `whole`, for gradients too: what lies beside the blocks is left out."""
    if heads == 1:
        return w
    hidden, size = len(w), len(w) // heads
    count = w.shape[1] // hidden
    apart = w.reshape(hidden, count, hidden)
    each = [slice(first, first + size) for first in range(0, hidden, size)]
    return np.concatenate([apart[rows, :, rows].reshape(size, count * size) for rows in each])


def divided(kind, w_recurrent, weights):
    """What multiplies h, [H, of_h * H] with its zeros, and what a step is given as its vectors: those, then its matrices, as blocks."""
    hidden, size = len(w_recurrent), len(w_recurrent) // kind.heads
    first = len(kind.of_h) * size
    vectors = tuple(weights[3].reshape(-1, hidden)) if kind.vectors else ()
    matrices = tuple(
        w_recurrent[:, first + place * size : first + (place + 1) * size]
        for place in range(len(kind.matrices))
    )
    return whole(w_recurrent[:, :first], kind.heads), vectors + matrices


def layer(cell, x, weights, state=None):
    """One layer from a state, a tuple of [B, H], what the cell begins with unless given. x [T, B, D], weights (input, recurrent, bias and, if the
    cell has some, vectors) -> h [T, B, H], the state it leaves, and what its gradient needs."""
    kind, step = CELLS[cell], STEPS[cell][0]
    w_input, w_recurrent, bias = weights[:3]
    batch, hidden = x.shape[1], len(w_recurrent)
    shapes = state_shapes(kind, batch, hidden)
    begin = (np.full(shape, start, x.dtype) for shape, start in zip(shapes, kind.starts))
    states = state or tuple(begin)
    biases = bias.reshape(-1, hidden)
    w_recurrent, vectors = divided(kind, w_recurrent, weights)
    outputs, tape = np.empty((x.shape[0], batch, hidden), x.dtype), []
    for t, of_x in enumerate(product(x, w_input)):  # [B, gates * H]
        given = _sums(kind, of_x, states[0] @ w_recurrent, biases)
        before = states[0]
        states, kept = step(given, vectors, states)
        outputs[t] = states[0]
        tape.append((before, kept))
    return outputs, states, tape


def _sums(kind, of_x, of_h, biases):
    """One for each bias: what the products with x and h give a gate, together or apart."""
    hidden = biases.shape[1]
    products = [
        {gate: p[..., n * hidden : (n + 1) * hidden] for n, gate in enumerate(gates)}
        for gates, p in ((kind.of_x, of_x), (kind.of_h, of_h))
    ]
    sums = []
    for name, bias in zip(kind.biases, biases):
        gate, _, part = name.partition(".")
        has = [own[gate] for own, one in zip(products, "xh") if part in ("", one) and gate in own]
        sums.append(sum(has) + bias)
    return sums


def _columns(kind, found, part):
    """Of what there is for each sum, that of the gates' columns of x or of h, side by side; None where there are none."""
    gates = kind.of_x if part == "x" else kind.of_h
    named = {name.partition(".")[0]: each for name, each in zip(kind.biases, found)}
    named.update(
        (name[:-2], each) for name, each in zip(kind.biases, found) if name.endswith("." + part)
    )
    return np.concatenate([named[gate] for gate in gates], axis=-1) if gates else None


def layer_gradient(cell, x, weights, tape, d_output):
    """Back-propagation through time of `layer`, to its first step.

    d_output [T, B, H] -> d_x [T, B, D], and the gradients of the weights, in order.
    """
    kind, gradient = CELLS[cell], STEPS[cell][1]
    w_input, w_recurrent = weights[:2]
    hidden, count = len(w_recurrent), len(kind.vectors)
    w_recurrent, own = divided(kind, w_recurrent, weights)
    d_sums = np.empty(x.shape[:2] + (len(kind.biases) * hidden,), x.dtype)
    d_own = [np.zeros_like(each) for each in own]
    d_states = [np.zeros(shape, x.dtype) for shape in state_shapes(kind, x.shape[1], hidden)]
    for t in reversed(range(len(x))):
        d_states[0] = d_states[0] + d_output[t]
        of_sums, of_vectors, of_states = gradient(tape[t][1], *d_states)
        d_sums[t] = np.concatenate(of_sums, axis=-1)
        for number, d in enumerate(of_vectors):
            d_own[number] += d
        d_states = list(of_states)
        of_h = _columns(kind, of_sums, "h")
        if of_h is not None:
            d_states[0] = d_states[0] + of_h @ w_recurrent.T
    before = np.array([h for h, _ in tape])  # [T, B, H], of the step before
    split = np.split(d_sums, len(kind.biases), axis=-1)
    of_x, of_h = (_columns(kind, split, part) for part in "xh")
    of_h = d_sums[..., :0] if of_h is None else of_h
    of_gates = before.reshape(-1, hidden).T @ of_h.reshape(
        x.shape[0] * x.shape[1], -1 if of_h.size else 0
    )
    found = (
        product(of_x, w_input.T),
        x.reshape(-1, x.shape[-1]).T @ of_x.reshape(-1, of_x.shape[-1]),
        np.concatenate([blocks(of_gates, kind.heads)] + d_own[count:], axis=1),
        d_sums.reshape(-1, d_sums.shape[-1]).sum(axis=0),
    )
    return found + ((np.concatenate(d_own[:count]),) if kind.vectors else ())


def _backwards(x, order):
    """x [T, B, D] in another order of steps, `order` [T, B] (see workload.reversal)."""
    return np.take_along_axis(x, order[:, :, None], axis=0)


def _forward(weights, inputs, cell, lengths=None, state=None, masks=None):
    """The last layer's output h [T, B, H], or [T, B, 2H] where layers run both ways, and the input,
    outputs and tapes of every layer, [(x, [(direction's prefix, h, tape), ...]), ...].

    `inputs`: tokens [T, B], or dense [T, B, D]; h is zero after a sequence's end. `state` and `masks` as in
    `loss_and_gradients`.
    """
    x = weights["embedding"][inputs] if "embedding" in weights else np.asarray(inputs, np.float64)
    state = {} if state is None else state
    if masks:
        x = x * masks[0]
    length, batch = x.shape[:2]
    order = reversal(length, batch, lengths)
    inside = np.arange(length)[:, None] < (length if lengths is None else lengths)
    prefixes, layers = layer_prefixes(weights), []
    directions = 2 if any("reverse" in prefix for prefix in prefixes) else 1
    for first in range(0, len(prefixes), directions):
        runs = []
        for prefix in prefixes[first : first + directions]:
            own = _backwards(x, order) if "reverse" in prefix else x
            h, state[prefix], tape = layer(
                cell, own, _parts(weights, prefix, cell), state.get(prefix)
            )
            runs.append((prefix, h, tape))
        layers.append((x, runs))
        outputs = [_backwards(h, order) if "reverse" in prefix else h for prefix, h, _ in runs]
        x = np.concatenate(outputs, axis=-1) * inside.reshape(length, -1, 1)
        if masks:
            x = x * masks[len(layers)]
    return x, layers


def _parts(weights, prefix, cell):
    return [weights[prefix + part] for part in parts_of(cell)]


def _backward(weights, inputs, cell, lengths, layers, d_output, masks=None):
    """Gradients of all weights below the projection, from that of `_forward`'s h."""
    gradients = {}
    for number, (x, runs) in reversed(list(enumerate(layers, start=1))):
        if masks:
            d_output = d_output * masks[number]
        order = reversal(x.shape[0], x.shape[1], lengths)
        d_x = 0.0
        for (prefix, _, tape), d_h in zip(runs, np.split(d_output, len(runs), axis=-1)):
            backwards = "reverse" in prefix
            own, d_h = (_backwards(each, order) if backwards else each for each in (x, d_h))
            found = layer_gradient(cell, own, _parts(weights, prefix, cell), tape, d_h)
            d_x = d_x + (_backwards(found[0], order) if backwards else found[0])
            for part, gradient in zip(parts_of(cell), found[1:]):
                gradients[prefix + part] = gradient
        d_output = d_x
    if "embedding" in weights:
        gradients["embedding"] = np.zeros_like(weights["embedding"])
        np.add.at(gradients["embedding"], inputs, d_output * masks[0] if masks else d_output)
    return gradients


def float64(weights):
    """The same named weights in float64."""
    return {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}


def hidden_states(weights, inputs, lengths=None, state=None, cell="lstm"):
    """The last layer's output [T, B, H] in the precision of the weights; as `output` without a projection."""
    return _forward(weights, inputs, cell, lengths, state)[0]


def output(weights, inputs, loss=None, lengths=None, state=None, cell="lstm"):
    """Forward, float64: tokens [T, B] or dense [T, B, D] -> logits [T, B, C] (loss `ce`, `ce-sum` or `ctc`),
    logits of the last step [B, C] (`ce-last`), or without a projection h [T, B, H]. `state` as in
    `loss_and_gradients`."""
    weights = float64(weights)
    h = hidden_states(weights, inputs, lengths, state, cell)
    if "projection.weight" not in weights:
        return h
    return _project(weights, h[-1] if loss == "ce-last" else h)


def _project(weights, h):
    return product(h, weights["projection.weight"]) + weights.get("projection.bias", 0.0)


def log_softmax(scores):
    """Over the last axis, any shape."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


def cross_entropy(scores, targets):
    """Mean over all targets, and its gradient. scores [..., C], targets int [...]."""
    log_p = log_softmax(scores).reshape(-1, scores.shape[-1])
    rows, classes = np.arange(targets.size), targets.reshape(-1)
    gradient = np.exp(log_p)
    gradient[rows, classes] -= 1
    return -log_p[rows, classes].mean(), gradient.reshape(scores.shape) / targets.size


def ctc(scores, targets, lengths):
    """Mean over sequences of the connectionist temporal classification loss, and its gradient (Graves et al.
    2006, sections 4.1 and 4.2; in logarithms). scores [T, B, C], targets int [B, L], lengths int [B]."""
    log_p = log_softmax(scores)
    length, batch, classes = scores.shape
    states = np.full((batch, 2 * targets.shape[1] + 1), BLANK)  # S: labels with blanks around them
    states[:, 1::2] = targets
    emitted = np.take_along_axis(log_p, states[None].repeat(length, axis=0), axis=2)  # [T, B, S]
    skips = np.zeros(states.shape, dtype=bool)  # a state may follow the one two before it
    skips[:, 2:] = (states[:, 2:] != BLANK) & (states[:, 2:] != states[:, :-2])
    last = np.array([t == lengths - 1 for t in range(length)])  # [T, B]

    def shifted(score, by):
        """Scores of the states `by` places before, or after where `by` is negative."""
        found = np.full(score.shape, -np.inf)
        if by > 0:
            found[:, by:] = score[:, :-by]
        else:
            found[:, :by] = score[:, -by:]
        return found

    alpha, beta = (np.full(emitted.shape, -np.inf) for _ in range(2))
    alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, length):
        a = alpha[t - 1]
        skipped = np.where(skips, shifted(a, 2), -np.inf)
        alpha[t] = emitted[t] + np.logaddexp(np.logaddexp(a, shifted(a, 1)), skipped)
    for t in reversed(range(length)):  # what follows a state at t, without what it emits itself
        if t + 1 < length:
            b = beta[t + 1] + emitted[t + 1]
            skipped = shifted(np.where(skips, b, -np.inf), -2)
            beta[t] = np.logaddexp(np.logaddexp(b, shifted(b, -1)), skipped)
        beta[t, last[t], -2:] = 0.0
    log_likelihood = np.logaddexp.reduce((alpha + beta)[0], axis=-1)  # [B]
    posterior = np.exp(alpha + beta - log_likelihood[:, None])  # [T, B, S]
    of_class = (states[:, :, None] == np.arange(classes)).astype(np.float64)  # [B, S, C]
    expected = np.matmul(posterior.transpose(1, 0, 2), of_class).transpose(1, 0, 2)  # [T, B, C]
    inside = np.arange(length)[:, None, None] < lengths[:, None]
    return -log_likelihood.mean(), np.where(inside, np.exp(log_p) - expected, 0.0) / batch


def _loss(scores, targets, loss, lengths, steps):
    """The loss (see Workload.batches) of scores, and its gradient."""
    if loss == "ctc":
        return ctc(scores, targets, lengths)
    value, d_scores = cross_entropy(scores, targets)
    return (value * steps, d_scores * steps) if loss == "ce-sum" else (value, d_scores)


def loss(weights, inputs, targets, loss="ce", lengths=None, state=None, cell="lstm"):
    """The loss alone; arguments as of `loss_and_gradients`."""
    scores = output(weights, inputs, loss, lengths, state, cell)
    return _loss(scores, targets, loss, lengths, len(inputs))[0]


def loss_and_gradients(
    weights, inputs, targets, loss="ce", lengths=None, state=None, masks=None, cell="lstm"
):
    """The loss (see Workload.batches), and its gradient for every weight.

    state: {layer's prefix: states}, what the batch before left, {} before the first; it becomes what this one
    leaves, and no gradient flows into it. None: from zeros. masks: what dropout multiplies the embedding's output
    and then each layer's by, [T, B, D] each; None: no dropout.
    """
    weights = float64(weights)
    h, layers = _forward(weights, inputs, cell, lengths, state, masks)
    top = h[-1:] if loss == "ce-last" else h
    scores = _project(weights, top)
    value, d_scores = _loss(scores, targets, loss, lengths, len(inputs))
    flat = d_scores.reshape(-1, d_scores.shape[-1])
    d_output = np.zeros_like(h)
    d_output[-len(top) :] = product(d_scores, weights["projection.weight"].T)
    gradients = _backward(weights, inputs, cell, lengths, layers, d_output, masks)
    gradients["projection.weight"] = top.reshape(-1, h.shape[-1]).T @ flat
    if "projection.bias" in weights:
        gradients["projection.bias"] = flat.sum(axis=0)
    return value, gradients


def norm(gradients):
    """The Euclidean norm over the elements of all gradients, {name: float64 array}."""
    return np.sqrt(sum(np.sum(gradient**2) for gradient in gradients.values()))


def clipped(gradients, limit):
    """All gradients times limit / norm, where the norm over the elements of all of them is above the limit
    (Pascanu et al. 2013, algorithm 1); as they are where there is no limit."""
    if limit is None:
        return gradients
    factor = min(1.0, limit / norm(gradients))
    return {name: gradient * factor for name, gradient in gradients.items()}


class GradientDescent(object):
    """Plain stochastic gradient descent in float64."""

    def __init__(self, constants):
        """constants: learning_rate. Its gradients have been clipped, where they are."""
        self._rate = constants["learning_rate"]

    def update(self, weights, gradients):
        """As Adam.update."""
        return {
            name: value - self._rate * np.asarray(gradients[name], dtype=np.float64)
            for name, value in float64(weights).items()
        }


class Adam(object):
    """Adam in float64 with the bias correction of the paper: epsilon is added to sqrt(v-hat)."""

    def __init__(self, constants):
        """constants: learning_rate, beta_1, beta_2, epsilon."""
        self._constants = constants
        self._moments = {}
        self._step = 0

    def update(self, weights, gradients):
        """The weights after one update with these gradients, {name: float64 array}."""
        self._step += 1
        beta_1, beta_2 = self._constants["beta_1"], self._constants["beta_2"]
        updated = {}
        for name, value in float64(weights).items():
            gradient = np.asarray(gradients[name], dtype=np.float64)
            m, v = self._moments.get(name, (0.0, 0.0))
            m = beta_1 * m + (1 - beta_1) * gradient
            v = beta_2 * v + (1 - beta_2) * gradient**2
            self._moments[name] = (m, v)
            m_hat, v_hat = m / (1 - beta_1**self._step), v / (1 - beta_2**self._step)
            scale = self._constants["learning_rate"] / (np.sqrt(v_hat) + self._constants["epsilon"])
            updated[name] = value - scale * m_hat
        return updated


def optimizer(constants):
    """The optimizer that a benchmark's `optimizer` entry names."""
    return {"adam": Adam, "sgd": GradientDescent}[constants["name"]](constants)


def relative_error(value, expected):
    """Max-norm relative error, max|value - expected| / max|expected|; infinity for NaN or a bad shape."""
    value, expected = np.asarray(value, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if value.shape != expected.shape or not np.isfinite(value).all():
        return float("inf")
    if not expected.size:
        return 0.0
    scale = np.abs(expected).max()
    return float(np.abs(value - expected).max() / (scale if scale > 0 else 1.0))
