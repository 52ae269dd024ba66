"""`keras.layers.LSTM` on TensorFlow: a `tf.while_loop` a layer and direction, in one graph."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

from implementations.tensorflow.device import configure, flushes_to_zero
from implementations.tensorflow.sessions import options
from measurement.contract import Unsupported

from . import classic
from .model import Adam, Model


class OnTensorFlow(Model):
    """The step of Keras 3's own `train_step`, as a `tf.function`, that also gives its gradients."""

    def configure(self, device, threads):
        settings = configure(device, threads)
        settings["flush_to_zero"] = flushes_to_zero({}, threads)
        return settings

    def prepare(self):
        # Keras decides whether XLA compiles the model.
        self._model.compile(Adam(self._workload.optimizer) if self._phase == "training" else None)
        self._settings["jit_compile"] = bool(self._model.jit_compile)
        run = self._forward if self._phase == "forward" else self._train
        self._run = tf.function(run, jit_compile=self._model.jit_compile)

    def _forward(self, inputs):
        return self._model(inputs, training=False)

    def _train(self, inputs, targets):
        variables = self._model.trainable_variables
        with tf.GradientTape() as tape:
            loss = self.loss(targets, self._model(inputs, training=True))
        # The embedding's arrives as IndexedSlices, with which Keras leaves the moments of other rows as they are.
        gradients = [tf.convert_to_tensor(each) for each in tape.gradient(loss, variables)]
        self._model.optimizer.apply_gradients(zip(gradients, variables))
        return loss, gradients

    def step(self, inputs, targets):
        if self._phase == "forward":
            return self._run(tf.convert_to_tensor(inputs))
        return self._run(tf.convert_to_tensor(inputs), tf.convert_to_tensor(targets))

    def build_facts(self):
        return {"tensorflow": tf.__version__}


class OrderedAdam(classic.Adam):
    """Keras 2's Adam, patched: each update waits until all gradients are there.

    Keras 2 has a weight's update wait for that weight's gradient alone, while other gradients may still have to read
    the weight. TensorFlow 1 then hands them the new values: at 1x320, gradients were 4 % off (2.1.6 on 1.8).
    """

    def get_gradients(self, loss, params):
        if self.gradients is None:
            gradients = super(OrderedAdam, self).get_gradients(loss, params)
            # The embedding's arrives as IndexedSlices.
            self.gradients = tf.tuple([tf.convert_to_tensor(each) for each in gradients])
        return self.gradients

    def get_updates(self, loss, params):
        """Adam's own, with the count of its steps, which they read, advanced after them."""
        updates = super(OrderedAdam, self).get_updates(loss=loss, params=params)[1:]
        with tf.control_dependencies(updates):
            return updates + [keras.backend.update_add(self.iterations, 1)]


class InSession(classic.Classic):
    """Keras 2 on TensorFlow 1."""

    optimizer = OrderedAdam

    def configure(self, device, threads):
        if device == "gpu":
            raise Unsupported("TensorFlow %s is built without CUDA here" % tf.__version__)
        keras.backend.clear_session()
        keras.backend.set_session(tf.Session(config=options(threads)))
        return {
            "intra_op_threads": threads,
            "inter_op_threads": threads,
            "flush_to_zero": flushes_to_zero({}, threads),
        }

    def build_facts(self):
        return {"tensorflow": tf.__version__}


def build(workload, weights, device, phase):
    if keras.__version__ < "3":
        return InSession(workload, weights, device, phase)
    use_cudnn = "auto" if device == "cpu" else False  # another row
    return OnTensorFlow(workload, weights, device, phase, use_cudnn=use_cudnn)
