"""What a process does, told to a profiler: NVTX ranges in the timeline of one such as Nsight Systems (`protocol.nvtx`), or when
Linux's perf is to sample (`make profile`). Else nothing is told."""

import contextlib

from measurement.contract import Unsupported


@contextlib.contextmanager
def unmarked(name):
    """No range."""
    yield


def marked():
    """What makes a range of a name, as a context: by the package `nvtx`, or by a PyTorch with CUDA. Raises Unsupported
    where neither is there, as a timeline without names is not what was asked for."""
    push, pop = _library()

    @contextlib.contextmanager
    def named(name):
        push(name)
        try:
            yield
        finally:
            pop()

    return named


def sampled(ready, control, answer):
    """Likewise what has perf sample the timed batches, and nothing else: it is told on one named pipe, and answers on the
    other (`perf record --control`). It is to begin once there is a file `ready`: of what a process loads later it knows no
    names."""
    pipes = []

    def tell(what):
        if not pipes:
            open(ready, "w").close()
            pipes.extend((open(control, "w"), open(answer)))
        told, heard = pipes
        told.write(what + "\n")
        told.flush()
        heard.readline()

    @contextlib.contextmanager
    def named(name):
        if name != "timed":
            yield
            return
        tell("enable")
        try:
            yield
        finally:
            tell("disable")

    return named


def _library():
    """(push a name, pop it)"""
    try:
        import nvtx

        return nvtx.push_range, nvtx.pop_range
    except ImportError:
        pass
    try:
        from torch.cuda import nvtx

        nvtx.range_push("probe")  # a build without CUDA raises
        nvtx.range_pop()
        return nvtx.range_push, nvtx.range_pop
    except (ImportError, RuntimeError):
        words = "protocol.nvtx asks for ranges, and here is neither the package nvtx nor PyTorch with CUDA"
        raise Unsupported(words)
