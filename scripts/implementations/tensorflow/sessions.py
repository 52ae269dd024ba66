"""TensorFlow 1.8, where `tf.function`, `tf.raw_ops` and `tf.config` are not there yet.

What device.py, model.py and the styles need of them, in terms of that version; of later ones, what they have.
"""

import functools
import os

import tensorflow as tf

from measurement import instructions

# XLA of 2.0 ends at a flag that it does not know.
if tuple(map(int, tf.__version__.split(".")[:2])) < (2, 18):
    os.environ["XLA_FLAGS"] = instructions.without("XLA_FLAGS", os.environ)

SESSIONS = not hasattr(tf, "function")  # a graph is built once and run in a session

if SESSIONS:
    from tensorflow.python.eager import context
    from tensorflow.python.ops.resource_variable_ops import ResourceVariable as Variable
    from tensorflow.python.training import gen_training_ops

    def lstm_operator(name):
        def call(**inputs):
            # Its import starts eager execution, which `configure` has to do before; it also registers
            # the operators' gradients.
            from tensorflow.contrib.rnn.python.ops import lstm_ops

            return getattr(lstm_ops.gen_lstm_ops, name)(**inputs)

        return staticmethod(call)

    class raw_ops(object):
        BlockLSTM = lstm_operator("block_lstm")
        LSTMBlockCell = lstm_operator("lstm_block_cell")
        ResourceApplyAdam = staticmethod(gen_training_ops.resource_apply_adam)
        ResourceApplyGradientDescent = staticmethod(
            gen_training_ops.resource_apply_gradient_descent
        )

else:
    raw_ops, Variable = tf.raw_ops, tf.Variable


def options(threads):
    """Of a session, and of eager execution."""
    return tf.ConfigProto(
        intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
    )


@functools.lru_cache()  # eager execution is enabled once, before anything else
def configure(threads):
    """Set the threads, and execute eagerly what is not built as a graph."""
    tf.enable_eager_execution(options(threads))


class Session(object):
    """A graph and the session that runs it."""

    def __init__(self, threads):
        self._graph = tf.Graph()
        self._session = tf.Session(graph=self._graph, config=options(threads))

    def build(self, builder, *arguments):
        """Call `builder`, which adds to the graph."""
        with context.graph_mode(), self._graph.as_default():
            return builder(*arguments)

    def function(self, python_function, input_signature):
        """As `tf.function`: a callable that takes host arrays, runs all updates and returns host arrays, which
        on a CPU are the results' own memory."""
        feeds = [tf.placeholder(dtype, shape) for shape, dtype in input_signature]
        fetches = python_function(*feeds)
        operations = self._graph.get_operations()
        updates = [each for each in operations if each.type.startswith("ResourceApply")]
        self._session.run(tf.global_variables_initializer())
        run = self._session.make_callable([fetches, updates], feeds)
        return lambda *values: run(*values)[0]

    def fetch(self, tensors):
        """Tensors or variables -> host arrays."""
        return self._session.run(tensors)
