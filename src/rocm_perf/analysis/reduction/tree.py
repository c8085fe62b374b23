"""Parts that come one by one, combined as a tree: each takes part in as many combinations as the tree is high, so that
the work grows hardly faster than their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Part = TypeVar("Part")
AT_ONCE = 16  # parts of one level that become one of the next


class Tree(Generic[Part]):
    """Combines parts as soon as enough of one level are there."""

    def __init__(self, combine: Callable[[Sequence[Part]], Part]) -> None:
        self._combine = combine
        self._levels: list[list[Part]] = []

    def add(self, part: Part, level: int = 0) -> None:
        """Take one more part."""
        if level == len(self._levels):
            self._levels.append([])
        waiting = self._levels[level]
        waiting.append(part)
        if len(waiting) == AT_ONCE:
            self._levels[level] = []
            self.add(self._combine(waiting), level + 1)

    def total(self) -> Part:
        """All parts as one, of which there is at least one."""
        return self._combine([part for level in self._levels for part in level])
