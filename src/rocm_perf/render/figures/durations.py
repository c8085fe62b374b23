"""How long the dispatches of a kernel took, as a line for a row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.results.times import Hotspot, Hotspots
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.parts import LINE, SIZE, Part, bar_rows
from rocm_perf.render.figures.scales import Linear
from rocm_perf.units import format_count, format_ns, format_share

_NOT_KEPT = "single dispatches of this kernel are not kept"
_SPARK, _SPARK_ROOM = 84, 104
_KERNELS = 12
_TOP = 20  # below the headings


def sparkline(row: Hotspot, width: float = _SPARK, height: float = LINE) -> Drawn:
    """The durations from the first dispatch to the last, from 0 up to the longest mean."""
    if row.durations is None:
        return Missing(_NOT_KEPT)
    return Figure(
        title=f"{row.short_name}: {_course_said(row)}",
        width=width,
        height=height,
        body=tuple(_course(row.durations.course_ns, svg.Box(0, 2, width, height - 4))),
    )


def kernels_figure(hotspots: Hotspots, width: float = WIDE) -> Drawn:
    """The longest kernels: their share of the kernel time, and how their durations run."""
    if hotspots.unavailable or not hotspots.rows:
        return Missing(hotspots.unavailable or "no kernels were recorded")
    rows = hotspots.rows[:_KERNELS]
    parts = [
        Part(
            name=row.short_name,
            value=row.share,
            look="fill-1",
            said=f"{format_share(row.share)} ({format_ns(row.total_ns)})",
            about=f"{format_count(row.calls, 'call')}; {_course_said(row)}",
        )
        for row in rows
    ]
    has_room = width >= WIDE and any(row.durations for row in rows)
    bars = bar_rows(parts, width=width - (_SPARK_ROOM if has_room else 0), top=_TOP, whole=1.0)
    body = [svg.text((0, 12), "Share of the kernel time", "soft", size=SIZE - 1), *bars]
    if has_room:
        body.append(svg.text((width, 12), "one call, first to last", "soft", size=SIZE - 1, anchor="end"))
        body += _sparklines(rows, width - _SPARK)
    title = (
        f"The longest kernels: {rows[0].short_name} takes {format_share(rows[0].share)} of the kernel time."
    )
    return Figure(title=title, width=width, height=_TOP + len(rows) * LINE + 4, body=tuple(body))


def _sparklines(rows: Sequence[Hotspot], left: float) -> Iterator[str]:
    for place, row in enumerate(rows):
        if row.durations is not None:
            box = svg.Box(left, _TOP + place * LINE + 3, _SPARK, LINE - 6)
            yield svg.mark(f"{row.short_name}\n{_course_said(row)}", *_course(row.durations.course_ns, box))


def _course(course_ns: Sequence[float], box: svg.Box) -> Iterator[str]:
    """A line, and the area below it; a single value is level."""
    values = course_ns if len(course_ns) > 1 else (*course_ns, *course_ns)
    across = Linear(0, len(values) - 1, box.left, box.right)
    up = Linear(0, max(values) or 1.0, box.bottom, box.top)
    points = [(across(place), up(value)) for place, value in enumerate(values)]
    yield svg.polygon(((box.left, box.bottom), *points, (box.right, box.bottom)), "fill-1 band")
    yield svg.polyline(points, "stroke-1")


def _course_said(row: Hotspot) -> str:
    if row.min_ns is None or row.max_ns is None:
        return f"mean {format_ns(row.mean_ns)}"
    middle = "" if row.median_ns is None else f", median {format_ns(row.median_ns)}"
    return f"{format_ns(row.min_ns)} to {format_ns(row.max_ns)}{middle}"
