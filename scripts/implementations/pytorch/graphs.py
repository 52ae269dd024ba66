"""A whole batch as one CUDA graph: what it launches is captured once and replayed as one launch.

Forward, loss, backward, clipping and update are all in the graph. Whatever it reads and writes lies at fixed addresses:
the batch, a carried state, weights and the optimizer's state.
"""

import torch

from measurement.contract import Unsupported

from .model import Model

WARM_UP = 3  # steps beside the default stream, as a library sets itself up in its first calls, which no graph can hold


def require_gpu(device):
    """Raise where there can be no CUDA graph."""
    if device == "cpu":
        raise Unsupported("CUDA graphs are for GPUs only")
    if not hasattr(torch.cuda, "CUDAGraph"):
        raise Unsupported("PyTorch %s has no CUDA graphs (they came with 1.10)" % torch.__version__)


def captured(function):
    """Record what a function launches, without running it; -> a call that launches it all and returns its results."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = function()

    def replay():
        graph.replay()
        return found

    return replay


def beside(function, times):
    """Run a function some times on a stream of its own, as capturing asks for."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(times):
            function()
    torch.cuda.current_stream().wait_stream(stream)


class Graphed(Model):
    """A model whose step is replayed. The first step captures it, so that is where its seconds stand."""

    def __init__(self, workload, weights, device, phase, stack, layer=None, cells=("lstm",)):
        super().__init__(workload, weights, device, phase, stack, layer, cells)
        for group in self.optimizer.param_groups if self.training else ():
            group["capturable"] = True  # Adam counts its steps on the device then
        self.carried = []
        if workload.carried:
            state = (workload.batch, workload.hidden)
            self.carried = [
                torch.zeros(state, device=self.device) for _ in range(2 * workload.layers)
            ]
        self.replay = None

    def reset(self, state=None):
        for number, fixed in enumerate(self.carried):
            fixed.copy_(torch.from_numpy(state[number])) if state else fixed.zero_()

    def once(self):
        """One batch on the fixed tensors; -> what `step` returns."""
        with torch.set_grad_enabled(self.training):
            fixed = self.carried
            if self.training:
                handle = self.updated(self.objective(*self.batch))
            else:
                handle = self.output(self.batch[0])
            for old, new in zip(fixed, self.carried):
                old.copy_(new)
            self.carried = fixed
        return handle

    def capture(self, arrays):
        """Warm up and capture; weights and states are afterwards what they were."""
        self.batch = [self.feed(each).clone() for each in arrays]
        changed = [weight.data for weight in self.weights.values()] + self.carried
        before = [tensor.clone() for tensor in changed]
        beside(self.once, WARM_UP)
        for tensor, was in zip(changed, before):
            tensor.copy_(was)
        for state in self.optimizer.state.values() if self.training else ():
            for tensor in state.values():
                tensor.zero_()
        self.replay = captured(self.once)

    def feed_batch(self, arrays):
        for fixed, array in zip(self.batch, arrays):
            given = array if isinstance(array, torch.Tensor) else torch.from_numpy(array)
            fixed.copy_(given, non_blocking=True)

    def step(self, inputs, targets):
        arrays = (inputs, targets) if self.training else (inputs,)
        if self.replay is None:
            self.capture(arrays)
        self.feed_batch(arrays)
        return self.replay()
