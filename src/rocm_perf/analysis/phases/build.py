"""Divides a recording into its phases."""

from __future__ import annotations

from statistics import median, quantiles
from typing import Literal

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.clock_domains import with_clocks
from rocm_perf.analysis.basis.intervals import holes, overlap_ns, total_union_ns
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.lead_in import marked_steps
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.idle.first_calls import one_off_calls
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.analysis.phases.pauses import pauses
from rocm_perf.analysis.phases.windows import SOON_NS, Steady, steady, working_span
from rocm_perf.analysis.time.busy import SPANS
from rocm_perf.analysis.time.kernel_family import families
from rocm_perf.analysis.time.sequence import FEWEST_STEPS
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.kernels import Steps
from rocm_perf.model.results.phases import Pause, Phase, PhaseName, Phases, StepSpread
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace

FORMULAS = {
    "phases.steady": "the longest run of whole steps after warm-up without one that takes over 3 times the median and "
    "over 5 % of all steps together, each until the next begins, of a program that serves a model all steps after "
    "warm-up; where the GPU ends over 10 % later than the host's steps, its own time of them",
    "phases.pauses": "idle times of all GPUs longer than 2 % of the time from the first to the last work, of which "
    "fewer than 3 others are at least half as long; in a step marked by torch's profiler those alone that are mostly "
    "inside calls that took long once; between steps those longer than one that lie in steps unlike the others",
    "phases.step_ns": "median over the usual steps of the steady state of their length: until the next begins; on the "
    "GPU, from the end of the work of one to that of the next, where that takes longer than the host does; where "
    "steps run side by side on several streams, the time of the steady state / its steps",
}
_MOST = 0.5  # of a pause
_FEWEST_FOR_SHARES = 10  # steps: of fewer, a tenth is less than one
_MANY = 20  # kernels: of fewer, the copies before them may be what the program does
_LONG = 0.1  # of all work: copies before it that take longer are start-up
_LITTLE = 0.05  # of the work: what waits for its turn behind more than that is not the beginning


@once_per_trace
def phases(trace: Trace) -> Phases:
    """The phases of the timed pass. Where nodes have clocks of their own, a recording of several is not divided."""
    work = launched_work(trace)
    whole = _whole(trace)
    if not work.height or whole is None:
        return _undivided("no kernel and no copy with times was recorded", whole)
    if with_clocks(work.select("node", "pid").unique(), trace)["domain"].n_unique() > 1:
        return _undivided("nodes have clocks of their own", whole)
    carried = carried_over(work)
    own = work.filter(~carried)
    repeated = steps(trace)
    found = steady(repeated, work)
    waited_until = None if found else _awaited_until(trace, own, repeated)
    ended = _latest(work.filter(carried)["end_ns"].max(), waited_until)
    working = own if idle_is_the_profilers(trace) else _without_uploads(own)
    judged = found.span if found else _after(working_span(working, marked_steps(trace)), ended)
    first_ns = _latest(own["start_ns"].min(), ended)
    return Phases(
        rows=_rows(whole, first_ns or 0, judged, "steady" if found else "work"),
        origin_ns=whole.start_ns or 0,
        found_by=repeated.found_by if found else repeated.unavailable or "too few steps are alike",
        steps=len(found.steps) if found else 0,
        step_ns=_of_the_program(_step_ns(repeated, found), trace),
        step_spread=_spread(found),
        odd_steps=_odd_steps(found),
        kernel=repeated.kernel if found else None,
        begins=_begins(judged, first_ns, repeated, trace),
        first_uses_ns=total_union_ns(one_off_calls(trace)),
        kernels_per_step=_kernels_per_step(repeated, found),
        carried_over=int(carried.sum()),
        other_steps=len(found.others) if found else 0,
        other_steps_ns=_before_ns(found) if found else 0,
        waited=waited_until is not None,
        pauses=()
        if idle_is_the_profilers(trace)
        else _hiccups(found, own, whole)
        if found
        else _pauses(trace, own, whole, judged),
    )


