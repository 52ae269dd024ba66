"""NVIDIA's GPUs, as nvidia-smi describes them."""

import os

from measurement.contract import Unsupported
from measurement.system import output

# An idle GPU lowers its clocks, and it takes more than some batches of milliseconds to raise them.
WARM_S = 0.5
# What a GPU's row has of the host: the thread that launches, and PyTorch's second one for the backward pass. A yardstick on all
# of 16 virtual cores stops whenever one of them does: beside an H200 49 processes read 3,100 to 740,000 hand-overs a second, and
# 29 of them timed again, up to 20 times, to find a quiet stretch, though others took more than 5 % in 10 of 152 only.
HOST_THREADS = 2

HIDDEN = {"CUDA_VISIBLE_DEVICES": "-1"}  # a CUDA build would start a context otherwise
SETTINGS = {
    # All CUDA libraries obey it: no product is rounded to TF32, whatever a framework's own default is. XLA has kernels
    # of its own, which JAX asks; and it would take three quarters of a GPU's memory, which two checks share.
    "NVIDIA_TF32_OVERRIDE": "0",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}

# What nvidia-smi is asked of the GPU that is measured, and what a reading calls it.
FIELDS = (
    ("name", "name"),
    ("sm_mhz", "clocks.sm"),
    ("memory_mhz", "clocks.mem"),
    ("most_sm_mhz", "clocks.max.sm"),
    ("temperature_c", "temperature.gpu"),
    ("power_w", "power.draw"),
    ("power_limit_w", "power.limit"),
    ("utilisation_percent", "utilization.gpu"),
    ("memory_used_mib", "memory.used"),
)
# Bits of the mask of reasons for which a clock is lower than it could be (nvml.h, nvmlClocksEventReason...).
CLOCK_REASONS = (
    (0x01, "idle"),
    (0x02, "application clocks"),
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "power brake"),
    (0x100, "display clocks"),
)


def found():
    """[{"name", "driver", "memory"}], one entry a GPU; [] where there is none."""
    listing = output(
        "nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"
    )
    return [
        dict(zip(("name", "driver", "memory"), (part.strip() for part in line.split(","))))
        for line in (listing or "").splitlines()
        if line.count(",") == 2
    ]


def visible(count):
    """Environment variables that leave a process `count` GPUs: the first of CUDA_VISIBLE_DEVICES, which a cluster's
    scheduler sets, or of the machine; counted as nvidia-smi counts them. Fewer, where there are fewer."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    visible = ",".join(name.strip() for name in named.split(",")[:count])
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": visible}


def variables(count, departure=None):
    """Environment variables of a process that computes on `count` GPUs."""
    return dict(SETTINGS, **visible(count))


def chosen():
    """The first GPU of this process, as `state` takes it."""
    return os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0]


def _number(text):
    """A field of nvidia-smi; None for `[N/A]`, `[Not Supported]`, `[Unknown Error]` and the like."""
    try:
        return float(text)
    except ValueError:
        return None


def state(gpu):
    """One GPU at this moment, `gpu` as `nvidia-smi -i` takes it: the names of FIELDS, and `held_back_by`, why its
    clock is not higher (names of CLOCK_REASONS). None for what the GPU does not say, and for all of it without
    nvidia-smi. Utilisation is that of the last second or less: read it when work ends."""
    listing = None
    # Since driver 535, and before.
    for reasons in ("clocks_event_reasons", "clocks_throttle_reasons"):
        query = ",".join([field for _, field in FIELDS] + [reasons + ".active"])
        listing = listing or output(
            "nvidia-smi", "-i", gpu, "--query-gpu=" + query, "--format=csv,noheader,nounits"
        )
    fields = [field.strip() for field in (listing or "").split("\n")[0].split(",")]
    if len(fields) != len(FIELDS) + 1:
        return None
    found = {name: _number(text) for (name, _), text in zip(FIELDS, fields)}
    found["name"] = fields[0]
    try:
        mask = int(fields[-1], 16)
        found["held_back_by"] = [name for bit, name in CLOCK_REASONS if mask & bit]
    except ValueError:
        found["held_back_by"] = None
    return found


def host_threads(threads):
    """How many of a cell's threads on the host matter to it."""
    return min(threads, HOST_THREADS)


def profiler_ranges():
    """(push a name, pop it) of NVTX, which a profiler such as Nsight Systems shows: of the package `nvtx`, or of a PyTorch with
    CUDA. Raises Unsupported where neither is there, as a timeline without names is not what was asked for."""
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
