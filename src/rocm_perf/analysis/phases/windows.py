"""When the steady state lasts: from the steps that repeat, or from the work itself where nothing does."""

from __future__ import annotations

from itertools import dropwhile, groupby, pairwise
from statistics import median
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.time.sequence import FEWEST_STEPS
from rocm_perf.analysis.time.steps import step_time
from rocm_perf.model.results.kernels import Step, Steps
from rocm_perf.model.time_window import Span

_WARM_UP = 1.5  # usual lengths: until a step takes no longer, the program is warming up
_FEW = 0.5  # of the usual kernels: a step with fewer is not a whole one
_LONG = 3  # usual lengths, and
_LONG_SHARE = 0.05  # of all steps together: such a step holds something else as well, unless
_ALIKE = 0.5  # as many others as steps need are at least half as long
_MOST = 0.5  # of the kernels from the first step on: usual steps with fewer are not what the program does
_AS_LONG = 0.8  # of the steps of the longest run
_HICCUP = 0.5  # of the shorter of the two runs beside it: a longer break divides them
_FEW_LAUNCHED = 2  # usual steps: with more kernels than that in it, a break is work of its own
_SHORT = 0.9  # of the usual length: the last step is shorter where what follows it is not known
SOON_NS = 100_000  # from the beginning of a launch to the start of its work: the GPU waited for it
_MIXED = 0.25  # of the kernels: with more that begin in another step than their own, steps overlap
_AHEAD = 0.1  # of the steps, or of one: where the GPU ends them, or begins one, this much later, the host runs ahead


class Steady(NamedTuple):
    """The steps of the steady state, and when it lasts."""

    steps: tuple[Step, ...]
    span: Span
    others: tuple[Step, ...]  # usual ones apart from it
    on_gpu: bool = False  # whether it lasts as long as the GPU's own time of the steps
    lengths_ns: tuple[int, ...] = ()  # of its usual steps: on the GPU, where that takes longer than the host
    odd: tuple[Span, ...] = ()  # breaks within it, and steps that are not usual
    overlap: bool = (
        False  # whether steps run side by side on several streams: then their lengths are the mean
    )


class _Lasting(NamedTuple):
    """Steps, and when they last."""

    steps: tuple[Step, ...]
    span: Span
    on_gpu: bool


def steady(repeated: Steps, work: pl.DataFrame) -> Steady | None:
    """None where too few steps are alike. `work` is all of it, with what was launched before the recording."""
    carried = carried_over(work)
    own = work.filter(~carried)
    runs = _joined(_usual_steps(repeated), repeated, own)
    usual = _judged_run(runs)
    if len(usual) < FEWEST_STEPS:
        return None
    since = own.filter(step_time(repeated) >= repeated.steps[0].start_ns)
    if not _is_most([step for run in runs for step in run], since) or _are_little(runs, repeated):
        return None
    others = tuple(step for run in runs if run is not usual for step in run)
    usual = _whole_periods(usual, own, keeps_last=repeated.whole)
    if repeated.host_times:
        moment = pl.when(~carried).then(step_time(repeated))
        timed = work.with_columns(moment=moment)
        lasting = _between_ends(usual, timed)
        lengths = (
            _gpu_lengths(lasting, timed)
            if lasting.on_gpu or _is_late(lasting.steps)
            else _lengths(lasting.steps)
        )
    else:
        lasting = _lasting(usual, own.filter(_within(usual, step_time(repeated))))
        lasting = _Lasting(lasting.steps, _from_launch(lasting.span, own), on_gpu=False)
        lengths = _lengths(lasting.steps)
    odd = _odd(lasting.steps, repeated)
    judged = tuple(
        length
        for step, length in zip(lasting.steps, lengths, strict=True)
        if not any(span.start_ns == step.start_ns for span in odd)
    )
    overlap = not repeated.host_times and _overlap(lasting.steps, own)
    if overlap and judged:
        judged = (_mean_length(lasting.span, odd, len(judged)),) * len(judged)
    return Steady(lasting.steps, lasting.span, others, lasting.on_gpu, judged, odd, overlap)


def _lengths(steps: tuple[Step, ...]) -> tuple[int, ...]:
    """How long each step lasts: until the next begins, unless there is a break between them."""
    return tuple(step.duration_ns for step in steps)