def _without_uploads(work: pl.DataFrame) -> pl.DataFrame:
    """Return the work from its first kernel that computes on, where copies alone come before it: a program loads its
    weights once."""
    computes = work.filter((pl.col("kind") == "kernel") & (families(work["name"]) != "copy").fill_null(True))
    first = computes["start_ns"].min()
    if computes.height < _MANY or not isinstance(first, int):
        return work
    before = work.filter(pl.col("end_ns") <= first)
    whole_ns = int(work["end_ns"].max()) - int(work["start_ns"].min())  # type: ignore[arg-type]
    is_long = before.height and first - int(before["start_ns"].min()) > _LONG * whole_ns  # type: ignore[arg-type]
    return work.filter(pl.col("end_ns") > first) if is_long else work


def _kernels_per_step(repeated: Steps, found: Steady | None) -> Quantity:
    """The median of the steady steps; of all where none are."""
    if found is None:
        return repeated.kernels_per_step
    middle = median(step.kernels for step in found.steps)
    return replace(repeated.kernels_per_step, value=middle, inputs={"steps": len(found.steps)})


def _before_ns(found: Steady) -> int:
    """The time of further steps before the steady state."""
    return sum(step.duration_ns for step in found.others if step.start_ns < found.steps[0].start_ns)


def _of_the_program(step_ns: Quantity, trace: Trace) -> Quantity:
    """The length of a step, unless the time between its kernels is the profiler's."""
    reason = idle_is_the_profilers(trace)
    return unavailable(step_ns.unit, step_ns.formula, reason) if reason else step_ns


def _step_ns(repeated: Steps, found: Steady | None) -> Quantity:
    """The length of a step: the median of the usual ones; of those that run side by side the mean."""
    if found is None or not found.lengths_ns:
        return repeated.duration_ns
    inputs = {"steps": len(found.lengths_ns)}
    if found.overlap:
        formula = "time of the steady state / its steps, which overlap on several streams"
        return replace(repeated.duration_ns, value=found.lengths_ns[0], formula=formula, inputs=inputs)
    return replace(repeated.duration_ns, value=median(found.lengths_ns), inputs=inputs)


def _spread(found: Steady | None) -> StepSpread | None:
    """How far the lengths of the usual steps reach, if there are several that each have one of their own."""
    lengths = sorted(found.lengths_ns) if found and not found.overlap else []
    if len(lengths) < FEWEST_STEPS:
        return None
    if len(lengths) < _FEWEST_FOR_SHARES:
        return StepSpread(float(lengths[0]), float(lengths[-1]), whole=True)
    tenths = quantiles(lengths, n=10, method="inclusive")
    return StepSpread(float(tenths[0]), float(tenths[-1]), whole=False)


def _odd_steps(found: Steady | None) -> int:
    return len(found.steps) - len(found.lengths_ns) if found else 0


def _begins(
    judged: Span, first_ns: int | None, repeated: Steps, trace: Trace
) -> Literal["work", "launch", "step"]:
    """With what the judged part begins where that is before the first work of a GPU."""
    start = judged.start_ns
    if start is None or first_ns is None or first_ns - start <= SOON_NS:
        return "work"
    marked = {
        *marked_steps(trace)["start_ns"],
        *(step.start_ns for step in repeated.steps if repeated.host_times),
    }
    return "step" if start in marked else "launch"


def _hiccups(found: Steady, work: pl.DataFrame, whole: Span) -> tuple[Pause, ...]:
    """The idle times within steps that are not usual, or between two, that are longer than a usual step."""
    if not found.odd or not found.lengths_ns:
        return ()
    origin, usual_ns = whole.start_ns or 0, median(found.lengths_ns)
    odd = pl.DataFrame(
        [(span.start_ns, span.end_ns) for span in found.odd], schema=["start_ns", "end_ns"], orient="row"
    )
    idle = holes(work, ()).filter(pl.col("start_ns") - pl.col("since_ns") > usual_ns)
    spans = idle.select(start_ns="since_ns", end_ns="start_ns")
    inside = idle.filter(overlap_ns(spans, odd, ()) > _MOST * (spans["end_ns"] - spans["start_ns"]))
    return tuple(
        Pause(start_ns=since - origin, end_ns=until - origin, after=name)
        for since, until, name in inside.sort("start_ns").select("since_ns", "start_ns", "name").iter_rows()
    )


