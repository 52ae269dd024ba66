"""What every TensorFlow implementation shares: the model around its LSTM stack.

embedding, if any -> LSTM stack -> projection -> loss -> update, run op by op (eager) or as one
`tf.function` (graph). An implementation is a `Stack`, which computes the LSTM layers and may keep
their weights in a layout of its own. Written for TensorFlow 2; sessions.py has what 1.8 needs.
"""

import math

import numpy as np
import tensorflow as tf

from implementations.hlo import dots
from measurement import departures, precision
from measurement.cells import CELLS, parts, stacked, state_shapes
from measurement.contract import Runner, Unsupported, require_cell
from measurement.workload import BLANK, layer_prefixes, layer_weights

from .device import build_facts, compiled, configure, executed, flushes_to_zero, host
from .sessions import SESSIONS, Session, Variable, raw_ops


class Stack(object):
    """A style of computing the LSTM layers.

    `stack(x, values, state)` maps x [T, B, E], the packed weights and the state, two lists of tensors, to the
    top layer's h [T, B, H] and the state after the last step. Unless a subclass says otherwise, a layer is
    packed as w [D + H, 4H], the input weights above the recurrent ones, and bias [4H]: one GEMM a step serves
    the four gates; and its state is h and c [B, H]. Of another cell it has as many gates, biases and states
    (measurement.cells), and its vectors.
    """

    dropout = 0.0  # of each layer's output
    name = "lstm"  # of the cell
    cells = ("lstm",)  # that the style has
    why_no_other = "this style is written for LSTMs"

    def __call__(self, x, values, state):
        raise NotImplementedError

    def state_shapes(self, workload):
        """The shapes of the tensors of a state."""
        return state_shapes(self.kind, workload.batch, workload.hidden) * workload.layers

    def starts(self, workload):
        """What each of them begins with."""
        return [0.0] * len(self.state_shapes(workload))

    @property
    def stacked(self):
        """Whether the weights of x and of h are one matrix: where the same gates read both."""
        return stacked(self.kind)

    @property
    def layer_size(self):
        """Arrays of a layer's weights, as packed."""
        return len(parts(self.name)) - (1 if self.stacked else 0)

    @property
    def kind(self):
        """The cell as data."""
        return CELLS[self.name]

    def layers(self, values, state):
        """[(weights, states), ...], those of each layer."""
        weights, states = self.layer_size, len(self.kind.states)
        return [
            (
                values[number * weights : (number + 1) * weights],
                state[number * states : (number + 1) * states],
            )
            for number in range(len(values) // weights)
        ]

    def dropped(self, x):
        """x, any shape, with dropout, in training."""
        if not self.dropout:
            return x
        if SESSIONS:
            return tf.nn.dropout(x, keep_prob=1.0 - self.dropout)
        return tf.nn.dropout(x, rate=self.dropout)

    def both_ways(self, x, values, state, backwards):
        """The same for layers that run both ways: x [T, B, D] -> h [T, B, 2H], their two outputs side by side.

        values: as of a stack of twice as many layers, forward and reverse in turn; state: zeros; `backwards`
        reverses the steps of each sequence.
        """
        weights, zeros = self.layer_size, state[: len(self.kind.states)]
        for first in range(0, len(values), 2 * weights):
            h, _ = self(x, values[first : first + weights], zeros)
            reverse = values[first + weights : first + 2 * weights]
            of_reverse, _ = self(backwards(x), reverse, zeros)
            x = tf.concat([h, backwards(of_reverse)], axis=2)
        return x

    def pack(self, layers):
        """[(input [D, 4H], recurrent [H, 4H], bias [4H]), ...] -> flat list of float32 arrays."""
        packed = []
        for w_input, w_recurrent, *others in layers:
            both = [w_input, w_recurrent]
            packed += [np.concatenate(both)] if self.stacked else both
            packed += others
        return packed

    def unpack(self, values):
        """The inverse of `pack`, for weights and gradients alike."""
        layers = []
        for (w, *others), _ in self.layers(values, ()):
            if not self.stacked:
                layers.append((w, *others))
                continue
            depth = w.shape[0] - w.shape[1] // len(self.kind.gates)
            layers.append((w[:depth], w[depth:], *others))
        return layers


class Model(Runner):
    """The model with one style of LSTM stack."""

    gpus = 1

    def __init__(self, workload, weights, device, phase, stack, function=None):
        """function: None runs eagerly; a dict, arguments of `tf.function`, makes `step` a graph."""
        if workload.departure == departures.DENORMALS:
            raise Unsupported("TensorFlow has no switch: its own threads flush denormals to zero")
        self._settings = configure(device, workload.threads, self.gpus)
        self._settings["flush_to_zero"] = flushes_to_zero(function, workload.threads)
        self._workload = workload
        self._device = device
        self._phase = phase
        self._bfloat16 = workload.data_type == precision.BFLOAT16
        require_cell(workload, stack.cells, stack.why_no_other)
        self._stack = stack
        stack.name = workload.cell
        if phase == "training":
            stack.dropout = workload.dropout
        self._state_shapes = stack.state_shapes(workload)
        self._starts = stack.starts(workload)
        self._prefixes = layer_prefixes(weights)
        self._around = [name for name in weights if not name.startswith("lstm.")]  # the layers
        arrays = [weights[name] for name in self._around] + stack.pack(layer_weights(weights))
        self._state = []  # carried from batch to batch
        self._session = None
        if function is not None and SESSIONS:
            self._session = Session(workload.threads)
            self._session.build(self._build, arrays, function)
        else:
            self._build(arrays, function)

    def _build(self, arrays, function):
        """Make the variables, and what `step` runs with them."""
        self._variables = [Variable(array, dtype=tf.float32) for array in arrays]
        self._run = self._forward
        if self._phase == "training":
            self._run = self._train
            self._moments = [
                [Variable(np.zeros_like(array), trainable=False) for _ in range(2)]
                for array in arrays
            ]
            self._steps = 0
        if function is None:
            return
        batch = next(self._workload.batches())
        signature = [(batch[0].shape, batch[0].dtype)]  # all shapes static
        if self._phase == "training":
            signature.append((batch[1].shape, batch[1].dtype))
            signature += [((), np.float32) for _ in self._scalars(1)]
        if self._workload.carried:
            signature += [(shape, np.float32) for shape in self._state_shapes]
        self._run = compiled(self._run, signature, self._session, function)
        self._settings.update(("tf.function " + key, value) for key, value in function.items())

    def _forward(self, inputs, *state):
        """inputs int64 [T, B] or float32 [T, B, D], state where one is carried -> logits [T * B, C], or of the
        last step [B, C], and the state after it."""
        # Each variable is read once: used directly, every time step would run its own read op.
        values = [variable.read_value() for variable in self._variables]
        around, values = dict(zip(self._around, values)), values[len(self._around) :]
        x = tf.gather(around["embedding"], inputs) if "embedding" in around else inputs  # [T, B, D]
        if self._bfloat16:
            # The embedding's rows, not all of it: its gradient is added up in float32.
            x, *values = [tf.cast(value, tf.bfloat16) for value in (x, *values)]
            around = {name: tf.cast(value, tf.bfloat16) for name, value in around.items()}
        if not state:
            starts = zip(self._state_shapes, self._starts)
            state = [tf.constant(start, x.dtype, shape) for shape, start in starts]
        if self._workload.bidirectional:
            h = self._stack.both_ways(x, values, state, self._backwards)  # [T, B, 2H]
        else:
            h, state = self._stack(self._stack.dropped(x), values, state)  # [T, B, H]
        if self._workload.loss == "ce-last":
            h = h[-1]
        logits = tf.reshape(h, [-1, h.shape.as_list()[-1]])
        if "projection.weight" in around:
            logits = tf.matmul(logits, around["projection.weight"])
        if "projection.bias" in around:
            # BiasAdd's gradient adds up bfloat16 in bfloat16: of 6,400 rows it was 0.9 off; a sum's was 0.003 (2.21).
            add = tf.add if self._bfloat16 else tf.nn.bias_add
            logits = add(logits, around["projection.bias"])
        return logits, list(state) if self._workload.carried else []

    def _backwards(self, x):
        """x [T, B, D] with the steps of each sequence in reverse; what comes after its end stays."""
        if self._workload.lengths is None:
            return tf.reverse(x, [0])
        return tf.reverse_sequence(x, self._workload.lengths, seq_axis=0, batch_axis=1)

    def _loss(self, logits, targets):
        """logits as `_forward` has them, targets as Workload.batches has them -> []."""
        workload = self._workload
        if self._bfloat16:
            logits = tf.cast(logits, tf.float32)
        if workload.loss != "ctc":
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.reshape(targets, [-1]), logits=logits
            )
            mean = tf.reduce_mean(losses)
            return mean * workload.length if workload.loss == "ce-sum" else mean
        shape = targets.shape.as_list()
        places = np.stack(np.indices(shape), axis=-1).reshape(-1, 2)
        values = tf.cast(tf.reshape(targets, [-1]), tf.int32)
        logits = tf.reshape(logits, [workload.length, workload.batch, workload.outputs])
        lengths = tf.constant(workload.lengths, tf.int32)
        if SESSIONS:  # the blank is the last output there; later versions do the same by themselves
            logits = tf.concat([logits[:, :, BLANK + 1 :], logits[:, :, : BLANK + 1]], axis=2)
            labels = tf.SparseTensor(places, values - (BLANK + 1), shape)
            return tf.reduce_mean(tf.nn.ctc_loss(labels, logits, lengths))
        losses = tf.nn.ctc_loss(
            labels=tf.SparseTensor(places, values, shape),  # dense ones take other, slower ops
            logits=logits,
            label_length=None,
            logit_length=lengths,
            blank_index=BLANK,
        )
        return tf.reduce_mean(losses)

    def _train(self, inputs, targets, *more):
        """One update. A batch, the optimizer's scalars of this step, the state where one is carried -> loss [],
        gradients as `self._variables`, the state after it."""
        count = len(self._scalars(1))
        scalars, state = more[:count], more[count:]
        if self._session:
            logits, state = self._forward(inputs, *state)
            loss = self._loss(logits, targets)
            gradients = tf.gradients(loss, self._variables)
        else:
            with tf.GradientTape() as tape:
                logits, state = self._forward(inputs, *state)
                loss = self._loss(logits, targets)
            gradients = tape.gradient(loss, self._variables)
        # The embedding's gradient arrives as IndexedSlices; Adam's moments decay in every row. For
        # gradient descent the same: a framework's row has one form.
        # An empty matrix, of a cell without products of h, is in no product and gets none.
        gradients = [
            tf.convert_to_tensor(gradient) if 0 not in variable.shape.as_list() else variable
            for variable, gradient in zip(self._variables, gradients)
        ]
        gradients = self._averaged(gradients)
        if "clip_norm" in self._workload.optimizer:
            limit = self._workload.optimizer["clip_norm"]
            gradients, _ = tf.clip_by_global_norm(gradients, limit)
        # In a session nothing else has an update wait until all that it changes was read.
        with tf.control_dependencies(gradients if self._session else []):
            self._update(gradients, *scalars)
        return loss, gradients, state

    def _averaged(self, gradients):
        """Over the devices, where there are several."""
        return gradients

    def _scalars(self, step):
        """What an update needs besides gradients, float32: the step's rate, Adam's epsilon."""
        constants = self._workload.optimizer
        if constants["name"] == "adam":
            return [np.float32(scalar) for scalar in adam_scalars(constants, step)]
        return [np.float32(constants["learning_rate"])]

    def _update(self, gradients, rate, epsilon=None):
        """Gradient descent, or Adam where there is an epsilon."""
        if epsilon is None:
            for variable, gradient in zip(self._variables, gradients):
                raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=rate, delta=gradient
                )
            return
        zero = tf.constant(0.0)
        beta_1, beta_2 = (
            tf.constant(self._workload.optimizer[key]) for key in ("beta_1", "beta_2")
        )
        for variable, (m, v), gradient in zip(self._variables, self._moments, gradients):
            raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=zero,  # both bias corrections are in `rate` and `epsilon` already
                beta2_power=zero,
                lr=rate,
                beta1=beta_1,
                beta2=beta_2,
                epsilon=epsilon,
                grad=gradient,
            )

    def step(self, inputs, targets):
        fed = np.asarray if self._session else tf.convert_to_tensor
        if self._phase == "training":
            self._steps += 1
            given = map(fed, (inputs, targets, *self._scalars(self._steps)))
            loss, gradients, self._state = self._run(*given, *self._state)
            return loss, gradients
        if self._workload.departure != departures.GRADIENTS_RECORDED:
            return self._output(fed(inputs))
        with tf.GradientTape():
            return self._output(fed(inputs))

    def _output(self, inputs):
        logits, self._state = self._run(inputs, *self._state)
        return logits

    def reset(self, state=None):
        starts = zip(self._state_shapes, self._starts)
        arrays = state or [np.full(shape, start, np.float32) for shape, start in starts]
        # A session takes host arrays only, and gives its state as such: the tutorial fed it back likewise.
        self._state = arrays if self._session else [tf.constant(each) for each in arrays]

    def state(self):
        return [np.array(host(each)) for each in self._state]

    def on_device(self, inputs, targets):
        batch = tf.convert_to_tensor(inputs), tf.convert_to_tensor(targets)
        self.synchronise()
        return batch

    def synchronise(self):
        """On a CPU, eager ops and functions have finished when their call returns: nothing to do.

        On a GPU a call returns once its kernels are queued, so wait for the device. Older versions
        have no call for that: fetch a scalar computed last instead, as it lies behind all of them
        in the device's one compute stream.
        """
        if self._device == "cpu":
            return
        if hasattr(getattr(tf.test, "experimental", None), "sync_devices"):
            tf.test.experimental.sync_devices()
        else:
            tf.reduce_sum(self._variables[-1]).numpy()

    def loss_of(self, handle):
        return float(host(handle[0]))

    def results(self, handle):
        if self._phase == "forward":
            logits, workload = np.asarray(host(handle), np.float32), self._workload
            if workload.loss != "ce-last":
                logits = logits.reshape(workload.length, workload.batch, -1)
            return {"output": logits}
        loss, gradients = handle
        return {"loss": float(host(loss)), "gradients": self._named(gradients)}

    def parameters(self):
        variables = self._variables
        return self._named(self._session.fetch(variables) if self._session else variables)

    def _named(self, tensors):
        """Tensors in the order of `self._variables` -> {name: array} in the canonical layout."""
        arrays = [host(tensor) for tensor in tensors]
        named, layers = dict(zip(self._around, arrays)), arrays[len(self._around) :]
        for prefix, values in zip(self._prefixes, self._stack.unpack(layers)):
            for part, value in zip(parts(self._workload.cell), values):
                named[prefix + part] = value
        return named

    def precision(self, inputs, targets):
        """Products of the graph that a step runs as, or of XLA's program; either is compiled once more for it."""
        more = (targets, *self._scalars(1)) if self._phase == "training" else ()
        given = [tf.convert_to_tensor(each) for each in (inputs, *more)]
        if self._settings.get("tf.function jit_compile"):
            return dots(self._run.experimental_get_compiler_ir(*given)(stage="optimized_hlo"))
        return products(executed(self._run, given))

    def describe(self):
        return {
            "framework": "TensorFlow",
            "framework_version": tf.__version__,
            "build": build_facts(),
            "settings": self._settings,
        }

    def device_peak_bytes(self):
        if self._device == "cpu" or not hasattr(tf.config.experimental, "get_memory_info"):
            return None  # the call came with 2.5
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]


