"""How long the search may go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rocm_perf.units import format_count


@dataclass
class Budget:
    """Seconds and attempts that may be spent."""

    seconds: float
    attempts: int
    clock: Callable[[], float] = time.monotonic
    spent_attempts: int = 0
    _begun: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun = self.clock()

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.clock() - self._begun >= self.seconds

    @property
    def spent(self) -> str | None:
        """What is used up, so that nothing new is begun; None while there is some left."""
        if self.spent_attempts >= self.attempts:
            return f"{format_count(self.attempts, 'attempt')} made"
        return f"{self.seconds:g} s are over" if self.late else None
