"""Who sends how much to whom: a cell for each pair of ranks, the darker the more."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.results.communication import Communication, Traffic
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import text_width
from rocm_perf.render.traffic_levels import levels
from rocm_perf.units import format_bytes

_LOOKS = ("idle", "fill-1 band", "fill-1 tint", "fill-1 faint", "fill-1")  # by level
_LARGEST = 28  # of a cell
_SIZE = 11
_NAMED = 14  # units: the least height of a row that has its rank beside it
_HEAD = 20


def traffic_figure(communication: Communication, width: float = WIDE) -> Drawn:
    """The heat map of what ranks send to one another."""
    traffic = communication.traffic
    if traffic is None:
        return Missing(
            communication.unavailable or "the recording does not say which rank sent how much to which"
        )
    left = max(text_width(str(rank), _SIZE) for rank in traffic.ranks) + 8
    cell = min((width - left) / len(traffic.ranks), _LARGEST)
    return Figure(
        title=f"Bytes from each rank (rows) to each other one (columns), in {traffic.basis}.",
        width=width,
        height=_HEAD + cell * len(traffic.ranks),
        body=(
            svg.text(
                (0, _SIZE), f"from each rank (rows) to each other one (columns), in {traffic.basis}", "soft"
            ),
            *_rows(traffic, left, cell),
        ),
    )


def _rows(traffic: Traffic, left: float, cell: float) -> Iterator[str]:
    every = max(round(_NAMED / cell), 1)
    shades = levels(traffic)
    for place, rank in enumerate(traffic.ranks):
        top = _HEAD + place * cell
        if place % every == 0:
            yield svg.text((0, top + min(cell, _SIZE)), str(rank), "soft", size=_SIZE)
        for column, receiver in enumerate(traffic.ranks):
            box = svg.Box(left + column * cell, top, cell - 1, cell - 1)
            sent = format_bytes(traffic.sent_bytes[place][column])
            look = _LOOKS[shades[place][column]]
            yield svg.mark(f"rank {rank} to rank {receiver}: {sent}", svg.rect(box, look))
