"""A small roofline: what a GPU reaches at each intensity as dotted lines, and kernels under them as letters.

Williams, Waterman, Patterson: Roofline, an insightful visual performance model (2009): both axes are logarithmic.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, Roofline
from rocm_perf.render.drawings.canvas import Canvas, Cell
from rocm_perf.render.drawings.characters import Characters
from rocm_perf.render.drawings.scale import LogScale, spanning
from rocm_perf.text import clean

_LETTERS = string.ascii_letters
_BESIDE = 1.5  # how many times the outermost value the edge of an axis is
_SAMPLES = 8  # of a line in each cell
_LABELS = 5  # columns before the axis
_BELOW = 1  # line, with the labels of the axis
_AXES = "TFLOP/s over FLOP/B"
_TITLE = 10  # columns for a word before the caption
_LOWEST, _NARROWEST = 4, 24  # cells within the axes
_KERNEL, _LINE, _LABEL = "bold cyan", "dim", "dim"


@dataclass(frozen=True)
class RooflineDrawing:
    """The drawing, what its axes are, and the letter of each kernel that has one. Kernels in one cell share theirs."""

    caption: str
    lines: tuple[Text, ...]
    letters: dict[str, str]

    @property
    def width(self) -> int:
        return max(len(line) for line in self.lines)


@dataclass(frozen=True)
class Point:
    """Where a kernel stands."""

    kernel: KernelRoofline
    intensity: float  # FLOP/B
    tflops: float


@dataclass(frozen=True)
class _Line:
    """A ceiling."""

    name: str
    rate: float  # TFLOP/s or TB/s


@dataclass(frozen=True)
class _Plot:
    """What is drawn, and on which axes."""

    points: tuple[Point, ...]
    memory: tuple[_Line, ...]
    compute: tuple[_Line, ...]
    across: LogScale  # FLOP/B
    up: LogScale  # TFLOP/s

    def cell(self, point: Point) -> Cell:
        return self.across.cell(point.intensity), self.up.cell(point.tflops)


def roofline_drawing(
    roofline: Roofline, named: Sequence[str], *, width: int, height: int, characters: Characters
) -> RooflineDrawing | None:
    """The kernels of the GPU model with the longest of them, those `named` (in full or short) by a letter; None where
    no kernel has a place under a roof, or there is no room."""
    points = placed(roofline)
    columns, rows = width - _LABELS - 1, height - _BELOW
    if not points or rows < _LOWEST or columns < _NARROWEST:
        return None
    gpu = roofline.gpus[points[0].kernel.gpu]
    plot = _plot(points, gpu.ceilings, columns, rows)
    canvas = Canvas(columns, rows, characters)
    _draw_ceilings(plot, canvas)
    letters = _draw_points(plot, named, canvas)
    _label_compute(plot, canvas)
    _label_memory(plot, canvas)
    return RooflineDrawing(_caption(gpu.name, width), tuple(_framed(canvas, plot)), letters)


def placed(roofline: Roofline) -> tuple[Point, ...]:
    """The kernels of one GPU model that have a place on logarithmic axes, the longest first."""
    points = [
        Point(row, row.operational_intensity.value, row.tflops.value)
        for row in roofline.kernels
        if row.operational_intensity.value and row.tflops.value and row.roof.known
    ]
    return tuple(point for point in points if point.kernel.gpu == points[0].kernel.gpu)


def _caption(gpu: str, width: int) -> str:
    """What the axes are, and the GPU where there is room for its name."""
    named = f"{_AXES}, {clean(gpu)}"
    return named if len(named) <= width - _TITLE else _AXES


def _plot(points: tuple[Point, ...], ceilings: Sequence[Ceiling], columns: int, rows: int) -> _Plot:
    used = {part.ceiling for point in points for part in point.kernel.work}
    memory = _lines(ceilings, "memory", used)
    compute = _lines(ceilings, "compute", used)
    ridges = [flops.rate / level.rate for level in memory for flops in compute]
    intensities = [*(point.intensity for point in points), *ridges]
    rates = [*(point.tflops for point in points), *(flops.rate for flops in compute)]
    return _Plot(
        points=points,
        memory=memory,
        compute=compute,
        across=spanning(_widened(intensities), columns),
        up=spanning(_widened(rates), rows, spare=1),  # for the label of the highest
    )


def _widened(values: Sequence[float]) -> tuple[float, float]:
    return min(values) / _BESIDE, max(values) * _BESIDE


def _lines(ceilings: Sequence[Ceiling], kind: str, used: set[str]) -> tuple[_Line, ...]:
    """The ceilings of a kind that the kernels work under, or all of them if none is known to be."""
    lines = [_Line(one.name, one.rate.value) for one in ceilings if one.kind == kind and one.rate.value]
    return tuple(line for line in lines if line.name in used) or tuple(lines)


def _draw_ceilings(plot: _Plot, canvas: Canvas) -> None:
    """Memory rises to the highest rate of computing; each of these begins where the fastest memory reaches it."""
    highest = max((line.rate for line in plot.compute), default=float("inf"))
    fastest = max((line.rate for line in plot.memory), default=float("inf"))
    for sample in range(_SAMPLES * plot.across.cells):
        place = sample / _SAMPLES
        intensity = plot.across.value(place)
        for level in plot.memory:
            if intensity * level.rate <= highest:
                canvas.dot(place, plot.up.place(intensity * level.rate))
        for flops in plot.compute:
            if intensity * fastest >= flops.rate:
                canvas.dot(place, plot.up.place(flops.rate))


def _draw_points(plot: _Plot, named: Iterable[str], canvas: Canvas) -> dict[str, str]:
    """Draw the kernels; the letters of those that are named, in their order."""
    in_cells: dict[Cell, str] = {}
    letters: dict[str, str] = {}
    for name in list(named)[: len(_LETTERS)]:
        for point in plot.points:
            if name in (point.kernel.kernel, point.kernel.short_name):
                letters[name] = in_cells.setdefault(plot.cell(point), _LETTERS[len(in_cells)])
                break
    for point in plot.points:
        cell = plot.cell(point)
        canvas.write(cell, in_cells.get(cell, canvas.characters.point), _KERNEL)
    return letters


def _label_compute(plot: _Plot, canvas: Canvas) -> None:
    """Write each rate of computing at the right, above its line or below it, or else over it."""
    for flops in plot.compute:
        label = f"{flops.name} {flops.rate:,.4g}"
        column, row = canvas.columns - len(label), plot.up.cell(flops.rate)
        free = [at for at in (row + 1, row - 1) if canvas.is_free((column, at), len(label))]
        if free or canvas.is_free((column, row), len(label), of_dots=False):
            canvas.write((column, (free or [row])[0]), label, _LABEL)


def _label_memory(plot: _Plot, canvas: Canvas) -> None:
    """Write each bandwidth to the left of its line, as low as there is room."""
    for level in plot.memory:
        label = f"{level.name} {level.rate:,.3g} TB/s "
        for row in range(canvas.rows):
            column = int(plot.across.place(plot.up.value(row) / level.rate)) - len(label)
            if canvas.is_free((column, row), len(label)):
                canvas.write((column, row), label, _LABEL)
                break


def _framed(canvas: Canvas, plot: _Plot) -> Iterator[Text]:
    """The canvas between its axes."""
    labels = dict(plot.up.decades())
    for row, line in zip(range(canvas.rows - 1, -1, -1), canvas.lines(_LINE), strict=True):
        head = f"{labels.get(row, ''):>{_LABELS}}{canvas.characters.upright}"
        yield Text(head, no_wrap=True).append_text(line)
    below = " " * canvas.columns
    for column, label in plot.across.decades():
        start = min(column, canvas.columns - len(label))
        if not below[max(start - 1, 0) : start + len(label) + 1].strip():
            below = below[:start] + label + below[start + len(label) :]
    yield Text(" " * (_LABELS + 1) + below, no_wrap=True)
