"""From the harness's workload to a kernel's shape."""

from .spec import KernelSpec


def spec_of(workload) -> KernelSpec:
    """The shape of a `measurement.workload.Workload`'s LSTM layers."""
    return KernelSpec(
        batch=workload.batch,
        length=workload.length,
        input_size=workload.features,
        hidden_size=workload.hidden,
        depth=workload.layers,
        threads=workload.threads,
    )
