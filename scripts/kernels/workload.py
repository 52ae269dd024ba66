"""From the harness's workload to a kernel's shape."""

from .spec import KernelSpec


def cell_name(name: str) -> str:
    """A benchmark's cell as cells/ has it: its names are Python's."""
    return name.replace("-", "_")


def spec_of(workload) -> KernelSpec:
    """The shape of a `measurement.workload.Workload`'s layers."""
    return KernelSpec(
        batch=workload.batch,
        length=workload.length,
        input_size=workload.features,
        hidden_size=workload.hidden,
        depth=workload.layers,
        threads=workload.threads,
        cell=cell_name(workload.cell),
        data_type=workload.data_type,
    )