def _overlap(steps: tuple[Step, ...], work: pl.DataFrame) -> bool:
    """Whether steps run side by side: a step is told by its launches, and many kernels begin while others end."""
    began = _of_fullest(work.filter(pl.col("kind") == "kernel"))["start_ns"].sort()
    elsewhere = 0
    for step in steps:
        inside = int(began.search_sorted(step.end_ns)) - int(began.search_sorted(step.start_ns))
        elsewhere += abs(inside - step.kernels)
    return elsewhere > 2 * _MIXED * sum(
        step.kernels for step in steps
    )  # where one lacks, another has too many


def _mean_length(span: Span, odd: tuple[Span, ...], steps: int) -> int:
    """The length of one of so many steps that run side by side, without what is odd."""
    return round((_length(span) - sum(map(_length, odd))) / steps)


def _length(span: Span) -> int:
    return (span.end_ns or 0) - (span.start_ns or 0)


def _is_late(steps: tuple[Step, ...]) -> bool:
    """Whether the kernels take longer than the host is in the steps that launch them."""
    return sum(step.kernel_ns for step in steps) > sum(step.duration_ns for step in steps)


def _gpu_lengths(lasting: _Lasting, work: pl.DataFrame) -> tuple[int, ...]:
    """How long the GPU has to do with each step: from the end of what came before to the end of its own work."""
    ended = (
        work.filter(pl.col("moment").is_not_null())
        .sort("moment")
        .select("moment", done=pl.col("end_ns").cum_max())
    )
    bounds = pl.DataFrame({"until": [step.end_ns for step in lasting.steps]})
    done = bounds.join_asof(
        ended, left_on="until", right_on="moment", allow_exact_matches=False, check_sortedness=False
    )["done"]
    first = lasting.span.start_ns if lasting.span.start_ns is not None else lasting.steps[0].start_ns
    ends = [first, *(int(end) for end in done.fill_null(first).cum_max())]
    return tuple(end - start for start, end in pairwise(ends))


def _odd(steps: tuple[Step, ...], repeated: Steps) -> tuple[Span, ...]:
    """The steps among these that are not usual, and the breaks between them."""
    if any(step.kind for step in steps):
        return ()
    usual_ns = repeated.duration_ns.value or 0
    longest = _longest(list(steps), usual_ns)
    kernels = repeated.kernels_per_step.value or 0
    unlike = [Span(step.start_ns, step.end_ns) for step in steps if not _is_usual(step, kernels, longest)]
    breaks = [
        Span(one.end_ns, other.start_ns)
        for one, other in pairwise(steps)
        if other.start_ns - one.end_ns > longest
    ]
    return tuple(sorted((*unlike, *breaks), key=lambda span: span.start_ns or 0))


def _is_usual(step: Step, kernels: float, longest: float) -> bool:
    return bool(step.kernels >= _FEW * kernels and step.duration_ns <= longest)


def _joined(runs: list[tuple[Step, ...]], repeated: Steps, work: pl.DataFrame) -> list[tuple[Step, ...]]:
    """The runs, those as one between which there is no more than a hiccup: a break that is short beside them, and in
    which little is launched. Where one run has nearly all steps, nothing is joined to it: the rest is warm-up."""
    most = max(map(len, runs), default=0)
    if len(runs) < 2 or most >= _AS_LONG * sum(map(len, runs)):
        return runs
    few = _FEW_LAUNCHED * (repeated.kernels_per_step.value or 0)
    began = work.filter(pl.col("kind") == "kernel").select(step_time(repeated).alias("at"))["at"].sort()
    joined = [runs[0]]
    for run in runs[1:]:
        before = joined[-1]
        since, until = before[-1].end_ns, run[0].start_ns
        shorter = min(since - before[0].start_ns, run[-1].end_ns - until)
        inside = int(began.search_sorted(until)) - int(began.search_sorted(since))
        if until - since <= _HICCUP * shorter and inside <= few:
            between = tuple(
                step for step in repeated.steps if since <= step.start_ns and step.end_ns <= until
            )
            joined[-1] = (*before, *between, *run)
        else:
            joined.append(run)
    return joined


