"""What a cell computes, by its graph, whatever it is called."""

from __future__ import annotations

import hashlib

from .cells import Cell
from .cells.language import in_order


def graph_digest(cell: Cell) -> str:
    """The same for cells that compute the same from the same names."""
    nodes = in_order(cell.outputs.values())
    place = {node: number for number, node in enumerate(nodes)}
    graph = [(node.operation, node.value, *map(place.get, node.arguments)) for node in nodes]
    new = [place[node] for node in cell.outputs.values()]
    names: tuple[object, ...] = (
        *(cell.gates, sorted(cell.apart), cell.states, cell.vectors, cell.projected),
        *(sorted(own) for own in (cell.x_only, cell.h_only) if cell.x_only or cell.h_only),
        *(cell.starts if any(cell.starts) else ()),
    )
    return hashlib.sha256(repr((names, graph, new)).encode()).hexdigest()[:16]
