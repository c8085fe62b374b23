"""Labels beside dots, placed so that nothing overlaps; one that finds no room is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rocm_perf.render import svg
from rocm_perf.render.figures.lettering import text_width

_GAP = 4
_LINE = 1.25  # of the size of the letters: the height that a line takes


@dataclass
class Room:
    """The part of a picture that labels may use, what is taken, and what labels cross only where they must."""

    inside: svg.Box
    taken: list[svg.Box] = field(default_factory=list)
    avoided: list[svg.Box] = field(default_factory=list)

    def take(self, boxes: Iterable[svg.Box]) -> None:
        """Nothing else may stand there."""
        self.taken.extend(boxes)

    def has(self, box: svg.Box) -> bool:
        """Whether the box is free."""
        within = (
            self.inside.left <= box.left
            and box.right <= self.inside.right
            and self.inside.top <= box.top
            and box.bottom <= self.inside.bottom
        )
        return within and not any(box.overlaps(other) for other in self.taken)

    def first_free(self, boxes: Iterable[svg.Box]) -> svg.Box | None:
        """The first of these boxes that is free, which is taken then; one that crosses nothing goes before."""
        free = [box for box in boxes if self.has(box)]
        clear = (box for box in free if not any(box.overlaps(other) for other in self.avoided))
        box = next(clear, free[0] if free else None)
        if box is not None:
            self.taken.append(box)
        return box


def beside(centre: svg.Point, radius: float, label: str, size: float) -> Iterator[svg.Box]:
    """Where a label may stand: right, left, above, below of its dot, then further off."""
    x, y = centre
    width, height = text_width(label, size), size * _LINE
    for away in (radius + _GAP, radius + 14, radius + 28):
        yield svg.Box(x + away, y - height / 2, width, height)
        yield svg.Box(x - away - width, y - height / 2, width, height)
        for top in (y - away - height, y + away):
            yield svg.Box(x - width / 2, top, width, height)
            yield svg.Box(x, top, width, height)
            yield svg.Box(x - width, top, width, height)


def written(box: svg.Box, label: str, look: str, size: float) -> str:
    """The label in its box."""
    return svg.text((box.left, box.top + size), label, look, size=size)


def leader(centre: svg.Point, radius: float, box: svg.Box) -> Iterator[str]:
    """A thin line from a dot to a label that does not stand right beside it."""
    x = min(max(centre[0], box.left), box.right)
    y = min(max(centre[1], box.top), box.bottom)
    if max(abs(x - centre[0]), abs(y - centre[1])) > radius + _GAP + 1:
        yield svg.line(centre, (x, y), "leader")


def around(centre: svg.Point, radius: float) -> svg.Box:
    """The square around a dot."""
    return svg.Box(centre[0] - radius, centre[1] - radius, 2 * radius, 2 * radius)
