"""What every Keras implementation shares: the model, built of Keras's layers, and Keras 3's Adam.

Keras has batches first, and so has whoever feeds it: they are turned before the clock starts. Its weights are in the
canonical layout and order: gates i, f, g, o, one bias, the reverse direction after the forward one.
"""

import keras
import numpy as np
from keras import layers

from measurement.contract import Runner, require_cell


def network(workload, **lstm_options):
    """inputs [B, T, D], or of a language model [B, T] -> logits [B, T, C], or of the last step [B, C]."""
    shape = (workload.batch, workload.length)
    mask = None
    if workload.vocabulary:
        inputs = layers.Input(batch_shape=shape, dtype="int32")
        x = layers.Embedding(workload.vocabulary, workload.features)(inputs)
    else:
        x = inputs = layers.Input(batch_shape=shape + (workload.features,))
    if workload.lengths is not None:
        mask = np.arange(workload.length) < workload.lengths[:, None]  # [B, T]
    at_once = workload.loss == "ce-last" and not workload.bidirectional
    for number in range(workload.layers):
        last = number == workload.layers - 1
        layer = layers.LSTM(
            workload.hidden,
            recurrent_activation="sigmoid",  # Keras 2 has an approximation by default
            implementation=2,  # one product for the four gates
            return_sequences=not (last and at_once),
            **lstm_options,
        )
        if workload.bidirectional:
            layer = layers.Bidirectional(layer)
        x = layer(x) if mask is None else layer(x, mask=keras.ops.convert_to_tensor(mask))
    if workload.loss == "ce-last" and not at_once:
        x = layers.Lambda(lambda h: h[:, -1], output_shape=(2 * workload.hidden,))(x)
    outputs = layers.Dense(workload.outputs, use_bias=bool(workload.vocabulary))(x)
    return keras.models.Model(inputs, outputs)


class Model(Runner):
    """The model in Keras. A subclass says how a backend is set up and how a batch is run."""

    framework = "Keras"

    def __init__(self, workload, weights, device, phase, **lstm_options):
        require_cell(workload)
        self._settings = self.configure(device, workload.threads)
        self._settings["backend"] = keras.backend.backend()
        self._workload = workload
        self._phase = phase
        self._steps = 0
        self._names = list(weights)
        self._model = network(workload, **lstm_options)
        self._model.set_weights(list(weights.values()))
        self.prepare()

    def configure(self, device, threads):
        """Set up the backend before its first operator; -> settings for the record. Raises Unsupported."""
        raise NotImplementedError

    def prepare(self):
        """Make what `step` runs."""
        raise NotImplementedError

    def loss(self, targets, logits):
        """Keras 3's loss of a batch of logits -> []. targets as `laid_out` gives them."""
        workload = self._workload
        if workload.loss != "ctc":
            losses = keras.ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
            return keras.ops.mean(losses)
        labels = np.full(workload.batch, targets.shape[1], np.int32)
        lengths = workload.lengths.astype(np.int32)
        return keras.ops.mean(keras.ops.ctc_loss(targets, logits, labels, lengths))

    def laid_out(self, inputs, targets):
        """Batch first."""
        if self._workload.vocabulary:
            targets = np.ascontiguousarray(targets.T)
        return np.ascontiguousarray(inputs.swapaxes(0, 1)), targets

    def synchronise(self):
        """On a CPU the backends have finished when their call returns, unless a subclass says otherwise."""

    def results(self, handle):
        if self._phase == "forward":
            logits = self.host(handle)
            return {"output": logits if self._workload.loss == "ce-last" else logits.swapaxes(0, 1)}
        loss, gradients = handle
        return {"loss": float(self.host(loss)), "gradients": self.named(map(self.host, gradients))}

    def host(self, tensor):
        """A tensor as an array."""
        if keras.backend.backend() == "jax":
            from implementations.jax.fetching import fetched

            tensor = fetched(tensor)
        return np.array(keras.ops.convert_to_numpy(tensor))

    def parameters(self):
        return self.named(self._model.get_weights())

    def named(self, arrays):
        return dict(zip(self._names, arrays))

    def describe(self):
        return {
            "framework": "Keras",
            "framework_version": keras.__version__,
            "build": self.build_facts(),
            "settings": self._settings,
        }

    def build_facts(self):
        """What the backend says of itself: {"<backend>": version, ...}."""
        raise NotImplementedError


def corrected(epsilon, beta_2, step):
    """The epsilon that makes Keras's Adam the paper's, which adds it to the corrected sqrt(v), and not to sqrt(v)
    ("epsilon hat" in Kingma & Ba, 2015, section 2). Scalars, or symbols for them."""
    return epsilon * (1 - beta_2**step) ** 0.5


class Adam(keras.optimizers.Adam):
    """Keras 3's Adam with the paper's epsilon, for backends that trace an update once."""

    def __init__(self, constants):
        """constants: learning_rate, beta_1, beta_2, epsilon."""
        super(Adam, self).__init__(**{key: constants[key] for key in constants if key != "name"})

    def update_step(self, gradient, variable, learning_rate):
        step = keras.ops.cast(self.iterations + 1, variable.dtype)
        given, self.epsilon = self.epsilon, corrected(self.epsilon, self.beta_2, step)
        super(Adam, self).update_step(gradient, variable, learning_rate)
        self.epsilon = given
