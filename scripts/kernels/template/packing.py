"""Packing in training: weights as they are trained to the orders of the other functions."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx.script import builder as ir

from recurrent_cells.cells.simplify import scales

from .layout import block_vectors, declared_places, passes, taking
from .tiles import integer
from .trained_layer import TrainedLayer

Expr = Any


def emit_packing(layer: TrainedLayer, a: dict[str, Expr]) -> None:
    """All orders from w_input [K, x_gates * H], w_recurrent [H, h_gates * H], w_bias [sums * H]."""
    cell, hidden, lanes, unit = layer.cell, layer.spec.hidden_size, layer.lanes, layer.unit
    factors = scales(cell)
    places = {is_x: declared_places(cell, is_x) for is_x in (True, False)}
    sizes = {True: layer.inputs, False: layer.spec.hidden_size}
    whole = hidden == layer.hidden

    def units(source: Expr, *row: Expr, first: Expr, block: Expr) -> Expr:
        """Units of a block from `first` on, zeros for those that pad."""
        if whole:
            return unit.load(source, *row, first + block * lanes)
        values = [source[(*row, first + _below(block * lanes + n, hidden))] for n in range(lanes)]
        inside = [block * lanes + n < hidden for n in range(lanes)]
        zero = tirx.FloatImm("float32", 0.0)
        return tirx.Shuffle(
            [tirx.Select(i, v, zero) for i, v in zip(inside, values, strict=True)],
            [integer(n) for n in range(lanes)],
        )

    total = block_vectors(cell, layer.inputs, layer.spec.hidden_size) * lanes
    with ir.parallel(layer.blocks) as block:
        base = 0
        for own in passes(cell, layer.schedule.gates):
            for name, is_x in (("w_input", True), ("w_recurrent", False)):
                taken = taking(cell, own, is_x)
                if not taken:
                    continue
                with ir.serial(sizes[is_x]) as k:
                    for to, one in enumerate(taken):
                        value = units(
                            a[name], k, first=integer(places[is_x][one] * hidden), block=block
                        )
                        scale = unit.splat(factors[cell.sums[one].name])
                        place = block * total + base + (k * len(taken) + to) * lanes
                        unit.store(a["weights"], value * scale, place)
                base += sizes[is_x] * len(taken) * lanes
        for one, own in enumerate(cell.sums):
            first = integer(cell.declared_sums.index(own.name) * hidden)
            value = units(a["w_bias"], first=first, block=block) * unit.splat(factors[own.name])
            unit.store(a["bias"], value, (block * len(cell.sums) + one) * lanes)
        for one in range(len(cell.vectors)):
            value = units(a["w_vectors"], integer(one), first=integer(0), block=block)
            unit.store(a["vectors"], value, one * layer.hidden + block * lanes)
    for name, result, is_x, size in (
        ("w_input", "input", True, layer.width),
        ("w_recurrent", "recurrent", False, layer.hidden),
    ):
        own = taking(cell, range(len(cell.sums)), is_x)
        for first, count, wide in layer.strips(size) if own else ():
            with ir.parallel(count * wide) as strip, ir.serial(layer.blocks) as block:
                row = (first + strip) * lanes
                part = first + strip // wide * wide
                base = part * lanes * (layer.blocks * len(own) * lanes)
                for to, one in enumerate(own):
                    first_unit = integer(places[is_x][one] * hidden)
                    found = []
                    for n in range(lanes):
                        own_row = row + n
                        if size != sizes[is_x]:
                            own_row = _below(own_row, sizes[is_x])
                        value = units(a[name], own_row, first=first_unit, block=block)
                        if size != sizes[is_x]:
                            value = tirx.Select(row + n < sizes[is_x], value, unit.splat(0.0))
                        found.append(value)
                    for lane, value in enumerate(unit.transposed(found)):
                        at = (block * len(own) + to) * lanes + lane
                        unit.store(a[result], value, base + (at * wide + strip % wide) * lanes)


def _below(index: Expr, limit: int) -> Expr:
    """An index kept inside an array; what it then gives is not used."""
    return tirx.min(index, integer(limit - 1))
