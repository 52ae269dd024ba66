"""Kernels of recurrent layers as generated C: forward, backward and gradients of weights of any cell.

`source`: the C of a cell; `library`: compiled once for a machine; `kernel`: called with addresses; `export`: as files of their own. The C itself is
`vector.h` (vectors and functions), `numbers.h` (float32, bfloat16 or int8), the cell's own part, `products.h` (register blocks), `layer.c` (what lies where, threads),
`packing.c` (weights), `norms.c`, `matrices.c` (updates in phases), `forward.c`, `backward.c`.
"""

from .kernel import DIGEST, Kernel, Shape, Sizes, Strided
from .library import CompilerError
from .source import c_source

__all__ = ["DIGEST", "CompilerError", "Kernel", "Shape", "Sizes", "Strided", "c_source"]