def adam_scalars(constants, step):
    """Learning rate and epsilon that make the fused kernel's Adam the paper's.

    The kernel computes w -= rate * m / (sqrt(v) + epsilon), "epsilon hat" in Kingma & Ba (2015),
    section 2. With c = sqrt(1 - beta_2^t), the paper's epsilon, added to sqrt(v) / c, is
    c * epsilon there. The powers are those of the float32 beta_2 that the kernel uses: 1 - beta_2
    magnifies the rounding a thousandfold.
    """
    beta_1, beta_2 = (float(np.float32(constants[key])) for key in ("beta_1", "beta_2"))
    correction = math.sqrt(1 - beta_2**step)
    rate = constants["learning_rate"] * correction / (1 - beta_1**step)
    return rate, constants["epsilon"] * correction


def products(nodes):
    """{"bfloat16": {operator: count}, "float32": ...} of a graph's products; a loop's body counts once.

    oneDNN's (`_Mkl...`) compute in what they read, as its log says; TensorFlow's own convert bfloat16 to float32.
    """
    found = {precision.BFLOAT16: {}, precision.FLOAT32: {}}
    for node in nodes:
        if "MatMul" in node.op:
            reads = tf.as_dtype(node.attr["T"].type) if node.op.startswith("_Mkl") else tf.float32
            counts = found[precision.BFLOAT16 if reads == tf.bfloat16 else precision.FLOAT32]
            counts[node.op] = counts.get(node.op, 0) + 1
    return found
