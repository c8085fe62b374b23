"""The parts of a recording: what comes before the work, start-up, the part that repeats, and the end."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

PhaseName = Literal[
    "before",  # the first GPU work
    "start-up",  # first GPU work to the first usual step
    "steady",  # steps that repeat
    "work",  # where nothing repeats: everything between the first and the last GPU work
    "end",
]


class Phase(msgspec.Struct, frozen=True):
    """One part; its times count from the first start of the recording."""

    name: PhaseName
    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class Pause(msgspec.Struct, frozen=True):
    """A long idle time of all GPUs that does not recur. It counts from the first start of the recording."""

    start_ns: int
    end_ns: int
    after: str  # the kernel or copy that ended the pause

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class StepSpread(msgspec.Struct, frozen=True):
    """How much the lengths of the usual steps differ: the 10th and the 90th percentile, of fewer than ten steps the
    shortest and the longest."""

    low_ns: float
    high_ns: float
    whole: bool  # the shortest and the longest


class Phases(msgspec.Struct, frozen=True):
    """The parts in their order. The one that is judged is the steady state, or all the work where nothing repeats."""

    rows: tuple[Phase, ...]
    origin_ns: int  # the first start of the recording, on its own clock
    found_by: str  # what shows the steps, or why there are none
    steps: int  # in the steady state; 0 where nothing repeats
    step_ns: Quantity  # median of the usual ones: the length of a step, wherever one is told
    kernels_per_step: Quantity
    carried_over: int  # kernels and copies at the start that were launched before the recording began
    pauses: tuple[Pause, ...]
    waited: bool = False  # what comes before the work is a wait for work that was not recorded
    other_steps: int = 0  # like those of the steady state, apart from it
    other_steps_ns: int = 0  # that they take before it
    uncounted_ns: int = 0  # of the steady state, in steps that the bounds of parts cut: in no count of steps
    unavailable: str | None = None
    step_spread: StepSpread | None = None
    odd_steps: int = 0  # among the steps: longer by a hiccup, or with next to no kernels; not in the median
    kernel: str | None = (
        None  # the "steps" are launches of this kernel alone: a loop or a benchmark, no program
    )
    begins: Literal["work", "launch", "step"] = "work"  # with what the part begins that follows `before`
    first_uses_ns: int = 0  # in calls that took long once: loading code, first copies, initialisation

    def phase(self, name: PhaseName) -> Phase | None:
        return next((row for row in self.rows if row.name == name), None)

    @property
    def paused_ns(self) -> int:
        return sum(pause.duration_ns for pause in self.pauses)

    @property
    def judged(self) -> Phase | None:
        """The part that findings are about."""
        return self.phase("steady") or self.phase("work")

    @property
    def wall_ns(self) -> int:
        return sum(row.duration_ns for row in self.rows)
