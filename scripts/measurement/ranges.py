"""What a process does, told to a profiler: NVTX ranges in the timeline of one such as Nsight Systems (`protocol.nvtx`), or when
Linux's perf is to sample (`make profile`). Else nothing is told."""

import contextlib


@contextlib.contextmanager
def unmarked(name):
    """No range."""
    yield


def marked(push, pop):
    """What makes a range of a name, as a context, by two functions of a profiler (measurement.devices)."""

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
