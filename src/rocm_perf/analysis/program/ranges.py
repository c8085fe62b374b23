"""Named ranges (roctx, nvtx, record_function): kernels, GPU time and gaps of each, by call and in total.

A kernel belongs to the innermost range that was open on its launching thread when it was launched; if none was (torch
launches the backward pass from threads of its own), to the innermost range of its process that was open then. Where the
launch is not recorded, to the innermost range of its process that was open from the kernel's start to its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import polars as pl

from rocm_perf.analysis.basis.forest import first_reaching
from rocm_perf.analysis.basis.nested import enclosing, nest, with_launch
from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.program.range_paths import Path, in_order, names_of, number_paths
from rocm_perf.analysis.program.range_times import gpu_times
from rocm_perf.model.range_sources import NOT_THE_PROGRAM
from rocm_perf.model.results.ranges import RangeCall, Ranges, RangeTotal
from rocm_perf.model.trace import Trace

FORMULAS = {
    "ranges.gpu_ns": "sum over calls of the union of the intervals of its kernels",
    "ranges.gap_ns": "sum over calls of (last kernel end - first kernel start - gpu_ns of the call)",
}
SLOWEST = 10

_PROCESS = ["node", "pass_id", "rank", "pid"]
_STEP = r"^ProfilerStep#\d+$"


def ranges(trace: Trace) -> Ranges:
    """Every range by its place in the nesting, or why there are none."""
    number = timed_pass(trace)
    recorded = trace.table("ranges").filter(
        (pl.col("pass_id") == number) & ~pl.col("source").is_in(NOT_THE_PROGRAM)
    )
    host = recorded.filter(~pl.col("on_gpu"))
    spans = host.filter(pl.col("end_ns") > pl.col("start_ns"))
    marks = host.height - spans.height
    kernels = timed_dispatches(trace)
    if not spans.height:
        return Ranges(
            rows=(),
            marks=marks,
            by_launch=0,
            by_time=0,
            outside=kernels.height,
            unavailable=_why_none(recorded, host),
        )
    nested = nest(spans)
    owned = _owned(trace, kernels, nested)
    known = dict(owned["known"].value_counts().iter_rows())
    paths, of_call = number_paths(nested)
    return Ranges(
        rows=_rows(paths, _calls(nested, owned).with_columns(of_call)),
        marks=marks,
        by_launch=known.get("launch", 0),
        by_time=known.get("time", 0),
        outside=known.get("outside", 0),
    )


@once_per_trace
def step_spans(trace: Trace) -> pl.DataFrame:
    """The steps of the program in order, as name, node, start_ns and end_ns: torch's ProfilerStep ranges, else the
    calls of the outermost range that is called most often, if it is called at least three times."""
    number = timed_pass(trace)
    spans = trace.table("ranges").filter(
        (pl.col("pass_id") == number) & ~pl.col("on_gpu") & (pl.col("end_ns") > pl.col("start_ns"))
    )
    steps = spans.filter(pl.col("name").str.contains(_STEP))
    if not steps.height:
        steps = _repeated(spans.filter(~pl.col("source").is_in(NOT_THE_PROGRAM) & (pl.col("depth") == 0)))
    return steps.sort("start_ns").select("name", "node", "start_ns", "end_ns")


def _repeated(spans: pl.DataFrame) -> pl.DataFrame:
    counts = (
        spans.group_by("name")
        .len()
        .filter(pl.col("len") >= 3)
        .sort(["len", "name"], descending=[True, False])
    )
    return spans.filter(pl.col("name").is_in(counts["name"].head(1).implode()))


def _why_none(recorded: pl.DataFrame, host: pl.DataFrame) -> str:
    if host.height:
        return "only marks were recorded: an instant holds no kernels"
    if recorded.height:
        return "only the ranges' shadows on the GPU were recorded, not the ranges"
    return "no named range was recorded (roctx, nvtx or record_function in the program)"


def _owned(trace: Trace, kernels: pl.DataFrame, nested: pl.DataFrame) -> pl.DataFrame:
    launched = with_launch(trace, kernels)
    at_launch = launched.select(
        *_PROCESS, pl.col("launch_tid").alias("tid"), pl.col("launch_ns").alias("time_ns")
    )
    by_launch = enclosing(nested, at_launch)
    instant = pl.col("launch_ns")
    by_time = _containing(
        launched.with_columns(
            start_ns=pl.coalesce(instant, "start_ns"), end_ns=pl.coalesce(instant, "end_ns")
        ),
        nested,
    )
    return launched.select("start_ns", "end_ns").with_columns(
        owner=pl.select(pl.coalesce(by_launch, by_time)).to_series(),
        known=pl.when(by_launch.is_not_null())
        .then(pl.lit("launch"))
        .when(by_time.is_not_null())
        .then(pl.lit("time"))
        .otherwise(pl.lit("outside")),
    )


def _containing(kernels: pl.DataFrame, nested: pl.DataFrame) -> pl.Series:
    """The innermost range of the process that was open from start_ns to end_ns. Ranges of all its threads count: nested
    anew as if they were of one, so that the climb from the latest start finds the rest."""
    places = nested.drop("track_id", "parent", "behind").rename({"row": "range"})
    together = nest(places, _PROCESS)
    points = kernels.select(*_PROCESS, pl.col("start_ns").alias("time_ns"))
    begun = enclosing(together, points, _PROCESS)
    lasting = first_reaching(together["parent"], together["end_ns"], begun, kernels["end_ns"] - 1)
    return together["range"].gather(lasting)


def _calls(nested: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """Each call with its kernels, those of the ranges inside it included."""
    times = gpu_times(nested, owned.drop_nulls("owner"))
    host_ns = (pl.col("end_ns") - pl.col("start_ns")).alias("host_ns")
    return nested.select("source", "start_ns", host_ns).with_columns(times)


def _rows(paths: Sequence[Path], calls: pl.DataFrame) -> tuple[RangeTotal, ...]:
    """One row per path; `calls` has its number."""
    slowest = _slowest(calls)
    table = (
        calls.group_by("path")
        .agg(
            pl.col("source").first(),
            pl.col("start_ns").min().alias("first"),
            pl.len().alias("calls"),
            pl.col("host_ns", "kernels", "own_kernels", "gpu_ns", "gap_ns").sum(),
            pl.col("host_ns").mean().alias("mean_host_ns"),
            pl.col("host_ns").min().alias("min_host_ns"),
            pl.col("host_ns").max().alias("max_host_ns"),
        )
        .sort("path")
    )
    firsts = table["first"].to_list()
    totals = table.drop("path", "first").to_dicts()
    return tuple(
        RangeTotal(
            path=names_of(paths, number),
            depth=paths[number].depth,
            slowest=tuple(slowest[number]),
            **totals[number],
        )
        for number in in_order(paths, firsts)
    )


def _slowest(calls: pl.DataFrame) -> dict[int, list[RangeCall]]:
    """The longest calls of each path."""
    top = (
        calls.sort(["host_ns", "start_ns"], descending=[True, False])
        .group_by("path", maintain_order=True)
        .head(SLOWEST)
        .select("path", "start_ns", "host_ns", "kernels", "gpu_ns", "gap_ns")
    )
    longest: dict[int, list[RangeCall]] = defaultdict(list)
    for path, *values in top.iter_rows():
        longest[path].append(RangeCall(*values))
    return longest
