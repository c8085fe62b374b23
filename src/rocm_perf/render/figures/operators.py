"""Modules, operators and kernels as they nest: the still version of the page's flame graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocm_perf.model.results.operators import FlameNode, Operators
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import fitted
from rocm_perf.render.figures.parts import SIZE, Part, legend, notes
from rocm_perf.units import format_count, format_ns, format_share

LOOKS = {"module": "fill-3", "operator": "fill-1", "kernel": "fill-2", "copy": "fill-4"}
_ROW = 20
_DEPTH = 16  # rows
_LEAST = 0.5  # units: narrower cells are not drawn
_EDGED = 3  # units from which on a cell has an edge
_LABEL = 28  # units from which on a cell has a label


@dataclass(frozen=True)
class Cell:
    """Where a node stands."""

    node: FlameNode
    depth: int
    left: float
    width: float


def flame_figure(operators: Operators, width: float = WIDE) -> Drawn:
    """Cells below the one around them, as wide as their GPU time, or their host time where the GPU has none."""
    nodes = operators.flame
    if operators.unavailable or not nodes:
        return Missing(operators.unavailable or "no framework operator was recorded")
    by_gpu = any(node.gpu_ns for node in nodes)
    times = [node.gpu_ns if by_gpu else node.host_ns for node in nodes]
    cells = list(placed(nodes, times, width))
    rows = max(cell.depth for cell in cells) + 1
    total = sum(time for node, time in zip(nodes, times, strict=True) if node.parent is None)
    kinds = {node.kind for node in nodes}
    parts = [
        Part(name=kind, value=0, look=f"{look} tint", said="")
        for kind, look in LOOKS.items()
        if kind in kinds
    ]
    key = legend(parts, left=0, top=rows * _ROW + 4, width=width)
    what = "GPU time, with everything below" if by_gpu else "host time, with everything below"
    remark = f"Width: {what}; {format_ns(total)} in all."
    top = rows * _ROW + 4 + key.height
    note = notes([remark], left=0, top=top - 4, width=width)
    body = [_drawn(cell, total, by_gpu=by_gpu) for cell in cells]
    return Figure(
        title=f"Modules, operators and kernels by {what}.",
        width=width,
        height=top + note.height,
        body=(*body, *key.body, *note.body),
    )


def placed(nodes: Sequence[FlameNode], times: Sequence[float], width: float) -> Iterator[Cell]:
    """Children side by side below the node around them, in their order; what is too deep or too narrow is left out."""
    total = sum(time for node, time in zip(nodes, times, strict=True) if node.parent is None) or 1.0
    cells: dict[int, Cell] = {}
    filled: dict[int | None, float] = {}
    for place, (node, time) in enumerate(zip(nodes, times, strict=True)):
        around = None if node.parent is None else cells.get(node.parent)
        if node.parent is not None and around is None:
            continue
        left = filled.get(node.parent, around.left if around else 0.0)
        cell = Cell(node, around.depth + 1 if around else 0, left, time / total * width)
        filled[node.parent] = left + cell.width
        if cell.width >= _LEAST and cell.depth < _DEPTH:
            cells[place] = cell
    yield from cells.values()


def _drawn(cell: Cell, total: float, *, by_gpu: bool) -> str:
    node = cell.node
    box = svg.Box(cell.left, cell.depth * _ROW, cell.width, _ROW)
    label = (
        (svg.text((box.left + 4, box.top + 14), fitted(node.name, box.width - 8, SIZE - 1), size=SIZE - 1),)
        if box.width >= _LABEL
        else ()
    )
    time = node.gpu_ns if by_gpu else node.host_ns
    about = (
        f"{node.name}\n{node.kind}, {format_count(node.calls, 'call')}\n"
        f"{format_ns(time)} ({format_share(time / (total or 1))})"
    )
    edge = " edged" if box.width > _EDGED else ""
    return svg.mark(about, svg.rect(box, f"{LOOKS[node.kind]} tint{edge}"), *label)
