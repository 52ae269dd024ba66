"""What PyTorch's rows ask of torch.cuda, which is a stand-in here that notes it: {"times": device_times of a step whose profiler
tells of kernels, tells nothing, and fails, "graph": what a row in a CUDA graph does in its first steps} as JSON."""

import contextlib
import json
import types

import torch

from implementations.pytorch import fine_grained, graphs, model
from tests import tiny

NOTED = []


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        NOTED.append("record")

    def elapsed_time(self, other):
        return 20.0  # ms


def event(kind, microseconds, annotation=False):
    span = types.SimpleNamespace(elapsed_us=lambda: microseconds)
    return types.SimpleNamespace(device_type=kind, time_range=span, is_user_annotation=annotation)


def profiler(events):
    @contextlib.contextmanager
    def profile(activities):
        yield types.SimpleNamespace(events=lambda: events)

    return profile


def failing(activities):
    raise RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")


def times():
    cuda, cpu = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU
    events = [event(cuda, 3000.0), event(cuda, 1000.0), event(cpu, 7.0), event(cuda, 5.0, True)]
    torch.cuda.Event, torch.cuda.synchronize = Event, lambda: NOTED.append("wait")
    found = []
    for profile in (profiler(events), profiler([]), failing):
        torch.profiler.profile = profile
        found.append(model.device_times(lambda: NOTED.append("step")))
    first = NOTED[:5]
    NOTED.clear()
    return [dict(each, launched_s=each["launched_s"] < 1) for each in found] + [first]


def context(name):
    @contextlib.contextmanager
    def stretch(*given):
        NOTED.append(name)
        yield
        NOTED.append("end")

    return stretch


class Stream:
    def wait_stream(self, other):
        NOTED.append("wait")


class Graph:
    def replay(self):
        NOTED.append("replay")


class Noting(graphs.Graphed):
    def once(self):
        NOTED.append("step")
        return super().once()

    def feed_batch(self, arrays):
        NOTED.append("feed")
        super().feed_batch(arrays)


def graph():
    """The events of two steps; whether weights and Adam's state were untouched by warming up when the graph was captured."""
    torch.cuda.Stream = torch.cuda.current_stream = Stream
    torch.cuda.stream, torch.cuda.graph = context("aside"), context("capture")
    torch.cuda.CUDAGraph = Graph
    work = tiny.classifier("one-way")
    weights, untouched = work.weights(), []
    stack = fine_grained.unrolled(fine_grained.lstm_cell)
    runner = Noting(work, weights, "cpu", "training", stack)
    right = graphs.captured

    def captured(function):
        now = runner.parameters()
        same = all((now[name] == weights[name]).all() for name in weights)
        moments = [each for state in runner.optimizer.state.values() for each in state.values()]
        untouched.append(same and len(moments) > 0 and not any(each.any() for each in moments))
        return right(function)

    graphs.captured = captured
    batches = work.batches()
    for _ in range(2):
        runner.step(*next(batches))
    return {"events": NOTED, "untouched": untouched}


if __name__ == "__main__":
    print(json.dumps({"times": times(), "graph": graph()}, default=bool))
