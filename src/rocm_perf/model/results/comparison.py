"""What changed between two populations of runs, `base` and `new`. Differences are new minus base, times in
nanoseconds, of a step or of a whole run, as `per` says."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.results.alignment import Alignment
from rocm_perf.model.results.check import Check
from rocm_perf.model.results.scorecard import Score, ScoreChange
from rocm_perf.model.results.wall_change import WallChange
from rocm_perf.model.step_kinds import StepKind

Match = Literal[
    "name",
    "short name",
    "family, grid and position",
    "family and position",
    "family and grid",
    "appeared",
    "vanished",
]
OperatorMatch = Literal["name", "name without numbers", "category and place", "appeared", "vanished"]
Fate = Literal["came", "went", "stayed"]
Per = Literal["step", "run"]
Verdict = Literal["better", "worse", "no difference shown"]

_SHORT = 8  # characters of a label that heads a column of times without widening it


class ComparedRun(msgspec.Struct, frozen=True):
    """One run, or the part of it that is compared."""

    label: str
    tool: str
    wall_ns: int | None
    steps: int  # in that part; 0 where the whole run is compared
    gpus: int
    dispatches: int
    kernel_ns: int  # summed over dispatches
    recorded: tuple[str, ...]  # tables with times; the wall spans them
    devices: tuple[str, ...] = ()  # what the GPUs are called that did work
    chips: tuple[str, ...] = ()  # and of what architecture they are
    world_size: int | None = None  # the ranks of its job
    software: tuple[str, ...] = ()  # runtimes and their versions


class Side(msgspec.Struct, frozen=True):
    """One of the two populations."""

    label: str
    runs: tuple[ComparedRun, ...]

    @property
    def middle(self) -> int:
        """The place of the run with the median wall of a step or run, the shorter of two."""
        walls = sorted((run.wall_ns or 0) / (run.steps or 1) for run in self.runs)
        median = walls[(len(walls) - 1) // 2]
        return next(
            place for place, run in enumerate(self.runs) if (run.wall_ns or 0) / (run.steps or 1) == median
        )


class Change(msgspec.Struct, frozen=True):
    """A time on both sides: the median over the runs of each, and what the runs show about their ratio."""

    base: float | None  # None: no run of this side has it
    new: float | None
    ratio: float | None  # new / base
    interval: tuple[float, float] | None  # of the ratio, at 95 %
    verdict: Verdict
    base_runs: tuple[float, ...]
    new_runs: tuple[float, ...]
    no_interval: str | None = None  # why there is none

    @property
    def difference(self) -> float:
        """New minus base; a side without it counts as none."""
        return (self.new or 0) - (self.base or 0)


class Count(msgspec.Struct, frozen=True):
    """A number of things on both sides: the median over the runs of each, and the lowest and highest."""

    base: float
    new: float
    base_range: tuple[float, float]
    new_range: tuple[float, float]


class KernelChange(msgspec.Struct, frozen=True):
    """One kernel on both sides; it has no calls on a side where it does not occur."""

    kernel: str  # short name in base, or in new where only that has it
    new_kernel: str  # short name in new, or in base
    family: str
    match: Match
    base_names: tuple[str, ...]
    new_names: tuple[str, ...]
    total: Change  # all calls of a step or run together
    median: Change  # one call; None where only the profiler's own statistics exist
    calls: Count  # of a step or run


class OperatorChange(msgspec.Struct, frozen=True):
    """One framework operator on both sides; it has no calls on a side where it does not occur. Times leave out what
    operators inside it did, so that those of all operators add up."""

    operator: str  # name in base, or in new where only that has it
    new_operator: str  # name in new, or in base
    category: str
    match: OperatorMatch
    base_names: tuple[str, ...]
    new_names: tuple[str, ...]
    gpu: Change  # of the kernels, copies and fills that its calls of a step or run launched themselves
    host: Change  # of its calls of a step or run
    calls: Count  # of a step or run


class ModuleChange(msgspec.Struct, frozen=True):
    """All nn.Modules of one kind in one place, with everything inside them, forward and backward."""

    module: str  # the path of the kinds of modules: Model/Layer/Linear
    gpu: Change  # of the kernels, copies and fills that operators inside launched
    host: Change  # of these operators
    calls: Count  # of the modules


class FindingChange(msgspec.Struct, frozen=True):
    """A finding of one side or of both. A side has it if more than half of its runs do."""

    id: str
    fate: Fate
    title: str
    base_at_stake_ns: float | None  # median over the runs that have it
    new_at_stake_ns: float | None
    base_runs: int  # that have it
    new_runs: int


class StepKindChange(msgspec.Struct, frozen=True):
    """The steps of one kind on both sides, or those of them with one batch size."""

    kind: StepKind
    batch: int | None  # requests in each of these steps; None: all steps of the kind
    steps: Count  # of a run
    base_requests: float | None  # median of a step
    new_requests: float | None
    time: Change  # median over the steps of a run
    token: Change  # time of the steps of a run / their tokens; none where the annotations do not say how many

    @property
    def name(self) -> str:
        return self.kind if self.batch is None else f"{self.kind} batch {self.batch}"


class WallOfSteps(msgspec.Struct, frozen=True):
    """The difference of the wall as a sum, in nanoseconds of a step or run: new minus base, in the middle runs."""

    difference_ns: float
    mix_ns: float  # other shares of the kinds; each takes its mean over both sides
    steps_ns: float  # longer or shorter steps of the kinds; each as often as the mean of both sides
    between_ns: float  # what lies in no step


class StepChanges(msgspec.Struct, frozen=True):
    """Each kind of step, and below it the batch sizes that both sides have."""

    rows: tuple[StepKindChange, ...]
    wall: WallOfSteps | None  # None: the wall is unknown


class Comparison(msgspec.Struct, frozen=True):
    """Everything that `compare` says."""

    base: Side
    new: Side
    per: Per
    basis: str  # what shows the steps, or why whole runs are compared
    wall: Change
    wall_unavailable: str | None
    wall_doubt: str | None  # why the walls of the sides do not mean the same
    waterfall: WallChange | None
    gpus: tuple[WallChange, ...]
    alignment: Alignment | None  # None: no operators, or no GPU work with times
    kinds: StepChanges | None  # None: a side does not annotate its steps
    launches: Count  # kernels of a step (of the busiest process) or of a run
    kernel_count: Score
    kernels: tuple[KernelChange, ...]  # largest difference of the total first
    operators: tuple[OperatorChange, ...]  # largest difference of GPU or host time first
    operators_unavailable: str | None  # why there are none
    modules: tuple[ModuleChange, ...]  # largest difference of GPU or host time first
    modules_unavailable: str | None
    findings: tuple[FindingChange, ...]
    notes: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    setting: str | None = (
        None  # how hardware, ranks or runtimes of the sides differ: not by a change of the program
    )
    memory: Count | None = None  # the peak in bytes on one GPU, in all of a run
    memory_unavailable: str | None = None
    scorecard: tuple[ScoreChange, ...] = ()
    schema_version: int = 5

    @property
    def finest_waterfall(self) -> WallChange | None:
        """The parts of the wall; GPU work by what became of it, where that is known."""
        return self.alignment.waterfall if self.alignment else self.waterfall

    @property
    def side_names(self) -> tuple[str, str]:
        """What the sides are called in tables and pictures: by their labels, where these are short and differ."""
        labels = self.base.label, self.new.label
        return labels if labels[0] != labels[1] and max(map(len, labels)) <= _SHORT else ("before", "after")
