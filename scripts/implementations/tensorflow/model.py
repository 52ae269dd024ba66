"""What every TensorFlow implementation shares: the language model around its LSTM stack.

embedding -> LSTM stack -> projection -> mean cross-entropy -> update, run op by op (eager) or as one
`tf.function` (graph). An implementation is a `Stack`, which computes the LSTM layers and may keep
their weights in a layout of its own. Written for TensorFlow 2.0 and later.
"""

import math
import os

# Read when TensorFlow is imported: less logging; cuDNN's algorithm is not picked by timing trials.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["TF_CUDNN_USE_AUTOTUNE"] = "0"
os.environ["TF_CUDNN_RNN_USE_AUTOTUNE"] = "0"

import numpy as np
import tensorflow as tf

from implementations.contract import Runner, Unsupported
from measurement import departures
from measurement.workload import layer_weights


class Stack(object):
    """A style of computing the LSTM layers.

    `stack(x, values)` maps x [T, B, E] and the packed weights, a list of tensors, to the top
    layer's h [T, B, H]. Unless a subclass says otherwise, a layer is packed as w [D + H, 4H], the
    input weights above the recurrent ones, and bias [4H]: one GEMM a step serves the four gates.
    """

    def __call__(self, x, values):
        raise NotImplementedError

    def pack(self, layers):
        """[(input [D, 4H], recurrent [H, 4H], bias [4H]), ...] -> flat list of float32 arrays."""
        packed = []
        for w_input, w_recurrent, bias in layers:
            packed += [np.concatenate([w_input, w_recurrent]), bias]
        return packed

    def unpack(self, values):
        """The inverse of `pack`, for weights and gradients alike."""
        layers = []
        for w, bias in zip(values[::2], values[1::2]):
            depth = w.shape[0] - w.shape[1] // 4
            layers.append((w[:depth], w[depth:], bias))
        return layers


