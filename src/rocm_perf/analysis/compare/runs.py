"""The runs of both sides, each cut to the part that is compared: the steps of its steady state, or all of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec
import polars as pl

from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.work_in_steps import THREAD
from rocm_perf.analysis.compare.setting import of_gpus
from rocm_perf.analysis.compare.wall import GpuWall, gpu_walls
from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.phases.focus import cut, focused
from rocm_perf.analysis.phases.windows import steady
from rocm_perf.analysis.serving.steps import timed_steps
from rocm_perf.analysis.time.busy import SPANS, wall_ns
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.comparison import ComparedRun, Per
from rocm_perf.model.results.kernels import Step
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace

_LONGER = 1.5  # times as many kernels in a step: more than what a change adds or fuses
_ABOUT = 0.2
_ANNOTATED = "the program's own annotations"
_MARKED, _SEQUENCE = "ranges of the program", "the sequence of kernels"


class Recording(msgspec.Struct, frozen=True):
    """One run: its recording, and the findings about it."""

    label: str
    trace: Trace
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class JudgedRun:
    """The part of a run that is compared."""

    label: str
    trace: Trace
    steps: int  # in the trace; 0 where it is the whole run
    kernels_per_step: float
    findings: tuple[Finding, ...]
    recording: Trace  # all of the run
    windows: tuple[Step, ...] = ()  # the steps,
    on_host: bool = False  # by what the host launched in them

    @property
    def units(self) -> int:
        """How many steps or runs its times are of."""
        return self.steps or 1

    @property
    def wall_ns(self) -> float | None:
        """The wall of a step or of the run."""
        wall = self.described.wall_ns
        return None if wall is None else wall / self.units

    @property
    def launches(self) -> float:
        """Kernels of a step or of the run."""
        return self.kernels_per_step if self.steps else self.described.dispatches

    @property
    def host_trace(self) -> Trace:
        """The Trace that holds the operators of the steps. A host that runs ahead has called them before the GPU's time
        of the steps begins: then `trace` lacks them."""
        return self.recording if self.windows and self.on_host else self.trace

    @property
    def is_called(self) -> pl.Expr:
        """Which spans of its operator tree, in their order, are part of the steps. Those of a graph's replay have no
        times of their own, and stand behind the span that launched it."""
        if self.host_trace is self.trace:
            return pl.col("row").is_not_null()
        since, until = self.windows[0].start_ns, self.windows[-1].end_ns
        return pl.col("start_ns").forward_fill().is_between(since, until, closed="left")

    @cached_property
    def gpus(self) -> tuple[GpuWall, ...]:
        return gpu_walls(self.trace, gaps(self.trace))

    @cached_property
    def described(self) -> ComparedRun:
        spots = hotspots(self.trace)
        return ComparedRun(
            label=self.label,
            tool=self.trace.run.tool,
            wall_ns=wall_ns(self.trace),
            steps=self.steps,
            gpus=len(self.gpus),
            dispatches=spots.dispatches,
            kernel_ns=spots.total_ns,
            recorded=tuple(table for table in SPANS if self.trace.has(table)),
            devices=of_gpus(self.trace, "name"),
            chips=of_gpus(self.trace, "gfx"),
            world_size=self.trace.run.world_size,
            software=self.trace.run.software,
        )


class Judged(NamedTuple):
    """Both sides, what one unit of their times is, and how that is known."""

    base: tuple[JudgedRun, ...]
    new: tuple[JudgedRun, ...]
    per: Per
    basis: str


def judged_runs(base: Sequence[Recording], new: Sequence[Recording], *, whole: bool = False) -> Judged:
    """By the step where every run has a steady state and both sides show their steps in the same way, or annotates
    steps of the same kinds; else, or if `whole` is wanted, by the run."""
    reason = "as asked for" if whole else _why_no_steps(base, new)
    if reason and not whole and _are_annotated(base, new):
        return Judged(_runs(base, _annotated), _runs(new, _annotated), "step", _ANNOTATED)
    if reason:
        return Judged(_runs(base, _whole), _runs(new, _whole), "run", reason)
    ways = dict.fromkeys(phases(run.trace).found_by for run in (*base, *new))
    return Judged(_runs(base, _steady_state), _runs(new, _steady_state), "step", "; ".join(ways))


def _why_no_steps(base: Sequence[Recording], new: Sequence[Recording]) -> str | None:
    for run in (*base, *new):
        if not phases(run.trace).steps:
            return (
                f"{run.label} has no steady state: {phases(run.trace).found_by or 'no steps were recorded'}"
            )
    ways = [sorted({_way(run.trace) for run in side}) for side in (base, new)]
    if ways[0] != ways[1]:
        return f"steps are shown by {' and '.join(ways[0])} before, by {' and '.join(ways[1])} after"
    if ways[0] == [_SEQUENCE] and _are_pieces(_usual(base), _usual(new)):
        return "the kernels repeat in sequences of different lengths, which may be pieces of the same steps"
    return None


class _Usual(NamedTuple):
    """The steps of a side: how many a run has, and how many kernels one of them."""

    steps: float
    kernels: float


def _usual(side: Sequence[Recording]) -> _Usual:
    divisions = [phases(run.trace) for run in side]
    return _Usual(
        steps=statistics.median(division.steps for division in divisions),
        kernels=statistics.median(division.kernels_per_step.value or 0 for division in divisions),
    )


def _are_pieces(base: _Usual, new: _Usual) -> bool:
    """Whether one side has as many times more steps as it has fewer kernels in each: a sequence may repeat within a
    step, and a layer is then taken for one."""
    longer, shorter = max(base, new, key=_kernels), min(base, new, key=_kernels)
    times = longer.kernels / shorter.kernels if shorter.kernels else 1.0
    return times > _LONGER and abs(shorter.steps / longer.steps / times - 1) < _ABOUT


def _kernels(side: _Usual) -> float:
    return side.kernels


def _way(trace: Trace) -> str:
    return _MARKED if steps(trace).host_times else _SEQUENCE


def _runs(side: Sequence[Recording], judged: Callable[[Recording], JudgedRun]) -> tuple[JudgedRun, ...]:
    return tuple(judged(run) for run in side)


def _steady_state(run: Recording) -> JudgedRun:
    division = phases(run.trace)
    return JudgedRun(
        label=run.label,
        trace=focused(run.trace),
        steps=division.steps,
        kernels_per_step=division.kernels_per_step.value or 0,
        findings=run.findings,
        recording=run.trace,
        windows=_windows(run.trace),
        on_host=steps(run.trace).host_times,
    )


def _are_annotated(base: Sequence[Recording], new: Sequence[Recording]) -> bool:
    """Whether the steps of every run are annotated one by one, and are of the same kinds."""
    kinds = {frozenset(timed_steps(run.trace)["kind"]) for run in (*base, *new)}
    return len(kinds) == 1 and frozenset() not in kinds


def _annotated(run: Recording) -> JudgedRun:
    """From the beginning of the first step to the end of the last: what the host did before, for the first, is part of
    no step."""
    own = timed_steps(run.trace).sort("start_ns")
    windows = own.select("start_ns", "end_ns", "kernels", kernel_ns="busy_ns", kind="kind")
    count = int(own.group_by(THREAD).len()["len"].max())  # type: ignore[arg-type]
    return JudgedRun(
        label=run.label,
        trace=cut(run.trace, Span(own["begin_ns"].min(), own["done_ns"].max())),  # type: ignore[arg-type]
        steps=count,
        kernels_per_step=float(own["kernels"].sum()) / count,
        findings=run.findings,
        recording=run.trace,
        windows=tuple(Step(*row) for row in windows.iter_rows()),
        on_host=not own["on_gpu"].any(),
    )


def _whole(run: Recording) -> JudgedRun:
    return JudgedRun(
        label=run.label,
        trace=run.trace,
        steps=0,
        kernels_per_step=0,
        findings=run.findings,
        recording=run.trace,
    )


def _windows(trace: Trace) -> tuple[Step, ...]:
    """The steps of the steady state."""
    usual = steady(steps(trace), launched_work(trace))
    return usual.steps if usual else ()
