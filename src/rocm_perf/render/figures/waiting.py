"""Time that the host spends in calls that wait for the GPU: while it works, and while it is idle."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.results.sync import Sync, Waiting
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import fitted
from rocm_perf.render.figures.parts import LINE, SIZE, Part, RowRoom, legend, row_room, stacked_bar
from rocm_perf.units import format_count, format_ns, format_share

_FUNCTIONS = 8
_USEFUL, _LOST = "fill-1", "fill-6"


def waiting_figure(sync: Sync, width: float = WIDE) -> Drawn:
    """One bar per function, the longest first; all have one scale."""
    rows = [row for row in sync.functions if row.total_ns > 0][:_FUNCTIONS]
    if sync.unavailable or not rows:
        return Missing(sync.unavailable or "no call waited for the GPU")
    named = [Part(name=row.name, value=row.total_ns, look="", said=format_ns(row.total_ns)) for row in rows]
    room, longest = row_room(named, width), max(row.total_ns for row in rows)
    body = [mark for place, row in enumerate(rows) for mark in _row(row, place * LINE, room, longest)]
    useful, lost = sum(row.useful_ns for row in rows), sum(row.lost_ns for row in rows)
    key = legend(
        [
            Part(name="the GPU worked", value=useful, look=_USEFUL, said=format_ns(useful)),
            Part(name="the GPU was idle", value=lost, look=_LOST, said=format_ns(lost)),
        ],
        left=0,
        top=len(rows) * LINE + 4,
        width=width,
    )
    share = format_share(lost / ((useful + lost) or 1))
    return Figure(
        title=f"Waiting of the host by function; the GPU was idle for {share} of it.",
        width=width,
        height=len(rows) * LINE + 4 + key.height,
        body=(*body, *key.body),
    )


def _row(row: Waiting, top: float, room: RowRoom, longest: float) -> Iterator[str]:
    parts = [
        Part(name=row.name, value=time, look=look, said=f"{format_ns(time)} while the GPU {state}")
        for time, look, state in ((row.useful_ns, _USEFUL, "worked"), (row.lost_ns, _LOST, "was idle"))
        if time > 0
    ]
    yield svg.text((0, top + 14), fitted(row.name, room.names - 10, SIZE), size=SIZE)
    yield from stacked_bar(parts, svg.Box(room.names, top + 4, row.total_ns / longest * room.bars, LINE - 8))
    about = f"{row.name}\n{format_count(row.calls, 'call')}"
    number = svg.text((room.width, top + 14), format_ns(row.total_ns), "soft", size=SIZE, anchor="end")
    yield svg.mark(about, number)