def _judged_run(runs: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    """The longest run; the last of those about as long, for a program warms up before it does what it is for."""
    most = max(map(len, runs), default=0)
    return next((run for run in reversed(runs) if len(run) >= _AS_LONG * most), ())


def _whole_periods(steps: tuple[Step, ...], work: pl.DataFrame, *, keeps_last: bool) -> tuple[Step, ...]:
    """Each step until the next begins, whatever marks them: what the host does in between is part of the period. Of the
    last one only its own end is known. Where that makes it shorter than the others it is left out, unless a profiler
    marked it as whole, or work is running as it begins: a cut there would go through that work."""
    if any(step.kind for step in steps):
        return steps
    last = steps[-1]
    whole = tuple(replace(step, end_ns=max(step.end_ns, after.start_ns)) for step, after in pairwise(steps))
    usual = int(median(step.duration_ns for step in whole))
    is_short = last.duration_ns < _SHORT * usual
    if is_short and keeps_last:
        done = work.filter(_within((last,), pl.coalesce("launch_start", "start_ns")))["end_ns"].max()
        return (*whole, replace(last, end_ns=max(last.end_ns, min(done or 0, last.start_ns + usual))))
    goes_on = (pl.col("start_ns") < last.start_ns) & (pl.col("end_ns") > last.start_ns)
    return whole if is_short and not work.select(goes_on.any()).item() else (*whole, last)


def _is_most(steps: list[Step], work: pl.DataFrame) -> bool:
    """Whether the steps have most of the kernels of a process, or of their time: steps are those of one, and the other
    ranks do the same."""
    kernels = _of_fullest(work.filter(pl.col("kind") == "kernel"))
    kernel_ns = int((kernels["end_ns"] - kernels["start_ns"]).sum())
    in_time = sum(step.kernel_ns for step in steps) >= _MOST * kernel_ns
    return in_time or sum(step.kernels for step in steps) >= _MOST * kernels.height


def _are_little(runs: list[tuple[Step, ...]], repeated: Steps) -> bool:
    """Return whether several steps marked like these, but far longer, keep the GPU busy for longer than all of them:
    they are steps of another kind, as prefills among decodes, and no start-up."""
    usual = {step.start_ns for run in runs for step in run}
    odd = [step for step in repeated.steps if step.start_ns not in usual]
    busy_ns = sum(step.kernel_ns for step in odd if 2 * step.kernel_ns >= step.duration_ns)
    return (
        repeated.host_times and len(odd) > 1 and busy_ns > sum(step.kernel_ns for run in runs for step in run)
    )


def _of_fullest(kernels: pl.DataFrame) -> pl.DataFrame:
    """The kernels of the process with most of them."""
    process = ["node", "pid"]
    if not telling(process, kernels):
        return kernels
    each = kernels.group_by(process).agg(pl.len().alias("kernels"))
    fullest = each.sort("kernels", *process, descending=[True, False, False]).head(1)
    return kernels.join(fullest, on=process, how="semi", nulls_equal=True)


def working_span(work: pl.DataFrame, marked: pl.DataFrame) -> Span:
    """From the first launch, or the first work where launches are not recorded, to the end of the last work; all of the
    marked steps that launch some of it: what the host does in them is not start-up."""
    began = work.select(pl.min_horizontal("launch_start", "start_ns")).to_series().sort()
    first, last = (began.search_sorted(marked[end]) for end in ("start_ns", "end_ns"))
    own = marked.filter(last > first)
    starts, ends = [began.min(), own["start_ns"].min()], [work["end_ns"].max(), own["end_ns"].max()]
    return Span(
        min((start for start in starts if isinstance(start, int)), default=None),
        max((end for end in ends if isinstance(end, int)), default=None),
    )


def _usual_steps(repeated: Steps) -> list[tuple[Step, ...]]:
    """Runs of steps without one that is cut off, or holds something else as well; none of the warm-up. Steps of several
    kinds differ by nature: all but the warm-up."""
    if any(step.kind for step in repeated.steps):
        return [_warm(repeated.steps)]
    usual_ns = repeated.duration_ns.value or 0
    warm = list(dropwhile(lambda step: step.duration_ns > _WARM_UP * usual_ns, repeated.steps))
    kernels = repeated.kernels_per_step.value or 0
    longest = _longest(warm, usual_ns)
    runs = groupby(warm, lambda step: _is_usual(step, kernels, longest))
    return [part for usual, run in runs if usual for part in _without_pauses(tuple(run), longest)]


def _without_pauses(run: tuple[Step, ...], longest: float) -> list[tuple[Step, ...]]:
    """The run, divided where longer than the longest step lies between two: marked steps need not touch."""
    pauses = [
        at + 1 for at, (one, other) in enumerate(pairwise(run)) if other.start_ns - one.end_ns > longest
    ]
    return [run[since:until] for since, until in pairwise([0, *pauses, len(run)])]


def _warm(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps from the first on that does not take far longer than is usual for its kind."""
    kinds = {step.kind for step in steps}
    usual = {kind: median(step.duration_ns for step in steps if step.kind == kind) for kind in kinds}
    return tuple(dropwhile(lambda step: step.duration_ns > _LONG * usual[step.kind], steps))


def _longest(steps: list[Step], usual_ns: float) -> float:
    """The longest that a step may be: far longer ones hold something else as well, if they do not recur."""
    lengths = sorted((step.duration_ns for step in steps), reverse=True)
    far = max(_LONG * usual_ns, _LONG_SHARE * sum(lengths))
    recurs = lengths[FEWEST_STEPS] if len(lengths) > FEWEST_STEPS else 0
    return max(far, recurs / _ALIKE)


def _within(steps: tuple[Step, ...], moment: pl.Expr) -> pl.Expr:
    return moment.is_between(steps[0].start_ns, steps[-1].end_ns, closed="left")


def _from_launch(span: Span, work: pl.DataFrame) -> Span:
    """The span of steps that begin with work of the GPU: where that waited for its launch, so do they."""
    return Span(*(None if at is None else _launched_ns(at, work) for at in (span.start_ns, span.end_ns)))


def _launched_ns(start_ns: int, work: pl.DataFrame) -> int:
    """When the work that starts then was launched, if that was just before; else its start."""
    since = pl.col("start_ns") - pl.col("launch_start")
    launched = work.filter(pl.col("start_ns") == start_ns, since.is_between(0, SOON_NS))
    return int(launched["launch_start"].min() or start_ns)  # type: ignore[arg-type]


def _lasting(steps: tuple[Step, ...], work: pl.DataFrame) -> _Lasting:
    """The time of the steps and of the work they launched. A host that runs ahead has its time behind it when the GPU
    begins: then the GPU's time counts."""
    first, last = steps[0].start_ns, steps[-1].end_ns
    began, ended = work["start_ns"].min(), work["end_ns"].max()
    if not isinstance(began, int) or not isinstance(ended, int):
        return _Lasting(steps, Span(first, last), on_gpu=False)
    if ended > last + _AHEAD * (last - first):
        return _Lasting(steps, Span(began, ended), on_gpu=True)
    return _Lasting(steps, Span(first, max(last, ended)), on_gpu=False)


def _between_ends(steps: tuple[Step, ...], work: pl.DataFrame) -> _Lasting:
    """The same, but where the GPU has long to do with what came before the first step, its own time of the steps begins
    when that ends. What streams that run ahead did until then is that of the step that follows the last one: where that
    is not in the recording, the last step is not one of them. `work` says by `moment` to which step it belongs."""
    own = work.filter(_within(steps, pl.col("moment")))
    since = _tail_ns(steps[0], work)
    if since is None:
        return _lasting(steps, own)
    followed = (work["moment"] >= steps[-1].end_ns).any()
    whole = steps if followed or len(steps) <= FEWEST_STEPS else steps[:-1]
    return _Lasting(whole, Span(since, _done_ns(whole[-1], own)), on_gpu=True)


def _tail_ns(step: Step, work: pl.DataFrame) -> int | None:
    """When what came before the step ends on the GPU, if that takes over a tenth of the step, and the step's own work
    overlaps it."""
    own = work.filter(_within((step,), pl.col("moment")))
    earlier = work.filter(pl.col("moment").is_null() | (pl.col("moment") < step.start_ns))
    if not own.height or not earlier.height:
        return None
    ended = int(earlier["end_ns"].max())  # type: ignore[arg-type]
    overlaps = own["start_ns"].min() < ended < own["end_ns"].max()  # type: ignore[operator]
    return ended if overlaps and ended - step.start_ns > _AHEAD * step.duration_ns else None


def _done_ns(step: Step, work: pl.DataFrame) -> int:
    """When all work up to that of the step has ended."""
    return int(work.filter(pl.col("moment") < step.end_ns)["end_ns"].max())  # type: ignore[arg-type]
