"""A case: a small GPU program whose limit is known from how it was written, and what should be said of it first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocm_perf.model.finding import Kind

Step = Callable[[int], None]  # called with its number in the loop


@dataclass(frozen=True)
class Case:
    """`make` sets the program up and gives its step. torch.profiler records `torch_steps`, so that its file stays
    small. The first finding has one of the `kinds`; title or remedy match `says`, and no finding matches `never`."""

    name: str
    verdict: str  # an expert's first sentence
    make: Callable[[], Step]
    kinds: tuple[Kind, ...]
    steps: int
    torch_steps: int
    says: str = ""
    never: str = ""

    def program(self, steps: int) -> list[str]:
        """The arguments of Python that run so many steps of it."""
        return ["-m", "tests.gpu.verdicts.run", self.name, str(steps)]
