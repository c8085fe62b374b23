"""What ranks do over time: a row for each, coloured by what it does most of the time. A rank that the others wait for
stands out as the one that computes, or is idle, while they wait."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rocm_perf.model.results.ranks import HeatMap, RankRow, Ranks
from rocm_perf.render import svg
from rocm_perf.render.figures.axes import time_axis
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import text_width
from rocm_perf.render.figures.parts import Part, legend
from rocm_perf.render.figures.scales import Linear
from rocm_perf.render.rank_cells import STATES, State, states

LOOKS: dict[State, str] = {
    "computing": "fill-1",
    "waiting": "fill-2",
    "communicating": "fill-3",
    "idle": "idle",
}
_TALL, _LOW = 16, 8  # of a row: with few ranks, with many
_FEW = 24
_CELL = 12  # units wide, at least, so that a narrow picture has fewer
_NAMED_EVERY = 8  # rows, where there are many
_SIZE = 11


def ranks_figure(ranks: Ranks, width: float = WIDE) -> Drawn:
    """The map of ranks over time."""
    heat = ranks.map
    if heat is None or not heat.rows:
        return Missing(ranks.unavailable or "no rank was recorded")
    tall = _TALL if len(heat.rows) <= _FEW else _LOW
    names = max(text_width(row.rank, _SIZE) for row in heat.rows) + 8
    height = tall * len(heat.rows)
    bins = len(heat.rows[0].computing)
    at = Linear(0, heat.bin_ns * bins, names, width)
    parts = [Part(name=name, value=0, look=LOOKS[state], said="") for state, name in STATES.items()]
    key = legend(parts, left=0, top=height + 26, width=width)
    return Figure(
        title=f"What each of {len(ranks.rows)} ranks does over time.",
        width=width,
        height=height + 26 + key.height,
        body=(*_rows(heat, names, width, tall), *time_axis(at, height), *key.body),
    )


def _rows(heat: HeatMap, left: float, width: float, tall: int) -> Iterator[str]:
    every = 1 if tall == _TALL else _NAMED_EVERY
    cells = max(min(int((width - left) // _CELL), len(heat.rows[0].computing)), 1)
    for place, row in enumerate(heat.rows):
        top = place * tall
        if place % every == 0:
            yield svg.text((0, top + _SIZE), row.rank, "soft", size=_SIZE)
        yield svg.mark(_about(row), *_cells(row, cells, svg.Box(left, top, width - left, tall - 1)))


def _cells(row: RankRow, cells: int, box: svg.Box) -> Iterator[str]:
    """The cells of a row by state; neighbours that show the same are one."""
    step = box.width / cells
    boxes: dict[State, list[svg.Box]] = {}
    first = 0
    for state, run in groupby(states(row, cells)):
        last = first + len(list(run))
        place = svg.Box(box.left + first * step, box.top, (last - first) * step, box.height)
        boxes.setdefault(state, []).append(place)
        first = last
    yield from (svg.rects(places, LOOKS[state]) for state, places in boxes.items())


def _about(row: RankRow) -> str:
    bins = len(row.computing)
    parts = (("computes", row.computing), ("waits", row.waiting), ("transfers", row.communicating))
    return row.rank + "".join(f"\n{name} {sum(shares) / bins:.0f} % of the time" for name, shares in parts)
