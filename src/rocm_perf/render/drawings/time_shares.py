"""The judged time as one bar of a terminal: each segment is as long as its share, and a legend tells its letter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from rich.text import Text

from rocm_perf.render.drawings.characters import Characters
from rocm_perf.render.drawings.phases import shared_cells
from rocm_perf.render.time_shares import Segment
from rocm_perf.units import format_share

_BUSY = ("green", "cyan", "blue", "bright_green", "bright_cyan", "bright_blue")
_IDLE = ("yellow", "red", "magenta", "bright_yellow", "bright_red", "bright_magenta")
_BETWEEN = "   "


def time_bar(segments: Sequence[Segment], width: int, characters: Characters) -> Text:
    """Return the bar, `width` cells long. Each segment shows its letter, so that colours are not needed."""
    cells = shared_cells([segment.total_ns for segment in segments], width)
    bar = Text(no_wrap=True)
    for segment, letter, style, length in zip(
        segments, ascii_uppercase, _styles(segments), cells, strict=False
    ):
        filled = [characters.time[segment.kind]] * length
        if length:
            filled[length // 2] = letter
        bar.append("".join(filled), style)
    return bar


def time_legend(segments: Sequence[Segment], width: int) -> Iterator[Text]:
    """Yield the lines that name each segment and its share: what the GPU does, then why it is idle."""
    styled = list(zip(segments, ascii_uppercase, _styles(segments), strict=False))
    for side, heading in (("busy", "busy"), ("idle", "idle")):
        own = [each for each in styled if each[0].side == side]
        if own:
            share = format_share(sum(segment.share for segment, _, _ in own))
            yield from _entries(f"{heading} {share}", own, width)


def _entries(heading: str, own: Sequence[tuple[Segment, str, str]], width: int) -> Iterator[Text]:
    row = Text(no_wrap=True, overflow="ellipsis").append(heading, "bold")
    indent = len(heading)
    for segment, letter, style in own:
        said = f"{segment.name} {format_share(segment.share)}"
        if len(row) > indent and len(row) + len(_BETWEEN) + 2 + len(said) > width:
            yield row
            row = Text(" " * indent, no_wrap=True, overflow="ellipsis")
        row.append(_BETWEEN).append(letter, f"bold {style}").append(f" {said}")
    yield row


def _styles(segments: Sequence[Segment]) -> list[str]:
    """Return a style for each segment; those of one side differ from their neighbours."""
    styles, used = [], {"busy": 0, "idle": 0}
    for segment in segments:
        palette = _BUSY if segment.side == "busy" else _IDLE
        styles.append(palette[used[segment.side] % len(palette)])
        used[segment.side] += 1
    return styles
