"""A pair: one small GPU program before and after one known change, and what should be said of the first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rocm_perf.model.finding import Kind

Tensor = Any  # torch is where a GPU is, not where this is checked
Action = Literal["faster", "fuse", "graphs", "hoist-syncs", "overlap-copies"]


@dataclass(frozen=True)
class Program:
    """A program that is set up: `step` is called with the number of the step in its loop.

    `result` is what both variants compute, where they compute the same. `kernels` launches, alone, the work that the
    change makes cheaper, where the change is one of kernels.
    """

    step: Callable[[int], None]
    result: Callable[[], Tensor] | None = None
    kernels: Callable[[], None] | None = None


@dataclass(frozen=True)
class Remedy:
    """What the change is to the graph; `kernels` matches the names of those that it makes faster or fuses."""

    action: Action
    kernels: str = ""


@dataclass(frozen=True)
class Pair:
    """`make(after)` sets one variant up. A loop of `steps` takes 30 to 80 ms: longer ones of large products run into
    the GPU's power limit. torch.profiler records `torch_steps`, so that its file stays below 200 kB. `kinds` are those
    that the first finding may have."""

    name: str
    title: str
    make: Callable[[bool], Program]
    steps: int
    torch_steps: int
    remedy: Remedy
    kinds: tuple[Kind, ...]

    @property
    def host_matters(self) -> bool:
        """Whether the host's speed decides what the change brings; it copies pageable memory itself."""
        return bool({"host-bound", "sync", "copies"} & set(self.kinds))

    def program(self, steps: int) -> list[str]:
        """The arguments of Python that run so many steps of the first variant."""
        return ["-m", "tests.gpu.pairs.run", self.name, str(steps)]

    def command(self, steps: int) -> list[str]:
        """What runs them."""
        return ["python", *self.program(steps)]


class Device(Protocol):
    """The GPU as the measuring code sees it."""

    def seed(self) -> None:
        """Make the next random numbers those of every other program."""

    def synchronize(self) -> None:
        """Wait for everything that was launched."""

    def rest(self) -> None:
        """Let the GPU become as cool as that of a program which has just begun."""

    def range(self, name: str) -> AbstractContextManager[None]:
        """A range that a recorder sees."""

    def alone_us(self, launch: Callable[[], None]) -> float:
        """The GPU's own time of what is launched, with nothing beside it."""

    def same(self, one: Tensor, other: Tensor) -> bool:
        """Whether two results are equal within the precision of their type."""

    def release(self) -> None:
        """Give back the memory of programs that are gone."""
