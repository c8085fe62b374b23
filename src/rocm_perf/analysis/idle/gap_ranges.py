"""Which named part of the program the host was in while the GPU stood idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import THREAD
from rocm_perf.analysis.basis.passes import timed_pass, timed_rows
from rocm_perf.analysis.idle.gap_causes import host_windows
from rocm_perf.analysis.idle.long_gaps import LONG_NS
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.results.gaps import RangeTime
from rocm_perf.model.trace import Trace

_PROCESS = THREAD[:2]
_EXPLAINS = 0.5  # of the host's part of the idle time
_WHOLE = 0.9  # of the wall of each thread: a range that long names no part of the program
_SOON = 0.1  # of idle time: the host goes on so soon after another thread's range has ended
# All of the program, or all that was compiled of it.
NO_PART = r"^ProfilerStep#|^(## )?Call CompiledFxGraph|^Torch-Compiled Region|torchinductor_"
_NEARLY = 0.9  # of what the Python frame that holds most of it does
_MOST_NAMES = 200  # of ranges; programs that number them have thousands, none of which holds most of the time


class Part(NamedTuple):
    """A named part of the program, and when the host was in it."""

    name: str
    spans: pl.DataFrame  # with the columns of THREAD, start_ns and end_ns
    in_other_threads: bool = False


def parts_of_program(trace: Trace, gaps: pl.DataFrame) -> Part | None:
    """Return the most specific part of the program that holds most of the host's time in these gaps, or None."""
    rows = idle_ranges(trace, gaps)
    if not rows:
        return None
    row = rows[0]
    frames = timed_rows(trace, "ops").filter(pl.col("category") == "python", pl.col("name") == row.name)
    columns = [*THREAD, "start_ns", "end_ns"]
    named_spans = _spans(trace).filter(pl.col("name") == row.name)
    spans = named_spans.select(columns) if named_spans.height else frames.select(columns).collect()
    return Part(row.name, spans, row.in_other_threads)


def idle_ranges(trace: Trace, idle: pl.DataFrame) -> tuple[RangeTime, ...]:
    """Ranges that hold most of the idle time before launches, the shortest in all first: it says most. Where launching
    threads are in none, those of other threads of the process after which they go on, or else Python frames.

    `idle` are gaps with launch_end, of whole GPUs.
    """
    if not trace.has("ranges") and not trace.has("ops"):
        return ()
    known = idle.filter(pl.col("launch_end").is_not_null())
    columns = [*THREAD, "start_ns", "since_ns", "launch_end"]
    windows = disjoint(host_windows(known.select(columns)), THREAD)
    spans = _spans(trace)
    launching = windows.select(THREAD).unique()
    own, others = (spans.join(launching, on=THREAD, how=how, nulls_equal=True) for how in ("semi", "anti"))
    wall = wall_ns(trace) or 0
    told = _telling(own, windows, THREAD, wall)
    if told:
        return told
    of_process = disjoint(windows, _PROCESS)
    awaited = tuple(
        replace(row, in_other_threads=True)
        for row in _telling(others, of_process, _PROCESS, wall)
        if _end_with(of_process, others.filter(pl.col("name") == row.name))
    )
    return awaited or _frames(trace, windows, wall)


def _frames(trace: Trace, windows: pl.DataFrame, wall: int) -> tuple[RangeTime, ...]:
    """Where most of the time is in long gaps, the Python functions that hold nearly all of them, the shortest first:
    in short ones the host is in the framework's own functions."""
    length = pl.col("end_ns") - pl.col("start_ns")
    long = windows.filter(length >= LONG_NS)
    if long.select(length.sum()).item() < _EXPLAINS * windows.select(length.sum()).item():
        return ()
    rows = timed_rows(trace, "ops").filter(pl.col("category") == "python", length >= LONG_NS)
    frames = rows.select("name", *THREAD, "start_ns", "end_ns").collect()
    found = _telling(_parts(frames).join(long, on=THREAD, how="semi", nulls_equal=True), long, THREAD, wall)
    most = max((row.idle_ns for row in found), default=0)
    return tuple(row for row in found if row.idle_ns >= _NEARLY * most)


def _end_with(windows: pl.DataFrame, spans: pl.DataFrame) -> bool:
    """Whether windows that are most of the time end soon after a span does."""
    process = pl.col(_PROCESS).fill_null(-1)  # JAX does not name it
    ended = (
        windows.sort("end_ns")
        .select(process, "start_ns", "end_ns")
        .join_asof(
            spans.select(process, over_ns="end_ns").sort("over_ns"),
            left_on="end_ns",
            right_on="over_ns",
            by=_PROCESS,
            check_sortedness=False,
        )
    )
    length = pl.col("end_ns") - pl.col("start_ns")
    soon = ended.filter(pl.col("end_ns") - pl.col("over_ns") <= _SOON * length)
    return bool(soon.select(length.sum()).item() >= _EXPLAINS * ended.select(length.sum()).item())


def _spans(trace: Trace) -> pl.DataFrame:
    """Ranges and outermost operators of the host; a step of torch's profiler, or what torch.compile made of the
    program, names no part of it."""
    of_pass = (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") > pl.col("start_ns"))
    columns = ["name", *THREAD, "start_ns", "end_ns"]
    ranges = trace.table("ranges").filter(of_pass & ~pl.col("on_gpu")).select(columns)
    operators = trace.table("ops").filter(of_pass & (pl.col("category") == "operator")).select(columns)
    return pl.concat([_parts(ranges), disjoint(_parts(operators), THREAD)])


def _parts(spans: pl.DataFrame) -> pl.DataFrame:
    return spans.filter(~named(spans["name"], pl.col("name").str.contains(NO_PART)))


def _telling(
    spans: pl.DataFrame, windows: pl.DataFrame, by: Sequence[str], wall: int
) -> tuple[RangeTime, ...]:
    """By name, the spans that cover most of the windows, but not nearly all of the run."""
    if not windows.height or not spans.height:
        return ()
    idle_ns = int((windows["end_ns"] - windows["start_ns"]).sum())
    spent = pl.col("end_ns") - pl.col("start_ns")
    longest = spans.group_by("name").agg(spent=spent.sum()).top_k(_MOST_NAMES, by="spent")
    ranges = disjoint(spans.join(longest, on="name", how="semi"), ["name", *by])
    timed = ranges.with_columns(overlap_ns(ranges, windows, by).alias("idle"), spent.alias("total"))
    names = timed.group_by("name").agg(pl.col("idle", "total").sum())
    explains = pl.col("idle") >= _EXPLAINS * idle_ns
    whole_ns = wall * windows.select(by).n_unique()
    telling = names.filter(explains & (pl.col("total") <= _WHOLE * whole_ns))
    rows = telling.sort("total", "name").iter_rows()
    return tuple(RangeTime(name=name, idle_ns=inside, total_ns=whole) for name, inside, whole in rows)