def _whole(trace: Trace) -> Span | None:
    """From the first start to the last end of anything in the timed pass."""
    number = timed_pass(trace)
    ends = [
        trace.lazy(name)
        .filter(pl.col("pass_id") == number, pl.col("end_ns") >= pl.col("start_ns"))
        .select(first=pl.col("start_ns").min(), last=pl.col("end_ns").max())
        for name in SPANS
        if trace.has(name)
    ]
    if not ends:
        return None
    first, last = pl.concat(ends).select(pl.col("first").min(), pl.col("last").max()).collect().row(0)
    return None if first is None else Span(first, last)


def _undivided(why: str, whole: Span | None) -> Phases:
    formula = "median over the steps"
    return Phases(
        rows=(),
        origin_ns=(whole.start_ns or 0) if whole else 0,
        found_by="",
        steps=0,
        step_ns=unavailable("ns", formula, why),
        kernels_per_step=unavailable("kernels", formula, why),
        carried_over=0,
        pauses=(),
        unavailable=why,
    )


def _rows(whole: Span, first_work_ns: int, judged: Span, name: PhaseName) -> tuple[Phase, ...]:
    """The phases in their order, without empty ones."""
    origin, last = whole.start_ns or 0, whole.end_ns or 0
    start = origin if judged.start_ns is None else judged.start_ns
    end = last if judged.end_ns is None else min(judged.end_ns, last)
    bounds: list[tuple[PhaseName, int, int]] = [
        ("before", origin, min(first_work_ns, start)),
        ("start-up", min(first_work_ns, start), start),
        (name, start, end),
        ("end", end, last),
    ]
    return tuple(
        Phase(name=phase, start_ns=since - origin, end_ns=until - origin)
        for phase, since, until in bounds
        if until > since
    )


def _awaited_until(trace: Trace, own: pl.DataFrame, repeated: Steps) -> int | None:
    """The end of the waits for work that is not in the recording, with which it begins: before them next to nothing
    ran, and no step was marked."""
    marked_ns = min((step.start_ns for step in repeated.steps), default=None) if repeated.host_times else None
    ran = own.select("start_ns", (pl.col("end_ns") - pl.col("start_ns")).alias("ns"))
    little_ns = _LITTLE * int(ran["ns"].sum())
    ends = [
        int(end)
        for start, end in unrecorded_waits(trace).select("start_ns", "end_ns").iter_rows()
        if (marked_ns is None or end <= marked_ns)
        and ran.filter(pl.col("start_ns") < start)["ns"].sum() <= little_ns
    ]
    return max(ends, default=None)


def _latest(*moments: object) -> int | None:
    return max((moment for moment in moments if isinstance(moment, int)), default=None)


def _after(span: Span, ended: int | None) -> Span:
    start = span.start_ns
    return span if ended is None or start is None else Span(max(start, ended), span.end_ns)


def _pauses(trace: Trace, work: pl.DataFrame, whole: Span, judged: Span) -> tuple[Pause, ...]:
    origin = whole.start_ns or 0
    inside = pauses(work.filter(pl.col("start_ns") >= judged.start_ns))
    rows = inside.filter(~_in_steps(trace, inside)).sort("start_ns").select("since_ns", "start_ns", "name")
    return tuple(
        Pause(start_ns=since - origin, end_ns=until - origin, after=name)
        for since, until, name in rows.iter_rows()
    )


def _in_steps(trace: Trace, found: pl.DataFrame) -> pl.Series:
    """Whether each pause lies in a marked step, which has it every time unless it is a first use that takes so long."""
    spans = found.select(pl.col("since_ns").alias("start_ns"), pl.col("start_ns").alias("end_ns"))
    length = spans["end_ns"] - spans["start_ns"]
    first_uses = overlap_ns(spans, one_off_calls(trace), ())
    recurs: pl.Series = (overlap_ns(spans, marked_steps(trace), ()) == length) & (first_uses < _MOST * length)
    return recurs
