"""The models in NumPy, float64: what every implementation is held against.

Written from the equations (Hochreiter & Schmidhuber 1997 with forget gates; Kingma & Ba 2015,
algorithm 1), for clarity and not for speed.
"""

import numpy as np

from measurement.workload import layer_weights


def sigmoid(x):
    """Logistic function, any shape."""
    return 1.0 / (1.0 + np.exp(-x))


def lstm_layer(x, w_input, w_recurrent, bias):
    """One layer from a zero state. x [T, B, D] -> h [T, B, H], and what its gradient needs."""
    length, batch = x.shape[:2]
    hidden = w_recurrent.shape[0]
    h, c = np.zeros((batch, hidden)), np.zeros((batch, hidden))
    outputs, tape = [], []
    for t in range(length):
        i, f, g, o = np.split(x[t] @ w_input + h @ w_recurrent + bias, 4, axis=-1)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        previous_h, previous_c = h, c
        c = f * c + i * g
        h = o * np.tanh(c)
        outputs.append(h)
        tape.append((i, f, g, o, c, previous_h, previous_c))
    return np.stack(outputs), tape


def lstm_layer_gradient(x, w_input, w_recurrent, tape, d_output):
    """Back-propagation through time of `lstm_layer`.

    d_output [T, B, H] -> d_x [T, B, D], d_w_input, d_w_recurrent, d_bias.
    """
    d_x = np.zeros_like(x)
    d_w_input, d_w_recurrent = np.zeros_like(w_input), np.zeros_like(w_recurrent)
    d_bias = np.zeros(w_input.shape[1])
    d_h, d_c = np.zeros_like(d_output[0]), np.zeros_like(d_output[0])
    for t in reversed(range(len(x))):
        i, f, g, o, c, previous_h, previous_c = tape[t]
        d_h = d_h + d_output[t]
        d_c = d_c + d_h * o * (1 - np.tanh(c) ** 2)
        d_gates = np.concatenate(
            [
                d_c * g * i * (1 - i),
                d_c * previous_c * f * (1 - f),
                d_c * i * (1 - g**2),
                d_h * np.tanh(c) * o * (1 - o),
            ],
            axis=-1,
        )
        d_x[t] = d_gates @ w_input.T
        d_w_input += x[t].T @ d_gates
        d_w_recurrent += previous_h.T @ d_gates
        d_bias += d_gates.sum(axis=0)
        d_h = d_gates @ w_recurrent.T
        d_c = d_c * f
    return d_x, d_w_input, d_w_recurrent, d_bias


def _forward(weights, inputs):
    """Output (logits [T, B, V], or the last layer's h [T, B, H] where there is no projection), that h,
    and each layer's (input, tape)."""
    x = weights["embedding"][inputs] if "embedding" in weights else inputs
    layers = []
    for w_input, w_recurrent, bias in layer_weights(weights):
        h, tape = lstm_layer(x, w_input, w_recurrent, bias)
        layers.append((x, tape))
        x = h
    if "projection.weight" not in weights:
        return x, x, layers
    return x @ weights["projection.weight"] + weights["projection.bias"], x, layers


def float64(weights):
    """The same named weights in float64."""
    return {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}


def output(weights, inputs):
    """Forward, float64: tokens [T, B] -> logits [T, B, V], or dense [T, B, D] -> h [T, B, H]."""
    return _forward(float64(weights), inputs)[0]


def loss_and_gradients(weights, inputs, targets):
    """Mean cross-entropy over all T * B tokens, and its gradient for every weight."""
    weights = float64(weights)
    scores, top, layers = _forward(weights, inputs)
    count = targets.size
    scores = scores - scores.max(axis=-1, keepdims=True)
    log_p = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    flat_targets = targets.reshape(-1)
    log_p = log_p.reshape(count, -1)
    loss = -log_p[np.arange(count), flat_targets].mean()

    d_scores = np.exp(log_p)
    d_scores[np.arange(count), flat_targets] -= 1
    d_scores /= count  # [T * B, V]
    flat_top = top.reshape(count, -1)
    gradients = {
        "projection.weight": flat_top.T @ d_scores,
        "projection.bias": d_scores.sum(axis=0),
    }
    d_output = (d_scores @ weights["projection.weight"].T).reshape(top.shape)
    for layer in reversed(range(len(layers))):
        x, tape = layers[layer]
        w_input, w_recurrent = (weights["lstm.%d.%s" % (layer, n)] for n in ("input", "recurrent"))
        d_output, d_input, d_recurrent, d_bias = lstm_layer_gradient(
            x, w_input, w_recurrent, tape, d_output
        )
        gradients["lstm.%d.input" % layer] = d_input
        gradients["lstm.%d.recurrent" % layer] = d_recurrent
        gradients["lstm.%d.bias" % layer] = d_bias
    gradients["embedding"] = np.zeros_like(weights["embedding"])
    np.add.at(gradients["embedding"], inputs, d_output)
    return loss, gradients


class GradientDescent(object):
    """Plain stochastic gradient descent in float64."""

    def __init__(self, constants):
        """constants: learning_rate."""
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