class LanguageModel(Runner):
    """The stacked language model with one style of LSTM stack."""

    def __init__(self, workload, weights, device, phase, stack, function=None):
        """function: None runs eagerly; a dict, arguments of `tf.function`, makes `step` a graph."""
        if workload.departure == departures.DENORMALS:
            raise Unsupported("TensorFlow has no switch: its own threads flush denormals to zero")
        self._settings = configure(device, workload.threads)
        self._settings["flush_to_zero"] = flushes_to_zero(function)
        self._workload = workload
        self._device = device
        self._phase = phase
        self._stack = stack
        arrays = [weights["embedding"]] + stack.pack(layer_weights(weights))
        arrays += [weights["projection.weight"], weights["projection.bias"]]
        self._variables = [tf.Variable(array, dtype=tf.float32) for array in arrays]
        self._run = self._forward
        if phase == "training":
            self._run = self._train
            self._moments = [
                [tf.Variable(tf.zeros_like(variable), trainable=False) for _ in range(2)]
                for variable in self._variables
            ]
            self._steps = 0
        if function is not None:
            tokens = tf.TensorSpec([workload.length, workload.batch], tf.int64)  # all shapes static
            signature = [tokens]
            if phase == "training":
                signature.append(tokens)
                signature += [tf.TensorSpec([], tf.float32) for _ in self._scalars(1)]
            self._run = tf.function(self._run, input_signature=signature, **function)
            self._settings.update(("tf.function " + key, value) for key, value in function.items())

    def _forward(self, inputs):
        """inputs int64 [T, B] -> logits [T * B, V]."""
        # Each variable is read once: used directly, every time step would run its own read op.
        values = [variable.read_value() for variable in self._variables]
        x = tf.gather(values[0], inputs)  # [T, B, E]
        h = self._stack(x, values[1:-2])  # [T, B, H]
        h = tf.reshape(h, [-1, self._workload.hidden])  # [T * B, H]
        return tf.nn.bias_add(tf.matmul(h, values[-2]), values[-1])

    def _train(self, inputs, targets, *scalars):
        """One update. inputs, targets int64 [T, B], the optimizer's scalars of this step -> loss [],
        gradients as `self._variables`."""
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.reshape(targets, [-1]), logits=self._forward(inputs)
            )
            loss = tf.reduce_mean(losses)
        # The embedding's gradient arrives as IndexedSlices; Adam's moments decay in every row. For
        # gradient descent the same: a framework's row has one form.
        gradients = [
            tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, self._variables)
        ]
        self._update(gradients, *scalars)
        return loss, gradients

    def _scalars(self, step):
        """What an update needs besides gradients, as float32 tensors: the step's rate, Adam's epsilon."""
        constants = self._workload.optimizer
        if constants["name"] == "adam":
            return adam_scalars(constants, step)
        return (tf.constant(constants["learning_rate"], tf.float32),)

    def _update(self, gradients, rate, epsilon=None):
        """Gradient descent, or Adam where there is an epsilon."""
        if epsilon is None:
            for variable, gradient in zip(self._variables, gradients):
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=rate, delta=gradient
                )
            return
        zero = tf.constant(0.0)
        beta_1, beta_2 = (
            tf.constant(self._workload.optimizer[key]) for key in ("beta_1", "beta_2")
        )
        for variable, (m, v), gradient in zip(self._variables, self._moments, gradients):
            tf.raw_ops.ResourceApplyAdam(
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
        inputs = tf.convert_to_tensor(inputs)
        if self._phase == "forward":
            if self._workload.departure != departures.GRADIENTS_RECORDED:
                return self._run(inputs)
            with tf.GradientTape():
                return self._run(inputs)
        self._steps += 1
        return self._run(inputs, tf.convert_to_tensor(targets), *self._scalars(self._steps))

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

    def results(self, handle):
        if self._phase == "forward":
            workload = self._workload
            return {"output": handle.numpy().reshape(workload.length, workload.batch, -1)}
        loss, gradients = handle
        return {"loss": float(loss.numpy()), "gradients": self._named(gradients)}

    def parameters(self):
        return self._named(self._variables)

    def _named(self, tensors):
        """Tensors in the order of `self._variables` -> {name: array} in the canonical layout."""
        arrays = [tensor.numpy() for tensor in tensors]
        named = {
            "embedding": arrays[0],
            "projection.weight": arrays[-2],
            "projection.bias": arrays[-1],
        }
        for layer, values in enumerate(self._stack.unpack(arrays[1:-2])):
            for part, value in zip(("input", "recurrent", "bias"), values):
                named["lstm.%d.%s" % (layer, part)] = value
        return named

    def describe(self):
        try:
            build = {key: str(value) for key, value in tf.sysconfig.get_build_info().items()}
        except AttributeError:  # before 2.3
            build = {"is_cuda_build": str(tf.test.is_built_with_cuda())}
        for library in ("cuda", "cudnn"):  # under the names that every framework's record has
            if library + "_version" in build:
                build[library] = build.pop(library + "_version")
        build["compiler"] = tf.version.COMPILER_VERSION
        build["git_version"] = tf.version.GIT_VERSION
        return {
            "framework": "TensorFlow",
            "framework_version": tf.__version__,
            "build": build,
            "settings": self._settings,
        }

    def device_peak_bytes(self):
        if self._device == "cpu" or not hasattr(tf.config.experimental, "get_memory_info"):
            return None  # the call came with 2.5
        return tf.config.experimental.get_memory_info("GPU:0")["peak"]


def configure(device, threads):
    """Choose the device and its settings, before the first op; returns them for the record.

    Raises Unsupported when there is no GPU to use.
    """
    gpus = tf.config.experimental.list_physical_devices("GPU")
    if device == "gpu":
        if not gpus:
            build = "" if tf.test.is_built_with_cuda() else ": this build has no CUDA"
            raise Unsupported("TensorFlow %s sees no GPU%s" % (tf.__version__, build))
        gpus = gpus[:1]  # visible, it is where ops are placed by default
        tf.config.experimental.set_visible_devices(gpus, "GPU")
        tf.config.experimental.set_memory_growth(gpus[0], True)  # so that the peak means something
    elif gpus:
        tf.config.experimental.set_visible_devices([], "GPU")
    # Inter-op: on 2 cores, 2 run the graphs' training 5 to 10 % faster than 1, the rest the same.
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf32 = False
    if hasattr(tf.config.experimental, "enable_tensor_float_32_execution"):  # TF32 came with 2.4
        tf.config.experimental.enable_tensor_float_32_execution(False)
        tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    return {
        "intra_op_threads": threads,
        "inter_op_threads": threads,
        "tf32": tf32,
        "cudnn_autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] != "0",
        "onednn_opts": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
    }


def flushes_to_zero(function):
    """Whether ops flush denormals to zero when run this way (`function` as in LanguageModel).

    There is no switch: TensorFlow's own threads flush, and the calling thread, where eager ops run,
    does so in later versions. So try it.
    """
    multiply = tf.multiply if function is None else tf.function(tf.multiply, **function)
    product = multiply(tf.constant(2e-38), tf.constant(1e-2))  # 2e-40 is denormal
    return bool(product.numpy() == 0.0)


def adam_scalars(constants, step):
    """Learning rate and epsilon (float32) that make the fused kernel's Adam the paper's.

    The kernel computes w -= rate * m / (sqrt(v) + epsilon), "epsilon hat" in Kingma & Ba (2015),
    section 2. With c = sqrt(1 - beta_2^t), the paper's epsilon, added to sqrt(v) / c, is
    c * epsilon there. The powers are those of the float32 beta_2 that the kernel uses: 1 - beta_2
    magnifies the rounding a thousandfold.
    """
    beta_1, beta_2 = (float(np.float32(constants[key])) for key in ("beta_1", "beta_2"))
    correction = math.sqrt(1 - beta_2**step)
    rate = constants["learning_rate"] * correction / (1 - beta_1**step)
    return tf.constant(rate, tf.float32), tf.constant(constants["epsilon"] * correction, tf.float32)
