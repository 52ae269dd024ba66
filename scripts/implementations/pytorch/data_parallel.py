"""nn.LSTM trained by two processes, each with half of a batch: DistributedDataParallel.

This process is the first worker and starts the second. On a CPU they share its threads and average gradients with
gloo; with two GPUs each has its own, and NCCL averages. A worker's half goes on from its half of the carried state. The
gradient of a mean over sequences is the mean of the halves' gradients, so both workers clip and update alike, by what
one process would compute from the whole batch.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import weakref
from multiprocessing.connection import wait

import numpy as np
import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

from measurement import processes
from measurement.contract import Runner, Unsupported

from . import cudnn, fused

WORKERS = 2


class Replica(torch.nn.Module):
    """A worker's model in the form that DistributedDataParallel wraps: its weights, and a loss."""

    def __init__(self, runner):
        super(Replica, self).__init__()
        self.runner = runner
        for name, weight in runner.weights.items():
            self.register_parameter(name.replace(".", "_"), weight)

    def forward(self, inputs, targets):
        return self.runner.objective(inputs, targets)


class Worker(object):
    """One of the processes: its model, and its place among them."""

    def __init__(self, workload, weights, device, rank, folder):
        """workload: of one worker; rank: its number; folder: where workers find each other."""
        self.model = (fused if device == "cpu" else cudnn).build(
            workload, weights, device, "training"
        )
        self._place = {"rank": rank, "init_method": "file://" + os.path.join(folder, "rendezvous")}

    def join(self):
        """Return when all workers have come."""
        # gloo takes the address of the host's name otherwise, which need not lead anywhere.
        loopback = "lo0" if os.uname().sysname == "Darwin" else "lo"
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
        os.environ.setdefault("NCCL_SOCKET_IFNAME", loopback)
        backend = "nccl" if self.model.device.type == "cuda" else "gloo"
        distributed.init_process_group(backend, world_size=WORKERS, **self._place)
        self._parallel = DistributedDataParallel(Replica(self.model))

    def step(self, inputs, targets):
        """The half's own loss, and the gradients of the whole."""
        return self.model.updated(self._parallel(*map(self.model.feed, (inputs, targets))))


def serve(connection, parent, *place):
    """The second worker's process: does what it is told until the first one hangs up."""
    processes.die_with_parent(parent)
    worker, handle = Worker(*(connection.recv() + place)), None
    connection.send("ready")
    worker.join()
    while True:
        try:
            told, values = connection.recv()
        except EOFError:
            return
        if told == "step":
            handle = worker.step(*values)
        elif told == "reset":
            worker.model.reset()
        elif told == "loss":
            connection.send(worker.model.loss_of(handle))
        else:
            worker.model.synchronise()
            connection.send(None)


class DataParallel(Runner):
    """All workers as one."""

    def __init__(self, workload, weights, device):
        if workload.batch % WORKERS:
            raise Unsupported(
                "%d workers cannot share a batch of %d evenly" % (WORKERS, workload.batch)
            )
        if not workload.vocabulary:
            raise Unsupported("it divides the batches of language models only")
        gpus = torch.cuda.device_count() if device == "gpu" else WORKERS
        if 0 < gpus < WORKERS:
            raise Unsupported("it needs %d GPUs, and there is %d" % (WORKERS, gpus))
        half = workload.changed(
            batch=workload.batch // WORKERS, threads=max(1, workload.threads // WORKERS)
        )
        folder = tempfile.mkdtemp(prefix="workers-")
        self._own = Worker(half, weights, device, 0, folder)
        started = multiprocessing.get_context("spawn")  # a fork would share the threads' locks
        self._connection, end = started.Pipe()
        self._process = started.Process(
            target=serve, args=(end, os.getpid(), device, 1, folder), daemon=True
        )
        with second_gpu(device):
            self._process.start()
        end.close()  # or the other process would never see this end of it closed
        self._end = weakref.finalize(self, stop, self._connection, self._process, folder)
        # Not with what starts it: that waits for ever where the other process ends before it has read 64 kB.
        self._tell(half, weights)
        self._heard()
        joined = threading.Event()
        watching = threading.Thread(target=end_with, args=(self._process.sentinel, joined))
        watching.start()
        try:
            self._own.join()
        finally:
            joined.set()
            watching.join()

    def step(self, inputs, targets):
        columns = np.split(np.arange(inputs.shape[1]), WORKERS)
        own, other = (
            tuple(np.ascontiguousarray(each[:, half]) for each in (inputs, targets))
            for half in columns
        )
        self._tell("step", other)
        return self._own.step(*own)

    def reset(self, state=None):
        if state:
            raise Unsupported("its state lies in several processes")
        self._tell("reset", ())
        self._own.model.reset()

    def _tell(self, *what):
        try:
            self._connection.send(what)
        except (BrokenPipeError, ConnectionResetError):
            raise RuntimeError("the second worker has ended")

    def _heard(self):
        """What the second worker sends next."""
        try:
            return self._connection.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError("the second worker has ended")

    def _ask(self, what):
        self._tell(what, ())
        return self._heard()

    def synchronise(self):
        self._own.model.synchronise()
        self._ask("synchronise")

    def loss_of(self, handle):
        return (self._own.model.loss_of(handle) + self._ask("loss")) / WORKERS

    def results(self, handle):
        return dict(self._own.model.results(handle), loss=self.loss_of(handle))

    def parameters(self):
        return self._own.model.parameters()

    def describe(self):
        found = self._own.model.describe()
        backend = distributed.get_backend()
        found["settings"].update(workers=WORKERS, backend=backend)
        return found

    def device_peak_bytes(self):
        return self._own.model.device_peak_bytes()

    def helpers(self):
        return [self._process.pid]


class second_gpu(object):
    """While a process is started, it is to see the second of the GPUs that this one sees, and no other."""

    def __init__(self, device):
        self._before = os.environ.get("CUDA_VISIBLE_DEVICES")
        self._changes = device == "gpu"

    def __enter__(self):
        if self._changes:
            visible = (self._before or "0,1").split(",")
            os.environ["CUDA_VISIBLE_DEVICES"] = visible[1]

    def __exit__(self, *_):
        if not self._changes:
            return
        del os.environ["CUDA_VISIBLE_DEVICES"]
        if self._before is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = self._before


def end_with(sentinel, joined):
    """End this process if another one ends before they have joined: joining waits for it as long as the cell may take."""
    while not joined.wait(0.1):
        if wait([sentinel], 0):
            sys.stderr.write("the second worker has ended before the first had joined it\n")
            sys.stderr.flush()
            os._exit(1)


def stop(connection, process, folder):
    """End the second worker and leave the group: another runner may make one."""
    connection.close()
    process.join(5)
    if process.is_alive():
        process.terminate()
        process.join()
    if distributed.is_initialized():
        distributed.destroy_process_group()
    shutil.rmtree(folder, ignore_errors=True)


def build(workload, weights, device, phase):
    if phase != "training":
        raise Unsupported("without gradients to average there is nothing that workers share")
    return DataParallel(workload, weights, device)
