"""The kinds of step of both sides: how long each takes, what a token costs in it, and how much of the difference of the
wall is another mix of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.compare.estimates import count_change, time_change
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.compare.waterfall import middle_runs
from rocm_perf.analysis.serving.build import of_busiest, tokens_of
from rocm_perf.analysis.serving.steps import timed_steps
from rocm_perf.model.results.comparison import StepChanges, StepKindChange, WallOfSteps
from rocm_perf.model.step_kinds import STEP_KINDS, StepKind

FORMULAS = {
    "compare.steps.median": "median over the steps of the kind; of several runs, the median of theirs",
    "compare.steps.token": "time of the steps of the kind / their tokens",
    "compare.steps.mix": "sum over the kinds of (steps of it per step or run, new minus base) x (mean of its mean "
    "lengths on both sides)",
}
_LENGTH = pl.col("done_ns") - pl.col("begin_ns")
_BATCHES = 12  # rows of batch sizes: more are not a table to read

Steps = Sequence[pl.DataFrame]  # of each run of a side


def step_changes(base: Sequence[JudgedRun], new: Sequence[JudgedRun]) -> StepChanges | None:
    """The change of each kind of step; None unless every run annotates its steps."""
    before, after = ([_steps(run) for run in side] for side in (base, new))
    if not all(steps.height for steps in (*before, *after)):
        return None
    groups = list(_groups(before, after))
    rows = (_change(kind, batch, before, after, len(groups)) for kind, batch in groups)
    return StepChanges(rows=tuple(rows), wall=_wall(base, new))


def _steps(run: JudgedRun) -> pl.DataFrame:
    """The annotated steps in the part of the run that is compared, of the process that launched most."""
    steps = timed_steps(run.recording)
    if not steps.height:
        return steps
    own = of_busiest(steps).with_columns(length=_LENGTH)
    if not run.windows:
        return own
    return own.filter(pl.col("start_ns").is_between(run.windows[0].start_ns, run.windows[-1].start_ns))


def _groups(before: Steps, after: Steps) -> Iterator[tuple[StepKind, int | None]]:
    """Every kind, and below decode its batch sizes that both sides have, where these are several."""
    sides = [pl.concat(steps.select("kind", "requests") for steps in side) for side in (before, after)]
    for kind in STEP_KINDS:
        sizes = [set(side.filter(pl.col("kind") == kind)["requests"]) for side in sides]
        if not any(sizes):
            continue
        yield kind, None
        common = (sizes[0] & sizes[1]) - {None}
        if kind == "decode" and len(sizes[0] | sizes[1]) > 1 and len(common) <= _BATCHES:
            yield from ((kind, size) for size in sorted(common))


def _change(
    kind: StepKind, batch: int | None, before: Steps, after: Steps, comparisons: int
) -> StepKindChange:
    chosen = (pl.col("kind") == kind) & (True if batch is None else pl.col("requests") == batch)
    sides = [[steps.filter(chosen) for steps in side] for side in (before, after)]
    medians, tokens = ([list(map(of, side)) for side in sides] for of in (_median, _per_token))
    requests = [pl.concat(side)["requests"].median() for side in sides]
    return StepKindChange(
        kind=kind,
        batch=batch,
        steps=count_change(*([steps.height for steps in side] for side in sides)),
        base_requests=requests[0],  # type: ignore[arg-type]
        new_requests=requests[1],  # type: ignore[arg-type]
        time=time_change(*medians, comparisons=comparisons),
        token=time_change(*tokens, comparisons=comparisons),
    )


def _median(steps: pl.DataFrame) -> float | None:
    return steps["length"].median()  # type: ignore[return-value]


def _per_token(steps: pl.DataFrame) -> float | None:
    tokens = tokens_of(steps)
    return int(steps["length"].sum()) / tokens if tokens else None


class _Part(NamedTuple):
    """One kind of step in the middle run of a side."""

    often: float  # in a step of any kind, or in a run
    length_ns: float | None  # mean; None where it does not occur


class _Division(NamedTuple):
    """What a step, or a run, of the middle run of a side consists of."""

    wall_ns: float
    kinds: dict[StepKind, _Part]

    def part(self, kind: StepKind) -> _Part:
        return self.kinds.get(kind, _Part(0, None))


def _wall(base: Sequence[JudgedRun], new: Sequence[JudgedRun]) -> WallOfSteps | None:
    """The difference of the walls of the middle runs, divided; None where one of them is not known."""
    sides = [[run for run in middle_runs(side) if run.wall_ns is not None] for side in (base, new)]
    if not all(sides):
        return None
    before, after = map(_divided, sides)
    kinds = [(before.part(kind), after.part(kind)) for kind in STEP_KINDS]
    mix, steps = sum(map(_of_mix, kinds)), sum(map(_of_steps, kinds))
    difference = after.wall_ns - before.wall_ns
    return WallOfSteps(
        difference_ns=difference, mix_ns=mix, steps_ns=steps, between_ns=difference - mix - steps
    )


def _divided(runs: Sequence[JudgedRun]) -> _Division:
    steps = pl.concat(_steps(run).select("kind", "length") for run in runs)
    units = sum(run.units for run in runs)
    totals = steps.group_by("kind").agg(pl.len(), pl.col("length").mean().alias("mean"))
    return _Division(
        wall_ns=statistics.mean(run.wall_ns or 0 for run in runs),
        kinds={kind: _Part(count / units, mean) for kind, count, mean in totals.iter_rows()},
    )


def _of_mix(sides: tuple[_Part, _Part]) -> float:
    """What the kind takes longer because it is more often; a side that lacks it takes the length of the other."""
    lengths = [part.length_ns for part in sides if part.length_ns is not None]
    return (sides[1].often - sides[0].often) * statistics.mean(lengths) if lengths else 0.0


def _of_steps(sides: tuple[_Part, _Part]) -> float:
    """What the kind takes longer because its steps do."""
    before, after = (part.length_ns for part in sides)
    if before is None or after is None:
        return 0.0
    return (after - before) * (sides[0].often + sides[1].often) / 2
