"""The kinds of device that a cell can run on, a module each: `cpu`, `cuda`. Another vendor's GPU is one more module and an entry of
GPUS. Each has

    WARM_S                       seconds of batches before each look, until its clocks are up
    HIDDEN                       environment variables that hide all devices of the kind from a process
    found()                      [{"name", "driver", "memory"}] of the machine's devices, one entry each
    variables(count, departure)  environment variables of a process that computes on `count` of them
    chosen()                     the first device of this process; None where it does not have to be named
    state(chosen)                clocks and what else says how it is at this moment, for the record
    host_threads(threads)        how many of a cell's threads on the host matter to it
    profiler_ranges()            (push a name, pop it), for protocol.nvtx; None where there is no such thing

and a kind of GPU also

    visible(count)               environment variables that leave a process `count` of them, and nothing else

What only a framework can do, such as waiting for the device and asking its allocator, is the implementation's (contract.py).
"""

from measurement.devices import cpu, cuda

GPUS = (cuda,)  # a machine has those of one kind


def gpu():
    """The kind of this machine's GPUs; the last one where none is found."""
    return next((kind for kind in GPUS[:-1] if kind.found()), GPUS[-1])


def of(device):
    """The module of a device as a configuration names it, "cpu" or "gpu"."""
    return cpu if device == "cpu" else gpu()


def gpus():
    """[{"name", "driver", "memory"}] of the machine's GPUs; [] where there is none."""
    return [each for kind in GPUS for each in kind.found()]


def variables(device, count, departure=None):
    """Environment variables of a process for a cell on `count` devices of a kind, which sees no others; a departure from the
    protocol may change them (departures.py)."""
    own = of(device)
    found = {}
    for kind in (cpu,) + GPUS:
        if kind is not own:
            found.update(kind.HIDDEN)
    found.update(own.variables(count, departure))
    return found
