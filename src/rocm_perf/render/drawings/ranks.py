"""What ranks do over time, as one line of characters for each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rocm_perf.model.results.ranks import HeatMap, RankRow
from rocm_perf.render.drawings.characters import Characters
from rocm_perf.render.rank_cells import STATES, State, states

STYLES: dict[State, str] = {"computing": "blue", "waiting": "yellow", "communicating": "green", "idle": "dim"}
_MOST = 32  # lines: more ranks are seen in the report


def ranks_drawing(heat: HeatMap, width: int, characters: Characters) -> Iterator[Text]:
    """A line for each rank, and what its characters stand for."""
    shown = heat.rows[:_MOST]
    names = max(len(row.rank) for row in shown) + 1
    for row in shown:
        yield _line(row, names, min(width - names, len(row.computing)), characters)
    if len(heat.rows) > len(shown):
        yield Text(f"and {len(heat.rows) - len(shown)} more rows in the report", style="dim")
    key = Text(no_wrap=True)
    for state, name in STATES.items():
        key.append(characters.ranks[state], STYLES[state]).append(f" {name}  ")
    yield key


def _line(row: RankRow, names: int, cells: int, characters: Characters) -> Text:
    line = Text(row.rank.ljust(names), no_wrap=True)
    for state in states(row, cells):
        line.append(characters.ranks[state], STYLES[state])
    return line
