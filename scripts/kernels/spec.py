"""What a kernel computes (its shape) and how it does so (its schedule parameters)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

TUNED_LENGTH = 32

FLOAT32, BFLOAT16 = "float32", "bfloat16"


@dataclass(frozen=True)
class KernelSpec:
    """Shape of one recurrent layer (depth 1) or of a stack of layers.

    All layers have the same hidden size. The first reads x [length, batch, input_size], each
    further layer reads the previous one's output. `threads` is the number of cores the kernel
    is divided over; it is part of the kernel, as the division is fixed when it is built. `cell` is the name
    of the recurrent cell, of those in cells/ or of one's own. `data_type` is that of the products' factors; their sums and all else are float32.
    """

    batch: int
    length: int
    input_size: int
    hidden_size: int
    depth: int = 1
    threads: int = 1
    cell: str = "lstm"
    data_type: str = FLOAT32

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name in ("cell", "data_type"):
                continue
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        if self.data_type not in (FLOAT32, BFLOAT16):
            raise ValueError(f"products are of {FLOAT32} or {BFLOAT16}, not of {self.data_type!r}")

    @property
    def paired(self) -> bool:
        """Whether two factors of a product, of bfloat16, lie in the place of one float32."""
        return self.data_type == BFLOAT16

    def places(self, size: int) -> int:
        """Float32's places that so many factors of a sum take."""
        return -(-size // 2) if self.paired else size

    def input_sizes(self) -> Iterator[int]:
        """Yield the input size of every layer, first to last."""
        yield self.input_size
        for _ in range(self.depth - 1):
            yield self.hidden_size

    @property
    def tuned(self) -> KernelSpec:
        """The kernel that stands for this one in tuning: 32 steps, and as few layers as have its sizes.

        Steps and layers are loops around the code that a schedule is about, so that a schedule for
        one length and depth serves all. A single step stays one: its weights are used once.
        """
        return replace(
            self,
            length=1 if self.length == 1 else TUNED_LENGTH,
            depth=1 if self.input_size == self.hidden_size else min(self.depth, 2),
        )

    @property
    def name(self) -> str:
        """Name for files and tasks, e.g. `lstm-128x32x32x32-d1-t2` (batch x length x K x H)."""
        shape = f"{self.batch}x{self.length}x{self.input_size}x{self.hidden_size}"
        kind = f"-{self.data_type}" if self.paired else ""
        return f"{self.cell}-{shape}-d{self.depth}-t{self.threads}{kind}"


@dataclass(frozen=True)
class Schedule:
    """Parameters of the template that tuning chooses; each changes speed only.

    rows: rows of the register tile (rows x gates x 1 vector are held in registers).
    gates: weighted sums computed in one pass over the rows, at most.
    unroll: reduction steps per loop iteration.
    prefetch: cache lines of the next weights fetched ahead per reduction step, 0 for none.
    panel_rows: rows of the batch that walk through all time steps together (at most).
    units: whether hidden units, and not rows of the batch, are divided among the cores (1 or 0); it takes all sums in
        one pass and has no panels.
    """

    rows: int
    gates: int = 4
    unroll: int = 1
    prefetch: int = 0
    panel_rows: int = 64
    units: int = 0
