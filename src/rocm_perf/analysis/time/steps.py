"""The steps of a program: what it does over and over. From ranges that mark them, or from the sequence of kernels."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.intervals import disjoint
from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.launched import THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.passes import timed_pass, timed_rows
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers, thinned, times_are_not_kernels
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.time.kernel_family import OTHER, families
from rocm_perf.analysis.time.sequence import (
    FEWEST_STEPS,
    INSIDE_SHARE,
    NO_HOST,
    Host,
    final_blocks,
    heavy_blocks,
    repeated_blocks,
)
from rocm_perf.analysis.time.tiling import tiled_blocks
from rocm_perf.model.calls import SYNC_CALL
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.range_sources import JAX_STEP, NOT_STEPS
from rocm_perf.model.results.kernels import Step, Steps
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count

FORMULAS = {
    "steps.kernels_per_step": "median over the steps of the kernels launched in them (where launches are recorded, "
    "else begun in them)",
    "steps.duration_ns": "median over the steps of their length; where the kernel sequence shows them, from the first "
    "kernel of a step to the first of the next",
}

_PROFILER_STEP = r"^ProfilerStep"
_WARM_UP = 1.5  # medians: the first steps are steady once they take no longer
_CANDIDATES = 32
_INSIDE = 0.5  # of the kernels of a step: with more of them in a part, so is the step
_FEWEST_ALIKE = 10  # steps of other kernels that do the same: a few may be chance
_HOLD_WORK = 0.5  # of the ranges of a name have to launch something: else it is not what the program does over and over

_BY_SEQUENCE = "the sequence of kernels repeats"
ONE_KERNEL = "launches of one kernel"
_NOTHING = "no range repeats around the kernels, and their sequence does not repeat"
_LAYERS = "what repeats are the layers of one pass, not whole steps"
_MODULE = r"^nn\.Module: "
# Ranges with a name of this kind are parts of a pass, unless nothing of it lies around them.
_LAYER = (
    r"(?i)(layer|block|blk|attn|attention|mlp|ffn|expert|decoderlayer|encoderlayer|stage)s?[\[\]._ :#-]*$"
)

_PROFILER = "ProfilerStep ranges"

Found = tuple[str, pl.DataFrame]


class _Repeated(NamedTuple):
    """Steps, or why there are none."""

    pattern: Found | None
    layered: bool = False  # layers of one pass repeat
    kernel: str | None = None  # each step is a launch of it, and nothing else


@once_per_trace
def steps(trace: Trace) -> Steps:
    """Return the steps of the process with the most kernels; in a run of many ranks, the others do the same. Those of a
    part are the steps of the whole that lie in it.

    A pass in which the time between kernels is the profiler's has none; of one from which events were taken out, only
    marked ones are known.
    """
    if (own_steps := _of_whole(trace)) is not None:
        return own_steps
    doubt = None if times_are_not_kernels(trace) else idle_is_the_profilers(trace)
    if doubt and thinned(trace) is None:
        return _none(doubt)
    work = _work(trace)
    kernels = work.filter(pl.col("kind") == "kernel")
    if not kernels.height:
        return _none("the recording holds no kernels with times")
    own = kernels.filter(~kernels["carried"])
    host = _host(trace, own)
    annotated = _from_annotations(trace, own)
    marked = _from_profiler(trace, own, host) or annotated or _from_ranges(trace, own)
    found = _Repeated(marked) if marked or doubt else _from_launches(work, host)
    if found.pattern is None:
        return _none(doubt or (_LAYERS if found.layered else _NOTHING))
    how, table = found.pattern
    if found.pattern is annotated and table.height < FEWEST_STEPS:
        return _none(f"{format_count(table.height, 'step is', 'steps are')} annotated, too few to repeat")
    rows = tuple(Step(*row) for row in table.iter_rows())
    host_times = bool(marked) and not how.startswith(_BY_SEQUENCE)
    return _of_rows(rows, how, host_times=host_times, kernel=found.kernel, whole=how == _PROFILER)


def _of_rows(rows: tuple[Step, ...], how: str, *, host_times: bool, kernel: str | None, whole: bool) -> Steps:
    formula, inputs = "median over the steps", {"steps": len(rows)}
    duration = median(step.duration_ns for step in rows)
    kernels = median(step.kernels for step in rows)
    return Steps(
        found_by=how,
        steps=rows,
        kernels_per_step=Quantity(value=kernels, unit="kernels", formula=formula, inputs=inputs),
        duration_ns=Quantity(value=duration, unit="ns", formula=formula, inputs=inputs),
        steady_from_ns=_steady_from(rows, duration),
        host_times=host_times,
        kernel=kernel,
        whole=whole,
    )


def _of_whole(part: Trace) -> Steps | None:
    """The steps of the recording of which most kernels lie in the part; None for a whole recording, and where they are
    too few to repeat."""
    recording = whole_of(part)
    if recording is part:
        return None
    all_steps = steps(recording)
    if len(all_steps.steps) < FEWEST_STEPS:
        return None
    work = _work(part)
    kernels = work.filter(pl.col("kind") == "kernel").with_columns(when=step_time(all_steps))
    bounds = pl.DataFrame(
        [(step.start_ns, step.end_ns) for step in all_steps.steps],
        schema=["start_ns", "end_ns"],
        orient="row",
    )
    inside = _counted(bounds, kernels)["kernels"].to_list()
    if all_steps.host_times:
        every = [step.kernels for step in all_steps.steps]
        lies_in = [False] * len(every)
    else:  # steps that overlap hold kernels of one another, or none
        whole = _work(recording).filter(pl.col("kind") == "kernel")
        every = _counted(bounds, whole.with_columns(when=step_time(all_steps)))["kernels"].to_list()
        within = (bounds["end_ns"] > work["start_ns"].min()) & (bounds["start_ns"] < work["end_ns"].max())
        lies_in = within.to_list()
    rows = tuple(
        step
        for step, count, most, lies in zip(all_steps.steps, inside, every, lies_in, strict=True)
        if (count >= _INSIDE * most if count else lies and not most)
    )
    if len(rows) < FEWEST_STEPS:
        return None
    return _of_rows(
        rows,
        all_steps.found_by,
        host_times=all_steps.host_times,
        kernel=all_steps.kernel,
        whole=all_steps.whole,
    )


def step_time(steps: Steps) -> pl.Expr:
    """The time that decides to which step a row of launched_work belongs."""
    return pl.coalesce("launch_start", "start_ns") if steps.host_times else pl.col("start_ns")


def _none(why: str) -> Steps:
    formula = "median over the steps"
    return Steps(
        found_by="",
        steps=(),
        kernels_per_step=unavailable("kernels", formula, why),
        duration_ns=unavailable("ns", formula, why),
        steady_from_ns=None,
        unavailable=why,
    )


def _length() -> pl.Expr:
    return pl.col("end_ns") - pl.col("start_ns")


def _work(trace: Trace) -> pl.DataFrame:
    """Kernels and copies of the process with the most kernels, with the time that decides to which step they belong,
    and whether they are the tail of an earlier one."""
    everything = launched_work(trace)
    work = everything.with_columns(carried_over(everything).alias("carried"))
    process = ["node", "pid"]
    if telling(process, work):
        kernels = (pl.col("kind") == "kernel").sum().alias("kernels")
        counted = work.group_by(process).agg(kernels)
        busiest = counted.sort("kernels", *process, descending=[True, False, False]).head(1)
        work = work.join(busiest, on=process, how="semi", nulls_equal=True)
    return work.with_columns(when=pl.coalesce("launch_start", "start_ns"))


def _host(trace: Trace, kernels: pl.DataFrame) -> Host:
    """What the process of the kernels does beside launching: its waits, and the outermost modules that it calls."""
    place = ["node", "pid"]
    process = kernels.select(place).head(1)
    calls = timed_calls(trace).join(process, on=place, how="semi", nulls_equal=True)
    waits = calls.filter(pl.col("name").cast(pl.String).str.contains(SYNC_CALL))["start_ns"]
    ops = timed_rows(trace, "ops").filter(pl.col("name").cast(pl.String).str.contains(_MODULE)).collect()
    modules = ops.join(process, on=place, how="semi", nulls_equal=True)
    return NO_HOST._replace(waits=waits, passes=disjoint(modules, THREAD).select("start_ns", "end_ns"))


def _from_launches(work: pl.DataFrame, host: Host) -> _Repeated:
    """Steps by what is launched over and over; none where that are layers of one pass."""
    kernels = work.filter(pl.col("kind") == "kernel")
    whole = repeated_blocks(work, host)
    if whole.blocks is not None:
        return _Repeated((ONE_KERNEL if whole.kernel else _BY_SEQUENCE, whole.blocks), kernel=whole.kernel)
    if whole.layered:
        return _Repeated(None, layered=True)
    pattern = (
        _from_heavy(work, host)
        or _from_part(kernels, host, "agent_id", "on one GPU")
        or _from_families(kernels, host)
        or _from_end(kernels, host)
        or _from_part(kernels, host, "tid", "in one thread")
    )
    return _Repeated(pattern)


def _from_heavy(work: pl.DataFrame, host: Host) -> Found | None:
    """Steps by the launches with most kernels and time, whatever is launched between them."""
    blocks = heavy_blocks(work, host)
    return None if blocks is None else (f"{_BY_SEQUENCE}, but for small launches", blocks)


def _from_part(kernels: pl.DataFrame, host: Host, column: str, part: str) -> Found | None:
    """Steps by what is launched to one of several GPUs, or by one of several threads: those that do not wait for one
    another launch in any order."""
    busiest = kernels[column].drop_nulls().value_counts(sort=True)[column]
    several = busiest.head(_CANDIDATES if len(busiest) > 1 else 0)
    each = (repeated_blocks(kernels.filter(pl.col(column) == one), host) for one in several)
    blocks = next((found.blocks for found in each if found.blocks is not None), None)
    return None if blocks is None else (f"{_BY_SEQUENCE} {part}", _on_gpu(blocks, kernels))


def _from_families(kernels: pl.DataFrame, host: Host) -> Found | None:
    """Steps by what kernels do: a library has another kernel, and other copies around it, for another shape."""
    kinds, names = families(kernels["name"]), pl.col("name").cast(pl.String)
    named = kernels.with_columns(name=pl.when(kinds == OTHER.name).then(names).otherwise(kinds))
    blocks = repeated_blocks(named.filter(kinds != "copy"), host).blocks
    if blocks is None or blocks.height < _FEWEST_ALIKE or blocks["kernels"].median() == 1:
        return None
    return f"{_BY_SEQUENCE}, whatever their shapes", _on_gpu(blocks, kernels)


def _from_end(kernels: pl.DataFrame, host: Host) -> Found | None:
    """Steps that begin late, by kernels that compute: a program may end by copying its results, one by one."""
    blocks = final_blocks(kernels.filter(families(kernels["name"]) != "copy"), host)
    return None if blocks is None else (f"{_BY_SEQUENCE} at the end", _on_gpu(blocks, kernels))


def _on_gpu(blocks: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """All kernels of the blocks, by when they run."""
    return _counted(blocks, kernels.with_columns(when=pl.col("start_ns")))


def _of_process(ranges: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """The ranges on the host of the process that the kernels are of."""
    process = kernels.select("node", "pid").head(1)
    on_host = ranges.filter(~pl.col("on_gpu") & (_length() > 0))
    return on_host.join(process, on=["node", "pid"], how="semi", nulls_equal=True)


def _own_ranges(trace: Trace, kernels: pl.DataFrame) -> pl.DataFrame:
    usable = (pl.col("pass_id") == timed_pass(trace)) & ~pl.col("source").is_in(NOT_STEPS)
    return _of_process(trace.table("ranges").filter(usable), kernels)


def _from_profiler(trace: Trace, kernels: pl.DataFrame, host: Host) -> Found | None:
    """ProfilerStep ranges, or StepTraceAnnotations of JAX: whatever else a program does, these are its steps."""
    ranges = _own_ranges(trace, kernels)
    of_torch = ranges.filter(pl.col("name").str.contains(_PROFILER_STEP))
    if of_torch.height:
        marked = _counted(disjoint(of_torch, []), kernels)
        few = marked.height < FEWEST_STEPS and not _is_one_pass(kernels, host)
        inside = tiled_blocks(kernels) if few else None
        if inside is not None:
            return f"{_BY_SEQUENCE} within ProfilerStep", inside
        return _PROFILER, marked
    return _around_kernels(ranges.filter(pl.col("source") == JAX_STEP), kernels, 0)


def _from_annotations(trace: Trace, kernels: pl.DataFrame) -> Found | None:
    """The steps that a serving program annotates, of every kind: where there is one, the layers inside are none."""
    ranges = _of_process(annotated_steps(trace), kernels)
    if not ranges.height:
        return None
    table = _counted(disjoint(ranges, []), kernels)
    kinds = ranges.select("end_ns", "kind").unique("end_ns")
    return f"steps of all kinds, by {ranges['told_by'][0]}", table.join(
        kinds, on="end_ns", how="left", maintain_order="left"
    )


def _from_ranges(trace: Trace, kernels: pl.DataFrame) -> Found | None:
    """The outermost ranges of one name that hold most of the kernels."""
    return _around_kernels(_own_ranges(trace, kernels), kernels, INSIDE_SHARE * kernels.height)


def _around_kernels(ranges: pl.DataFrame, kernels: pl.DataFrame, most: float) -> Found | None:
    """The outermost ranges of the name that holds the most kernels, and more than so many."""
    best: Found | None = None
    for name in _repeated(ranges):
        counted = _counted(disjoint(ranges.filter(_alike(pl.col("name")) == name), []), kernels)
        inside = int(counted["kernels"].sum())
        if (counted["kernels"] > 0).sum() < _HOLD_WORK * counted.height:
            continue
        if _are_layers(name, counted, kernels):
            continue
        if counted.height >= FEWEST_STEPS and (inside > most or _is_outer(best, counted, inside == most)):
            best, most = (f"ranges named {name!r}", counted), inside
    return best


def _is_one_pass(kernels: pl.DataFrame, host: Host) -> bool:
    """Whether one call of a module launches all kernels."""
    first, last = kernels["launch_start"].min(), kernels["launch_start"].max()
    if first is None:
        return False
    around = host.passes.filter((pl.col("start_ns") <= first) & (pl.col("end_ns") >= last))
    return bool(around.height)


def _are_layers(name: str, ranges: pl.DataFrame, kernels: pl.DataFrame) -> bool:
    """Whether ranges are layers by their name, with other parts of the pass right before or behind them."""
    if not ranges.height or not pl.Series([name]).str.contains(_LAYER).item():
        return False
    first, last = int(ranges["start_ns"][0]), int(ranges["end_ns"][-1])
    length = int(ranges.select(_length().median()).item())
    before = pl.col("when").is_between(first - length, first, closed="left")
    behind = pl.col("when").is_between(last, last + length)
    return bool(kernels.select((before | behind).any()).item())


def _is_outer(best: Found | None, counted: pl.DataFrame, as_many: bool) -> bool:
    """Whether the ranges hold the same kernels in fewer pieces."""
    return best is not None and as_many and counted.height < best[1].height


def _repeated(ranges: pl.DataFrame) -> list[str]:
    """Names of ranges that recur, longest in all first."""
    names = ranges.group_by(_alike(pl.col("name"))).agg(
        pl.len().alias("count"), _length().sum().alias("length")
    )
    often = names.filter(pl.col("count") >= FEWEST_STEPS).sort("length", "name", descending=[True, False])
    return often["name"].head(_CANDIDATES).to_list()


def _alike(name: pl.Expr) -> pl.Expr:
    """The name without its numbers: "step 17" is one of the steps."""
    return name.str.replace_all(r"\d+", "#")


def _counted(windows: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels and kernel time of each window."""
    ordered = windows.select("start_ns", "end_ns").sort("start_ns").with_row_index("step")
    of_step = (
        kernels.select("when", _length().alias("length"))
        .sort("when")
        .join_asof(ordered, left_on="when", right_on="start_ns")
        .filter(pl.col("when") < pl.col("end_ns"))
    )
    sums = of_step.group_by("step").agg(pl.len().cast(pl.Int64).alias("kernels"), pl.col("length").sum())
    table = ordered.join(sums, on="step", how="left", maintain_order="left")
    return table.select("start_ns", "end_ns", pl.col("kernels", "length").fill_null(0))


def _steady_from(rows: tuple[Step, ...], usual_ns: float) -> int | None:
    """The first step is never steady; further ones are not until they take their usual time."""
    usual = (step.start_ns for step in rows[1:] if step.duration_ns <= _WARM_UP * usual_ns)
    return next(usual, None) if len(rows) >= FEWEST_STEPS else None
