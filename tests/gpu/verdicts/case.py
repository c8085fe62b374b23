"""A case: a small GPU program whose limit is known from how it was written, and what should be said of it first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocm_perf.model.finding import Kind

Step = Callable[[int], None]  # called with its number in the loop


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The first finding has one of the `kinds`; title, remedy or evidence match `says`, and no finding matches
    `never`. torch.profiler records `torch_steps`, so that its file stays small, or nothing."""

    name: str
    verdict: str  # an expert's first sentence
    kinds: tuple[Kind, ...]
    steps: int
    torch_steps: int = 0
    says: str = ""
    never: str = ""


@dataclass(frozen=True, kw_only=True)
class Case(Expected):
    """A program in torch: `make` sets it up and gives its step."""

    make: Callable[[], Step]

    def command(self, steps: int) -> list[str]:
        """What runs so many steps of it."""
        return ["python", "-m", "tests.gpu.verdicts.run", self.name, str(steps)]


@dataclass(frozen=True, kw_only=True)
class Plain(Expected):
    """A program of plain.cu, which lies built at `binary`."""

    binary: str = "plain"

    def command(self, steps: int) -> list[str]:
        return [self.binary, self.name, str(steps)]
