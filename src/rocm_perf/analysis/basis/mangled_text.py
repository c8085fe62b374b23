"""A mangled name as it is read from left to right, with what was read until now and what can be referred to."""

from __future__ import annotations

import re
from typing import NamedTuple

_DEEPEST = 100  # types within types; real kernels have some 30


class Extent(NamedTuple):
    """What a part of a name unfolds to."""

    letters: int = 0
    parameters: int = 0  # references to the template arguments, of which each may be as long as the longest
    packs: int = 0

    @classmethod
    def longest(cls, *extents: Extent) -> Extent:
        """One that is at least as long as each of these."""
        return cls(*map(max, zip(*extents, strict=True)))

    def times(self, count: int) -> Extent:
        return Extent(*(count * size for size in self))

    def plus(self, other: Extent) -> Extent:
        return Extent(
            self.letters + other.letters, self.parameters + other.parameters, self.packs + other.packs
        )

    def minus(self, other: Extent) -> Extent:
        return Extent(
            self.letters - other.letters, self.parameters - other.parameters, self.packs - other.packs
        )


class UnreadableError(Exception):
    """The name is not mangled as functions are, is nested deeper than any real one, or unfolds beyond the limit."""


class MangledText:
    """The text with the position in it; `extent` is what has been read until now, unfolded."""

    def __init__(self, name: str, limit: int) -> None:
        self.name, self.limit = name, limit
        self.position = self.depth = self.unsure = 0
        self.scoped = False
        self.extent = Extent()
        self.parts: list[Extent] = []

    def _peek(self, length: int = 1) -> str:
        return self.name[self.position : self.position + length]

    def _ended(self) -> bool:
        return self.position >= len(self.name)

    def _advance(self, length: int) -> None:
        self.position += length
        self._add(Extent(length))

    def _take(self, token: re.Pattern[str]) -> re.Match[str] | None:
        match = token.match(self.name, self.position)
        if match:
            self._advance(len(match.group()))
        return match

    def _accept(self, text: str) -> bool:
        accepted = self.name.startswith(text, self.position)
        if accepted:
            self._advance(len(text))
        return accepted

    def _need(self, token: str | re.Pattern[str]) -> None:
        if not (self._accept(token) if isinstance(token, str) else self._take(token)):
            raise UnreadableError

    def _add(self, extent: Extent) -> None:
        self.extent = self.extent.plus(extent)
        if max(self.extent) > self.limit:
            raise UnreadableError

    def _remember(self, before: Extent) -> None:
        """What was read since then can be referred to from now on."""
        self.parts.append(self.extent.minus(before))

    def _remember_perhaps(self, before: Extent) -> None:
        """Demanglers of different age do or do not count an unnamed type among the parts."""
        self._remember(before)
        self.unsure += 1

    def _refer(self, number: int) -> None:
        candidates = self.parts[number : number + self.unsure + 1]
        if not candidates:
            raise UnreadableError
        self._add(Extent.longest(*candidates))

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise UnreadableError
