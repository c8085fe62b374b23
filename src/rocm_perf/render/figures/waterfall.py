"""A comparison at a glance: which parts bring the wall time of one side to that of the other, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rocm_perf.model.results.comparison import Change, Comparison
from rocm_perf.model.results.wall_change import WallChange
from rocm_perf.render import svg
from rocm_perf.render.figures.axes import TICK, ticks, time_axis, time_unit
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import fitted, text_width
from rocm_perf.render.figures.parts import LINE, SIZE
from rocm_perf.render.figures.scales import Linear, Log
from rocm_perf.units import format_ns, format_ratio

_KERNELS = 12
_NOT_COMPARED = "the wall times of the two sides cannot be compared"
_ROOM = 0.06  # of the range, beyond the outermost values


def waterfall_figure(
    wall: WallChange | None, width: float = WIDE, *, sides: tuple[str, str] = ("before", "after")
) -> Drawn:
    """From one side's wall, part by part, to the other's; the axis need not begin at 0, so no bar does."""
    if wall is None:
        return Missing(_NOT_COMPARED)
    parts = [part for part in wall.parts if part.difference_ns]
    edges = [wall.base_ns]
    for part in parts:
        edges.append(edges[-1] + part.difference_ns)
    names = [sides[0], *(part.title for part in parts), sides[1]]
    numbers = [
        format_ns(wall.base_ns),
        *(signed(part.difference_ns) for part in parts),
        format_ns(wall.new_ns),
    ]
    table = _Table.of(names, numbers, width)
    at = _axis([*edges, wall.new_ns], table)
    bottom = len(names) * LINE
    body = [*table.body(), *_grid(at, bottom)]
    for row, (start, end) in enumerate(pairwise(edges), 1):
        body.append(_step(at, (start, end), row, f"{names[row]}\n{numbers[row]}"))
    from_x = at(wall.base_ns)
    body.append(svg.line((from_x, LINE / 2 + 5), (from_x, LINE + 4), "leader"))
    for row, wall_ns in ((0, wall.base_ns), (len(names) - 1, wall.new_ns)):
        body.append(_side(at, wall_ns, row, f"{names[row]}\n{numbers[row]}"))
    body += time_axis(at, bottom)
    return Figure(
        title=f"From {numbers[0]} to {numbers[-1]}: {', '.join(map(_said, names[1:4], numbers[1:4]))}.",
        width=width,
        height=bottom + 24,
        body=tuple(body),
    )


def intervals_figure(comparison: Comparison, width: float = WIDE) -> Drawn:
    """The ratio of the two sides with its interval, of the wall and of the kernels that changed most."""
    rows = [("wall", comparison.wall)]
    rows += [(row.kernel, row.total) for row in comparison.kernels]
    known = [(name, change) for name, change in rows if change.interval and change.ratio][: _KERNELS + 1]
    if not known:
        return Missing(comparison.wall.no_interval or "no change has an interval")
    before, after = comparison.side_names
    numbers = [format_ratio(change.ratio or 1, None) for _, change in known]
    table = _Table.of([name for name, _ in known], numbers, width)
    ratios = [bound for _, change in known for bound in (*(change.interval or ()), change.ratio or 1.0, 1.0)]
    low, high = min(ratios) / 1.05, max(ratios) * 1.05
    at = Log(max(low, 1e-3), min(high, 1e3), table.left, table.right)
    bottom = len(known) * LINE
    body = [*table.body(), svg.line((at(1), 0), (at(1), bottom), "axis")]
    body += (_interval(at, change, row, name) for row, (name, change) in enumerate(known))
    body.append(svg.text((at(1), bottom + 14), "no change", "soft", size=TICK, anchor="middle"))
    return Figure(
        title=f"Ratio of {after} to {before} with intervals at 95 %: wall {numbers[0]}.",
        width=width,
        height=bottom + 20,
        body=tuple(body),
    )


def signed(difference_ns: float) -> str:
    """A difference with its sign."""
    return f"{'+' if difference_ns > 0 else '-'}{format_ns(abs(difference_ns))}"


@dataclass(frozen=True)
class _Table:
    """Names to the left and numbers to the right of what is drawn."""

    names: Sequence[str]
    numbers: Sequence[str]
    left: float
    right: float
    width: float

    @classmethod
    def of(cls, names: Sequence[str], numbers: Sequence[str], width: float) -> _Table:
        left = min(max(text_width(name, SIZE) for name in names) + 12, 0.42 * width)
        right = width - max(text_width(number, SIZE) for number in numbers) - 12
        return cls(names, numbers, left, right, width)

    def body(self) -> Iterator[str]:
        for row, (name, number) in enumerate(zip(self.names, self.numbers, strict=True)):
            y = row * LINE + 14
            yield svg.text((0, y), fitted(name, self.left - 12, SIZE), size=SIZE)
            yield svg.text((self.width, y), number, "soft", size=SIZE, anchor="end")


def _axis(edges: Sequence[float], table: _Table) -> Linear:
    low, high = min(edges), max(edges)
    room = _ROOM * ((high - low) or high or 1.0)
    return Linear(max(low - room, 0.0), high + room, table.left, table.right)


def _grid(at: Linear, bottom: float) -> Iterator[str]:
    for tick in ticks(at, time_unit(at.high - at.low), most=6):
        yield svg.line((at(tick), 0), (at(tick), bottom), "grid")


def _step(at: Linear, edges: tuple[float, float], row: int, about: str) -> str:
    """A bar from where the wall was to where the part brings it, and a line down to the next."""
    left, right = sorted(at(edge) for edge in edges)
    box = svg.Box(left, row * LINE + 4, max(right - left, 1.0), LINE - 8)
    onward = at(edges[1])
    return svg.mark(
        about,
        svg.rect(box, "bad" if edges[1] > edges[0] else "good"),
        svg.line((onward, box.bottom), (onward, box.bottom + 8), "leader"),
    )


def _side(at: Linear, wall_ns: float, row: int, about: str) -> str:
    """A mark at the wall of one side."""
    return svg.mark(about, svg.circle((at(wall_ns), row * LINE + LINE / 2), 5, "fill-8"))


def _interval(at: Log, change: Change, row: int, name: str) -> str:
    y = row * LINE + LINE / 2
    low, high = change.interval or (1.0, 1.0)
    look = {"better": "good", "worse": "bad"}.get(change.verdict, "fill-8")
    return svg.mark(
        f"{name}\n{format_ratio(change.ratio or 1, change.interval)} at 95 %\n{change.verdict}",
        svg.line((at(low), y), (at(high), y), "interval"),
        svg.circle((at(change.ratio or 1), y), 4.5, look),
    )


def _said(name: str, number: str) -> str:
    return f"{name} {number}"
