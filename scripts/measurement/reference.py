"""The models in NumPy, float64: what every implementation is held against.

Written from the equations (Hochreiter & Schmidhuber 1997 with forget gates; Kingma & Ba 2015,
algorithm 1), for clarity and not for speed.
"""

import numpy as np

from measurement.workload import BLANK, layer_prefixes, reversal


def sigmoid(x):
    """Logistic function, any shape."""
    return 1.0 / (1.0 + np.exp(-x))


def product(x, w):
    """x [T, B, D] times w [D, N], in one call: NumPy makes T of them otherwise."""
    return (x.reshape(-1, x.shape[-1]) @ w).reshape(x.shape[:-1] + w.shape[1:])


def lstm_layer(x, w_input, w_recurrent, bias, state=None):
    """One layer from a state (h, c), [B, H] each, zero unless given. x [T, B, D] -> h [T, B, H], the state it
    leaves, and what its gradient needs."""
    length, batch = x.shape[:2]
    hidden = w_recurrent.shape[0]
    h, c = state or (np.zeros((batch, hidden), x.dtype), np.zeros((batch, hidden), x.dtype))
    outputs, tape = np.empty((length, batch, hidden), x.dtype), []
    from_input = product(x, w_input) + bias  # [T, B, 4H]
    for t in range(length):
        i, f, g, o = np.split(from_input[t] + h @ w_recurrent, 4, axis=-1)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        previous_h, previous_c = h, c
        c = f * c + i * g
        tanh_c = np.tanh(c)
        h = outputs[t] = o * tanh_c
        tape.append((i, f, g, o, tanh_c, previous_h, previous_c))
    return outputs, (h, c), tape


def lstm_layer_gradient(x, w_input, w_recurrent, tape, d_output):
    """Back-propagation through time of `lstm_layer`, to its first step.

    d_output [T, B, H] -> d_x [T, B, D], d_w_input, d_w_recurrent, d_bias.
    """
    d_gates = np.empty(x.shape[:2] + (w_input.shape[1],))  # [T, B, 4H]
    d_h, d_c = np.zeros_like(d_output[0]), np.zeros_like(d_output[0])
    for t in reversed(range(len(x))):
        i, f, g, o, tanh_c, _, previous_c = tape[t]
        d_h = d_h + d_output[t]
        d_c = d_c + d_h * o * (1 - tanh_c**2)
        d_gates[t] = np.concatenate(
            [
                d_c * g * i * (1 - i),
                d_c * previous_c * f * (1 - f),
                d_c * i * (1 - g**2),
                d_h * tanh_c * o * (1 - o),
            ],
            axis=-1,
        )
        d_h = d_gates[t] @ w_recurrent.T
        d_c = d_c * f
    before = np.array([previous_h for *_, previous_h, _ in tape])  # [T, B, H], h of the step before
    flat = d_gates.reshape(-1, d_gates.shape[-1])
    return (
        product(d_gates, w_input.T),
        x.reshape(-1, x.shape[-1]).T @ flat,
        before.reshape(-1, before.shape[-1]).T @ flat,
        flat.sum(axis=0),
    )


def _backwards(x, order):
    """x [T, B, D] in another order of steps, `order` [T, B] (see workload.reversal)."""
    return np.take_along_axis(x, order[:, :, None], axis=0)


def _forward(weights, inputs, lengths=None, state=None, masks=None):
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
            given = _parts(weights, prefix) + [state.get(prefix)]
            h, state[prefix], tape = lstm_layer(own, *given)
            runs.append((prefix, h, tape))
        layers.append((x, runs))
        outputs = [_backwards(h, order) if "reverse" in prefix else h for prefix, h, _ in runs]
        x = np.concatenate(outputs, axis=-1) * inside.reshape(length, -1, 1)
        if masks:
            x = x * masks[len(layers)]
    return x, layers


def _parts(weights, prefix):
    return [weights[prefix + part] for part in ("input", "recurrent", "bias")]


def _backward(weights, inputs, lengths, layers, d_output, masks=None):
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
            w_input, w_recurrent, _ = _parts(weights, prefix)
            found = lstm_layer_gradient(own, w_input, w_recurrent, tape, d_h)
            d_x = d_x + (_backwards(found[0], order) if backwards else found[0])
            for part, gradient in zip(("input", "recurrent", "bias"), found[1:]):
                gradients[prefix + part] = gradient
        d_output = d_x
    if "embedding" in weights:
        gradients["embedding"] = np.zeros_like(weights["embedding"])
        np.add.at(gradients["embedding"], inputs, d_output * masks[0] if masks else d_output)
    return gradients


def float64(weights):
    """The same named weights in float64."""
    return {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}


def hidden_states(weights, inputs, lengths=None, state=None):
    """The last layer's output [T, B, H] in the precision of the weights; as `output` without a projection."""
    return _forward(weights, inputs, lengths, state)[0]


def output(weights, inputs, loss=None, lengths=None, state=None):
    """Forward, float64: tokens [T, B] or dense [T, B, D] -> logits [T, B, C] (loss `ce`, `ce-sum` or `ctc`),
    logits of the last step [B, C] (`ce-last`), or without a projection h [T, B, H]. `state` as in
    `loss_and_gradients`."""
    weights = float64(weights)
    h = hidden_states(weights, inputs, lengths, state)
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


def loss(weights, inputs, targets, loss="ce", lengths=None, state=None):
    """The loss alone; arguments as of `loss_and_gradients`."""
    return _loss(
        output(weights, inputs, loss, lengths, state), targets, loss, lengths, len(inputs)
    )[0]


def loss_and_gradients(weights, inputs, targets, loss="ce", lengths=None, state=None, masks=None):
    """The loss (see Workload.batches), and its gradient for every weight.

    state: {layer's prefix: (h, c)}, what the batch before left, {} before the first; it becomes what this one
    leaves, and no gradient flows into it. None: from zeros. masks: what dropout multiplies the embedding's output
    and then each layer's by, [T, B, D] each; None: no dropout.
    """
    weights = float64(weights)
    h, layers = _forward(weights, inputs, lengths, state, masks)
    top = h[-1:] if loss == "ce-last" else h
    scores = _project(weights, top)
    value, d_scores = _loss(scores, targets, loss, lengths, len(inputs))
    flat = d_scores.reshape(-1, d_scores.shape[-1])
    d_output = np.zeros_like(h)
    d_output[-len(top) :] = product(d_scores, weights["projection.weight"].T)
    gradients = _backward(weights, inputs, lengths, layers, d_output, masks)
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
