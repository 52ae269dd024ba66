"""The operators of `eager_fine_grained` in one graph, on two devices with half of a batch each: MirroredStrategy.

On a GPU machine the devices are two GPUs; on a CPU two logical devices of this one process, which share its threads.
Every device has its copy of the weights and goes on from its half of the carried state. The gradient of a mean over
sequences is the mean of the halves' gradients: it is averaged before it is clipped, so all copies stay the same.
"""

import tensorflow as tf

from measurement.contract import Unsupported

from .device import configure, host
from .eager_fine_grained import FineGrained
from .model import Model
from .sessions import SESSIONS

WORKERS = 2


class DataParallel(Model):
    gpus = WORKERS

    def __init__(self, workload, weights, device):
        if SESSIONS:
            raise Unsupported("TensorFlow %s has no MirroredStrategy" % tf.__version__)
        if workload.batch % WORKERS:
            raise Unsupported(
                "%d devices cannot share a batch of %d evenly" % (WORKERS, workload.batch)
            )
        if not workload.carried:
            raise Unsupported("it divides the batches of language models with a carried state only")
        configure(device, workload.threads, WORKERS)
        self._strategy = tf.distribute.MirroredStrategy(devices(device))
        # No `run` before 2.2.
        self._on_each = getattr(self._strategy, "run", None) or self._strategy.experimental_run_v2
        half = workload.changed(batch=workload.batch // WORKERS)
        with self._strategy.scope():
            Model.__init__(self, half, weights, device, "training", FineGrained(), function={})
        self._settings["workers"] = WORKERS

    def _build(self, arrays, function):
        Model._build(self, arrays, None)
        self._run = tf.function(lambda *values: self._on_each(self._half, args=values))

    def _half(self, inputs, targets, *more):
        """On each device: its columns of the batch, and with them all that `_train` does."""
        place = tf.distribute.get_replica_context().replica_id_in_sync_group
        shape = self._workload.length, self._workload.batch
        first = [0, place * self._workload.batch]
        return self._train(*(tf.slice(each, first, shape) for each in (inputs, targets)), *more)

    def _averaged(self, gradients):
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)

    def _each(self, value):
        """The devices' own values of one."""
        return self._strategy.experimental_local_results(value)

    def reset(self, state=None):
        if state:
            raise Unsupported("its state lies on several devices")
        self._state = self._on_each(lambda: [tf.zeros(shape) for shape in self._state_shapes])

    def loss_of(self, handle):
        return sum(float(host(loss)) for loss in self._each(handle[0])) / WORKERS

    def results(self, handle):
        gradients = [self._each(gradient)[0] for gradient in handle[1]]
        return {"loss": self.loss_of(handle), "gradients": self._named(gradients)}


def devices(device):
    """The names of the devices, which a CPU has only if it is divided before the first operator."""
    if device == "gpu":
        count = len(tf.config.experimental.list_logical_devices("GPU"))
        if count < WORKERS:
            raise Unsupported("it needs %d GPUs, and there is %d" % (WORKERS, count))
        return ["/gpu:%d" % number for number in range(WORKERS)]
    config = tf.config.experimental
    cpu = config.list_physical_devices("CPU")[0]
    if not config.get_virtual_device_configuration(cpu):
        config.set_virtual_device_configuration(
            cpu, [config.VirtualDeviceConfiguration() for _ in range(WORKERS)]
        )
    return ["/cpu:%d" % number for number in range(WORKERS)]


def build(workload, weights, device, phase):
    if phase != "training":
        raise Unsupported("without gradients to average there is nothing that devices share")
    return DataParallel(workload, weights, device)
