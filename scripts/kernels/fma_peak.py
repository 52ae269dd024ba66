"""The machine's peak rate of fused multiply-adds: a loop on registers alone, by TVM."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from measurement.contract import Unsupported

from .search.space import vector_unit

BLOCK = 64
"""Steps of the inner loop. A single loop of more than some 90 million hangs in one of TVM's passes (0.27)."""


class FmaPeak:
    """Call it to run once: at least `flops` floating-point operations on all threads."""

    def __init__(self, target: dict[str, Any], threads: int, flops: int) -> None:
        """Build for a CPU target. TVM's pool must have the same number of threads."""
        import tvm
        from tvm.runtime import tensor

        if os.environ.get("TVM_NUM_THREADS") != str(threads):
            raise Unsupported(f"set TVM_NUM_THREADS={threads} before TVM is imported")
        unit = vector_unit(target)
        # Enough to hide the latency of 4 cycles at 2 a cycle, and few enough to stay in registers.
        chains = 3 * unit.core.registers // 4
        blocks = -(-flops // (2 * threads * chains * unit.lanes * BLOCK))
        self._function = tvm.compile(
            _module(unit, threads, chains, blocks), target=tvm.target.Target(target)
        ).jit()["main"]
        sums = np.ones(threads * chains * unit.lanes, np.float32)
        factors = np.full(2 * unit.lanes, 0.5, np.float32)
        self._arguments = tensor(factors), tensor(sums)

    def __call__(self) -> None:
        """Run the loop once on all threads."""
        self._function(*self._arguments)

    def result(self) -> np.ndarray:
        """The largest and the smallest sum: 1, for x / 2 + 1 / 2 leaves 1 as it is."""
        sums = np.from_dlpack(self._arguments[1])
        return np.array([sums.min(), sums.max()])


def _module(unit: Any, threads: int, chains: int, blocks: int) -> Any:
    """sum = sum * factor + addend, `blocks` x BLOCK times for every chain of every thread."""
    import tvm
    from tvm.script.ir_builder import IRBuilder
    from tvm.tirx.script import builder as ir

    lanes = unit.lanes
    with IRBuilder() as builder, ir.prim_func(s_tir=True):
        ir.func_name("main")
        ir.func_attr({"global_symbol": "main", "tirx.noalias": True})
        factors = ir.arg("factors", ir.Buffer((2 * lanes,), "float32"))
        sums = ir.arg("sums", ir.Buffer((threads * chains * lanes,), "float32"))
        with ir.parallel(threads) as thread:
            factor = ir.Bind(unit.load(factors, 0))
            addend = ir.Bind(unit.load(factors, lanes))
            registers = []
            for chain in range(chains):
                register = ir.alloc_buffer((lanes,), "float32")
                unit.store(register, unit.load(sums, (thread * chains + chain) * lanes), 0)
                registers.append(register)
            with ir.serial(blocks), ir.serial(BLOCK):
                for register in registers:
                    unit.store(register, unit.load(register, 0) * factor + addend, 0)
            for chain, register in enumerate(registers):
                unit.store(sums, unit.load(register, 0), (thread * chains + chain) * lanes)
    return tvm.ir.IRModule({"main": builder.get()})
