"""What follows from a core's registers and caches: sizes of register tiles, and of the blocks that stay in a cache.

A tile of r rows and v vectors holds r v sums, v vectors of weights and one value of a row in registers, and reads r + v
values for r v multiply-adds.
"""

from __future__ import annotations

from ..target import Core

VALUE = 4
"""Bytes of a float32."""

LINE_BYTES = 64
"""Of a line of a cache, on every CPU of target.KINDS."""


def tallest(core: Core, vectors: int) -> int:
    """Rows of the tallest tile of so many vectors, at least one."""
    return max(1, (core.registers - 1 - vectors) // vectors)


def squarest(core: Core) -> int:
    """Vectors of the tile that reads least, of powers of two: vectors of units divide into these."""
    return min(
        (1 << power for power in range(core.registers.bit_length() - 1)),
        key=lambda v: (v + tallest(core, v)) / (v * tallest(core, v)),
    )


def sums_at_once(core: Core, sums: int, rows: int) -> int:
    """Sums of a pass, of at most 4, with which all passes of `rows` rows over so many read least: a weight serves a tile's
    rows, a row's value a pass's sums."""

    def reads(own: int) -> int:
        return sums * -(-rows // tallest(core, own)) + rows * -(-sums // own)

    return min(range(1, min(4, sums) + 1), key=reads)


def unrolled(core: Core, vectors: int) -> int:
    """Steps of a reduction in one iteration of its loop: 24 multiply-adds, beside which the loop's own instructions do not count.

    With more LLVM loads the weights of all steps first: at 48 steps a block, as three gates have, it spilled 18 of 24 sums
    (AVX-512: 52 to 65 % of the LSTM's rate).
    """
    return max(1, 24 // (tallest(core, vectors) * vectors))


def rows_held(core: Core, values: int) -> int:
    """Rows of so many values that stay in the second-level cache while weights pass by: a quarter of it, as these take
    turns in the rest."""
    return max(tallest(core, squarest(core)), core.second // 4 // (VALUE * values))


def rows_at_once(core: Core, hidden: int, vocabulary: int) -> int:
    """Tokens whose logits are made at a time: these stay in the half of the shared cache, and what they are made of, which the
    weights' gradients read again for each block of columns, in the half of the second-level one."""
    return min(core.second // 2 // (VALUE * hidden), core.shared // 2 // (VALUE * vocabulary))


def steps_held(core: Core, columns: int) -> int:
    """Steps of a reduction whose weights for so many columns stay in the second-level cache while rows pass by: an eighth of it."""
    return max(1, core.second // 8 // (VALUE * columns))


def updated_together(core: Core) -> int:
    """Rows whose updates are emitted together where no tile says so: one holds some eight values."""
    return max(1, core.registers // 8)


def rows_apart(core: Core, width: int) -> int:
    """Rows of so many values, one after another, of which one line each stays in the second-level cache: what a power of two
    divides is that much less spread over its sets."""
    lines = max(1, VALUE * width // LINE_BYTES)
    return core.second // (LINE_BYTES * (lines & -lines))
