"""Where ranges go: five functions of a library that a profiler listens to, or of nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Library:
    """Where ranges go. `push` and `pop` nest on their thread; what `start` begins, `stop` ends by its number."""

    name: str
    push: Callable[[bytes], object]
    pop: Callable[[], object]
    mark: Callable[[bytes], object]
    start: Callable[[bytes], int]
    stop: Callable[[int], object]


def _ignore(*_given: object) -> int:
    return 0


NOTHING = Library(name="none", push=_ignore, pop=_ignore, mark=_ignore, start=_ignore, stop=_ignore)
NOT_YET = replace(NOTHING)  # torch.profiler will listen, once torch is imported
