"""What several figures are made of: bars cut into parts, rows of bars, and the list of what the colours mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rocm_perf.render import svg
from rocm_perf.render.figures.lettering import fitted, text_width, wrapped

SIZE = 12  # of the letters
LINE = 20  # from one line of text to the next
_NOTE_LINE = 16
_SWATCH = 10
_BETWEEN = 18


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a bar. `value` is its length, `said` what stands beside its name, `about` what else is known."""

    name: str
    value: float
    look: str
    said: str
    about: str = ""


def stacked_bar(parts: Sequence[Part], box: svg.Box) -> Iterator[str]:
    """The parts side by side; together they are as wide as the box."""
    total = sum(part.value for part in parts) or 1.0
    left = box.left
    for part in parts:
        width = part.value / total * box.width
        place = svg.Box(left, box.top, width, box.height)
        yield svg.mark(
            "\n".join(filter(None, (part.name, part.said, part.about))), svg.rect(place, part.look)
        )
        left += width
    yield from _cuts(parts, box, total)


def _cuts(parts: Sequence[Part], box: svg.Box, total: float) -> Iterator[str]:
    """Thin lines between parts that are wide enough to spare them."""
    left = box.left
    for part, after in pairwise(parts):
        left += part.value / total * box.width
        if min(part.value, after.value) / total * box.width > 3:
            yield svg.line((left, box.top), (left, box.bottom), "cut")


@dataclass(frozen=True)
class Legend:
    """What stands below a figure, as markup, and how much room it takes."""

    body: tuple[str, ...]
    height: float


def legend(parts: Sequence[Part], *, left: float, top: float, width: float) -> Legend:
    """A swatch, the name and what is said of each part, in as many lines as they need."""
    body: list[str] = []
    x, y = left, top
    for part in parts:
        room = width - _SWATCH - 6 - text_width(f" {part.said}", SIZE)
        name = fitted(part.name, max(room, 40), SIZE)
        needed = _SWATCH + 6 + text_width(f"{name} {part.said}", SIZE)
        if x > left and x + needed > left + width:
            x, y = left, y + LINE
        body.append(svg.rect(svg.Box(x, y + 3, _SWATCH, _SWATCH), part.look, rounded=2))
        body.append(svg.text((x + _SWATCH + 6, y + 12), f"{name} {part.said}".rstrip(), size=SIZE))
        x += needed + _BETWEEN
    return Legend(tuple(body), y + LINE - top)


@dataclass(frozen=True)
class RowRoom:
    """How the width is shared among the names, the bars and the numbers of rows."""

    width: float
    names: float
    numbers: float

    @property
    def bars(self) -> float:
        return self.width - self.names - self.numbers


def row_room(rows: Sequence[Part], width: float) -> RowRoom:
    """Names get what they need, up to two fifths; numbers all that they need."""
    names = max((text_width(row.name, SIZE) for row in rows), default=0) + 10
    numbers = max((text_width(row.said, SIZE) for row in rows), default=0) + 10
    return RowRoom(width, min(names, 0.4 * width), min(numbers, 0.45 * width))


def bar_rows(rows: Sequence[Part], *, width: float, top: float, whole: float) -> Iterator[str]:
    """One bar below the other, each with its name before and its numbers behind; `whole` is a full bar."""
    room = row_room(rows, width)
    for place, row in enumerate(rows):
        y = top + place * LINE
        full = svg.Box(room.names, y + 4, room.bars, LINE - 8)
        length = row.value / whole * room.bars if whole else 0.0
        yield svg.mark(
            "\n".join(filter(None, (row.name, row.said, row.about))),
            svg.text((0, y + 14), fitted(row.name, room.names - 10, SIZE), size=SIZE),
            svg.rect(full, "idle", rounded=2),
            svg.rect(svg.Box(full.left, full.top, min(length, full.width), full.height), row.look, rounded=2),
            svg.text((width, y + 14), row.said, "soft", size=SIZE, anchor="end"),
        )


def notes(remarks: Iterable[str], *, left: float, top: float, width: float) -> Legend:
    """Small text below a figure, each remark in as many lines as it needs."""
    lines = [line for remark in remarks for line in wrapped(remark, width, SIZE - 1)]
    body = tuple(
        svg.text((left, top + 14 + place * _NOTE_LINE), line, "soft", size=SIZE - 1)
        for place, line in enumerate(lines)
    )
    return Legend(body, len(lines) * _NOTE_LINE + 4)
