"""Named ranges (roctx, nvtx, record_function): kernels, GPU time and gaps of each, by call and in total.

A kernel belongs to the innermost range that was open on its launching thread when it was launched; if none was (torch
launches the backward pass from threads of its own), to the innermost range of its process that was open then. Where the
launch is not recorded, to the innermost range of its process that was open from the kernel's start to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.nested import enclosing, nest, with_launch
from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.results.ranges import RangeCall, Ranges, RangeTotal
from rocm_perf.model.trace import Trace

FORMULAS = {
    "ranges.gpu_ns": "sum over calls of the union of the intervals of its kernels",
    "ranges.gap_ns": "sum over calls of (last kernel end - first kernel start - gpu_ns of the call)",
}
SLOWEST = 10

# The profiler's own overhead and other tools' slices are no ranges of the program.
_NOT_THE_PROGRAM = ("profiler", "chrome")
_PROCESS = ["node", "pass_id", "rank", "pid"]
_STEP = r"^ProfilerStep#\d+$"
_NUMBER = r"#\d+$"


def ranges(trace: Trace) -> Ranges:
    """Every range by its place in the nesting, or why there are none."""
    number = timed_pass(trace) or 0
    recorded = trace.table("ranges").filter(
        (pl.col("pass_id") == number) & ~pl.col("source").is_in(_NOT_THE_PROGRAM)
    )
    host = recorded.filter(~pl.col("on_gpu"))
    spans = host.filter(pl.col("end_ns") > pl.col("start_ns"))
    marks = host.height - spans.height
    kernels = timed_dispatches(trace)
    if not spans.height:
        return Ranges((), marks, 0, 0, kernels.height, unavailable=_why_none(recorded, host))
    nested = nest(spans)
    owned = _owned(trace, kernels, nested)
    known = dict(owned["known"].value_counts().iter_rows())
    return Ranges(
        _rows(_calls(nested, owned)),
        marks,
        known.get("launch", 0),
        known.get("time", 0),
        known.get("outside", 0),
    )


def range_calls(trace: Trace) -> pl.DataFrame:
    """One row a call of a range: path, depth, source, node, times, kernels, own_kernels, gpu_ns, gap_ns."""
    number = timed_pass(trace) or 0
    spans = trace.table("ranges").filter(
        (pl.col("pass_id") == number)
        & ~pl.col("source").is_in(_NOT_THE_PROGRAM)
        & ~pl.col("on_gpu")
        & (pl.col("end_ns") > pl.col("start_ns"))
    )
    nested = nest(spans)
    return _calls(nested, _owned(trace, timed_dispatches(trace), nested))


@once_per_trace
def step_spans(trace: Trace) -> pl.DataFrame:
    """The steps of the program in order, as name, node, start_ns and end_ns: torch's ProfilerStep ranges, else the
    calls of the outermost range that is called most often, if it is called at least three times."""
    number = timed_pass(trace) or 0
    spans = trace.table("ranges").filter(
        (pl.col("pass_id") == number) & ~pl.col("on_gpu") & (pl.col("end_ns") > pl.col("start_ns"))
    )
    steps = spans.filter(pl.col("name").str.contains(_STEP))
    if not steps.height:
        steps = _repeated(spans.filter(~pl.col("source").is_in(_NOT_THE_PROGRAM) & (pl.col("depth") == 0)))
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
    places = nested.drop("track_id", "parent").rename({"row": "range"})
    together = nest(places, _PROCESS)
    points = kernels.select(*_PROCESS, pl.col("start_ns").alias("time_ns"))
    found = enclosing(together, points, _PROCESS)
    ends, parents = together["end_ns"], together["parent"]
    while True:
        short = (ends.gather(found) < kernels["end_ns"]).fill_null(False)
        if not short.any():
            return together["range"].gather(found)
        frame = pl.DataFrame({"found": found, "above": parents.gather(found), "short": short})
        found = frame.select(pl.when("short").then("above").otherwise("found").alias("found"))["found"]


def _calls(nested: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """Each call with its kernels, those of the ranges inside it included."""
    own = owned.drop_nulls("owner")
    busy = union_ns(_with_ancestors(own, nested["parent"]), ["owner"])
    counts = own.group_by("owner").agg(pl.len().cast(pl.Int64).alias("own_kernels"))
    gap = pl.col("last_ns") - pl.col("first_ns") - pl.col("union_ns")
    table = (
        nested.with_columns(_paths(nested), host_ns=pl.col("end_ns") - pl.col("start_ns"))
        .join(busy, left_on="row", right_on="owner", how="left", maintain_order="left")
        .join(counts, left_on="row", right_on="owner", how="left", maintain_order="left")
    )
    return table.select(
        "path",
        "source",
        "node",
        "start_ns",
        "end_ns",
        "host_ns",
        (pl.col("path").list.len().cast(pl.Int64) - 1).alias("depth"),
        pl.col("count").fill_null(0).alias("kernels"),
        pl.col("own_kernels").fill_null(0),
        pl.col("union_ns").fill_null(0).alias("gpu_ns"),
        gap.fill_null(0).alias("gap_ns"),
    )


def _with_ancestors(own: pl.DataFrame, parents: pl.Series) -> pl.DataFrame:
    """A kernel for its range and for every range around that."""
    level = own.select("owner", "start_ns", "end_ns")
    levels = []
    while level.height:
        levels.append(level)
        level = level.with_columns(parents.gather(level["owner"]).alias("owner")).drop_nulls("owner")
    return pl.concat(levels) if levels else level


def _paths(nested: pl.DataFrame) -> pl.Series:
    """Names from the outermost range down; numbered steps share one name."""
    names = nested["name"].str.replace(_NUMBER, "").to_list()
    paths: list[tuple[str, ...]] = []
    for name, parent in zip(names, nested["parent"].to_list(), strict=True):
        paths.append((name,) if parent is None else (*paths[parent], name))
    return pl.Series("path", [list(path) for path in paths], dtype=pl.List(pl.String))


def _rows(calls: pl.DataFrame) -> tuple[RangeTotal, ...]:
    keyed = calls.with_columns(pl.col("path").list.join("\n").alias("key"))
    slowest = _slowest(keyed)
    table = keyed.group_by("key").agg(
        pl.col("path").first(),
        pl.col("source").first(),
        pl.col("depth").first(),
        pl.col("start_ns").min().alias("first"),
        pl.len().alias("calls"),
        pl.col("host_ns", "kernels", "own_kernels", "gpu_ns", "gap_ns").sum(),
        pl.col("host_ns").mean().alias("mean_host_ns"),
        pl.col("host_ns").min().alias("min_host_ns"),
        pl.col("host_ns").max().alias("max_host_ns"),
    )
    firsts = {row["key"]: row["first"] for row in table.iter_rows(named=True)}
    rows = sorted(table.iter_rows(named=True), key=lambda row: _place(row["path"], firsts))
    return tuple(_row(row, slowest[row["key"]]) for row in rows)


def _place(path: list[str], firsts: Mapping[str, int]) -> tuple[tuple[int, str], ...]:
    """Parents before children, siblings in the order of their first call."""
    return tuple((firsts["\n".join(path[: depth + 1])], name) for depth, name in enumerate(path))


def _row(row: Mapping[str, Any], slowest: list[RangeCall]) -> RangeTotal:
    kept = {key: value for key, value in row.items() if key not in ("key", "first", "path")}
    return RangeTotal(path=tuple(row["path"]), slowest=tuple(slowest), **kept)


def _slowest(keyed: pl.DataFrame) -> dict[str, list[RangeCall]]:
    top = (
        keyed.sort(["host_ns", "start_ns"], descending=[True, False])
        .group_by("key", maintain_order=True)
        .head(SLOWEST)
        .select("key", "start_ns", "host_ns", "kernels", "gpu_ns", "gap_ns")
    )
    found: dict[str, list[RangeCall]] = {}
    for key, *values in top.iter_rows():
        found.setdefault(key, []).append(RangeCall(*values))
    return found
