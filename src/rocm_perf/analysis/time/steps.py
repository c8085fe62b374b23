"""The steps of a program: what it does over and over. From ranges that mark them, or from the sequence of kernels."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint
from rocm_perf.analysis.basis.launched import launched_kernels
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.kernels import Step, Steps
from rocm_perf.model.trace import Trace

FORMULAS = {
    "steps.kernels_per_step": "median over the steps of the kernels launched in them (where launches are recorded, "
    "else begun in them)",
    "steps.duration_ns": "median over the steps of their length; where the kernel sequence shows them, from the first "
    "kernel of a step to the first of the next",
}

_PROFILER_STEP = r"^ProfilerStep"
FEWEST_STEPS = 3
_INSIDE_SHARE = 0.5  # of the kernels: what holds fewer of them is not a step
_ALONE_SHARE = 0.8  # of them: one kernel over and over is a loop only if there is little else
_UNLIKE = 0.1  # of the kernels of a step may be missing or added
_WARM_UP = 1.5  # medians: the first steps are steady once they take no longer
_CANDIDATES = 32
_REPEATS = 0.8  # of the kernels are those of one period later
_AS_GOOD = 0.01

_BY_SEQUENCE = "the sequence of kernels repeats"

Found = tuple[str, pl.DataFrame]


@once_per_trace
def steps(trace: Trace) -> Steps:
    """The steps of the process with the most kernels; in a run of many ranks, the others do the same."""
    kernels = _kernels(trace)
    if not kernels.height:
        return _none("the recording holds no kernels with times")
    pattern = _from_ranges(trace, kernels) or _from_sequence(kernels)
    if pattern is None:
        return _none("no range repeats around the kernels, and their sequence does not repeat")
    how, table = pattern
    rows = tuple(Step(*row) for row in table.iter_rows())
    formula, middle = "median over the steps", table.select(pl.col("kernels").median(), _length().median())
    count, duration = middle.row(0)
    return Steps(
        found_by=how,
        steps=rows,
        kernels_per_step=Quantity(value=count, unit="kernels", formula=formula, inputs={"steps": len(rows)}),
        duration_ns=Quantity(value=duration, unit="ns", formula=formula, inputs={"steps": len(rows)}),
        steady_from_ns=_steady_from(rows, duration),
        host_times=how != _BY_SEQUENCE,
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


def _kernels(trace: Trace) -> pl.DataFrame:
    """Kernels of the busiest process in order of their start, with the time that decides to which step they belong."""
    work = launched_kernels(trace)
    process = ["node", "pid"]
    busiest = work.group_by(process).len().sort("len", *process, descending=[True, False, False]).head(1)
    return (
        work.join(busiest, on=process, how="semi", nulls_equal=True)
        .with_columns(pl.coalesce("launch_start", "start_ns").alias("when"))
        .sort("start_ns")
    )


def _from_ranges(trace: Trace, kernels: pl.DataFrame) -> Found | None:
    """ProfilerStep ranges, or the outermost ranges of one name that hold most of the kernels."""
    usable = (pl.col("pass_id") == (timed_pass(trace) or 0)) & ~pl.col("on_gpu") & (_length() > 0)
    process = kernels.select("node", "pid").head(1)
    ranges = (
        trace.table("ranges").filter(usable).join(process, on=["node", "pid"], how="semi", nulls_equal=True)
    )
    profiler = ranges.filter(pl.col("name").str.contains(_PROFILER_STEP))
    if profiler.height:
        return "ProfilerStep ranges", _counted(disjoint(profiler, []), kernels)
    best: Found | None = None
    most = _INSIDE_SHARE * kernels.height
    for name in _repeated(ranges):
        counted = _counted(disjoint(ranges.filter(_alike(pl.col("name")) == name), []), kernels)
        inside = int(counted["kernels"].sum())
        if counted.height >= FEWEST_STEPS and (inside > most or _is_outer(best, counted, inside == most)):
            best, most = (f"ranges named {name!r}", counted), inside
    return best


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


def period(names: pl.Series) -> int | None:
    """The length of the sequence that nearly all of these names, in their order, belong to; None if none repeats."""
    numbers = names.rank("dense").cast(pl.Int64)
    return _period(numbers, _distances(numbers))


def _from_sequence(kernels: pl.DataFrame) -> Found | None:
    """Steps begin where a launch recurs that is made once a step; what comes before the first is warm-up.

    The kernels of one graph launch are one launch, so that the layers inside a graph are not steps.
    """
    heads = kernels.with_row_index("row").filter(_is_head(kernels))
    names = heads["name"].rank("dense").cast(pl.Int64)
    distances = _distances(names)
    period = _period(names, distances)
    if period is None:
        return None
    begins = heads["row"].gather(_begins(names, distances, period))
    at = pl.Series(range(kernels.height)).is_in(begins.cast(pl.Int64).implode())
    head = pl.Series(range(kernels.height)).is_in(heads["row"].cast(pl.Int64).implode())
    blocks = (
        kernels.with_columns(block=at.cast(pl.Int64).cum_sum(), head=head)
        .filter(pl.col("block") > 0)
        .group_by("block", maintain_order=True)
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            pl.len().cast(pl.Int64).alias("kernels"),
            _length().sum().alias("length"),
            pl.col("head").sum().cast(pl.Int64).alias("launches"),
        )
    )
    until = pl.coalesce(pl.col("start_ns").shift(-1), "end_ns").alias("end_ns")
    whole = blocks.with_columns(until).filter(
        (pl.col("block") < blocks.height)
        | (pl.col("launches") == period)  # the recording may end within a step
    )
    usual = whole.filter((pl.col("launches") - period).abs() <= _UNLIKE * period)
    inside = _INSIDE_SHARE if period > 1 else _ALONE_SHARE
    if whole.height < FEWEST_STEPS or usual["kernels"].sum() < inside * kernels.height:
        return None
    return _BY_SEQUENCE, whole.drop("block", "launches")


def _is_head(kernels: pl.DataFrame) -> pl.Series:
    """Whether a kernel is the first of its launch, or the only one; without a launch, each is one."""
    same_call = pl.col("launch_start") == pl.col("launch_start").shift(1)
    same_thread = pl.col("tid").eq_missing(pl.col("tid").shift(1))
    return kernels.select(~(same_call & same_thread).fill_null(False)).to_series()


def _begins(names: pl.Series, distances: pl.DataFrame, period: int) -> pl.Series:
    """Where steps begin: at a launch made once a step, or as far before it as the first two steps are alike."""
    ranked = distances.filter(pl.col("distance") == period).sort("regular", "first", descending=[True, False])
    places = (names == ranked["name"][0]).arg_true().cast(pl.Int64)
    first, second = int(places[0]), int(places[1])
    before = range(1, min(first, period - 1) + 1)
    alike = next((back - 1 for back in before if names[first - back] != names[second - back]), len(before))
    begins: pl.Series = places - alike
    return begins


def _distances(names: pl.Series) -> pl.DataFrame:
    """For each kernel that recurs often enough: how far apart, how regularly, and where it is first seen."""
    step = pl.col("at").diff()
    table = (
        pl.DataFrame({"name": names})
        .with_row_index("at")
        .with_columns(pl.col("at").cast(pl.Int64))
        .group_by("name")
        .agg(
            step.median().cast(pl.Int64).alias("distance"),
            (step == step.median()).mean().alias("regular"),
            pl.col("at").first().alias("first"),
            pl.len().alias("count"),
        )
    )
    return table.filter(
        (pl.col("count") >= FEWEST_STEPS) & (pl.col("distance") <= len(names) // FEWEST_STEPS)
    )


def _period(names: pl.Series, distances: pl.DataFrame) -> int | None:
    """The shortest distance at which nearly all kernels recur, tried among the distances of single kernels.

    A kernel that runs once a step recurs at the length of a step, so one such kernel is enough.
    """
    common = (
        distances.group_by("distance").agg(pl.col("count").sum()).sort("count", "distance", descending=True)
    )
    tried = common["distance"].head(_CANDIDATES).to_list()
    scores = {distance: _repeats(names, distance) for distance in tried}
    best = max(scores.values(), default=0.0)
    if best < _REPEATS:
        return None
    return min(int(distance) for distance, score in scores.items() if score >= best - _AS_GOOD)


def _repeats(names: pl.Series, distance: int) -> float:
    """Share of kernels that recur one distance later."""
    return float((names[distance:] == names[: len(names) - distance]).mean() or 0.0)  # type: ignore[arg-type]


def _steady_from(rows: tuple[Step, ...], median: float) -> int | None:
    """The first step is never steady; further ones are not until they take their usual time."""
    usual = (step.start_ns for step in rows[1:] if step.duration_ns <= _WARM_UP * median)
    return next(usual, None) if len(rows) >= FEWEST_STEPS else None
