"""Who sends how much to whom, as a line of characters for each sender."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rocm_perf.model.results.communication import Traffic
from rocm_perf.render.drawings.characters import Characters
from rocm_perf.render.traffic_levels import levels
from rocm_perf.units import format_bytes

_CELL = 2  # characters wide: about as wide as high


def traffic_drawing(traffic: Traffic, characters: Characters) -> Iterator[Text]:
    """The heat map, with its key."""
    yield Text(f"bytes from each rank (rows) to each other one (columns), in {traffic.basis}")
    names = max(len(str(rank)) for rank in traffic.ranks)
    for rank, row in zip(traffic.ranks, levels(traffic), strict=True):
        cells = "".join(characters.levels[level] * _CELL for level in row)
        yield Text.assemble(f"{rank:>{names}} ", (cells, "blue"), no_wrap=True)
    largest = format_bytes(max(max(row) for row in traffic.sent_bytes))
    yield Text(f"{characters.levels[0]!r} none, {characters.levels[-1]} up to {largest}", style="dim")
