"""Compile Triton's kernels for GPUs that are not here; print {kernel: {architecture: {"bytes", "rounded": instructions on numbers
that were rounded to TF32}}} as JSON."""

import json
import re

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from implementations.pytorch import triton_step

SIZES = {"ROWS": triton_step.ROWS, "UNITS": triton_step.UNITS, "DEPTH": triton_step.DEPTH}


def compiled(kernel, architecture: int) -> dict:
    names = kernel.arg_names
    numbers = dict.fromkeys(("batch", "hidden"), "i32") | dict.fromkeys(SIZES, "constexpr")
    signature = {name: numbers.get(name, "*fp32") for name in names}
    source = ASTSource(kernel, signature, constexprs=SIZES)
    found = triton.compile(source, target=GPUTarget("cuda", architecture, 32))
    rounded = sorted({*re.findall(r"mma\S*tf32\S*", found.asm["ptx"])})
    return {"bytes": len(found.asm["cubin"]), "rounded": rounded}


def main() -> None:
    kernels = (triton_step.forward_step, triton_step.backward_step)
    print(
        json.dumps(
            {
                kernel.__name__: {f"sm_{each}": compiled(kernel, each) for each in (80, 90)}
                for kernel in kernels
            }
        )
    )


if __name__ == "__main__":
    main()
