"""When GPUs, queues and streams stood idle between their first and their last work, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.intervals import holes, overlap_ns
from rocm_perf.analysis.basis.launched import GPU, THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.idle.gap_causes import (
    CAUSES,
    attribute,
    host_calls,
    host_windows,
    longest_calls,
    synchronised,
)
from rocm_perf.analysis.idle.gap_ranges import idle_ranges
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.analysis.time.families import is_collective
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.gaps import Bin, CallTime, CauseTime, Gap, Gaps, Level, PlaceGaps
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

FORMULAS = {
    "gaps.idle_ns": "sum over GPUs of the time between first and last work in which no kernel and no copy ran",
    "gaps.causes": "from the start of a gap to the return of the call that launched its end: what that thread was in "
    "(host_sync, copy, host_api; outside of calls framework where operators are recorded, else host_busy); then "
    "launch_latency, up to the 90th percentile (at most 3 medians) of launches that found the GPU idle; then, where "
    "a wait for an event was called between the two launches, copy, collective or event while such work of the "
    "process ran elsewhere, and event if nothing ran for more than 10 latencies; else queue_gap",
    "gaps.sync_between": "gaps with a synchronising call between the launches on both sides / gaps with known launches",
}

WORST = 20
_CALLS_PER_GAP = 3
_IDLE_SHARE = (
    0.05  # of the window of all GPUs, and of the idle time for a cause, from which on it is worth a word
)
_CAUSE_SHARE = 0.2
_PLACES: dict[Level, tuple[str, ...]] = {
    "gpu": GPU,
    "queue": (*GPU, "queue_id"),
    "stream": (*GPU, "stream_id"),
}
_PLACE = (*GPU, "queue_id", "stream_id")
_HOST_CAUSES = ("framework", "host_busy", "host_api")
_STEPS = [step * 10**decade for decade in range(19) for step in (1, 2, 5)]
_EDGES = pl.Series([*_STEPS, (1 << 63) - 1], dtype=pl.Int64)  # no time is longer
_SYNC_FORMULA = "gaps with a synchronising call between / gaps with a recorded launch"


def gaps(trace: Trace) -> Gaps:
    """Every idle interval, its causes, and the worst of them."""
    recorded = timed_calls(trace)
    work = launched_work(trace)
    if not work.height:
        why = "the recording holds no kernels and no copies with times"
        return Gaps(
            idle_ns=0,
            gaps=0,
            causes=(),
            calls=(),
            ranges=(),
            places=(),
            median_ns=None,
            p90_ns=None,
            p99_ns=None,
            longest_ns=None,
            histogram=(),
            worst=(),
            sync_between=unavailable("", _SYNC_FORMULA, why),
            unavailable=why,
        )
    calls = host_calls(recorded, work)
    operators = _processes_with_operators(trace)
    places = work.select(_PLACE).unique()
    alike = _same_as(places)
    waits = unrecorded_waits(trace)
    by_level = {
        level: attribute(_idle(work, level), calls, work, operators=operators, waits=waits)
        for level in set(alike.values())
    }
    sums = {level: _sums(frame) for level, frame in by_level.items()}
    idle = by_level["gpu"]
    length = idle["start_ns"] - idle["since_ns"]
    return Gaps(
        idle_ns=int(length.sum()),
        gaps=idle.height,
        causes=_causes(idle),
        calls=_calls(idle, calls),
        ranges=idle_ranges(trace, idle),
        places=tuple(place for level in _PLACES for place in _places(places, sums[alike[level]], level)),
        median_ns=length.median(),
        p90_ns=length.quantile(0.9, "nearest"),
        p99_ns=length.quantile(0.99, "nearest"),
        longest_ns=length.max(),
        histogram=_histogram(length),
        worst=tuple(_worst(idle, work, calls)),
        sync_between=_sync_between(idle, calls),
        doubt=idle_is_the_profilers(trace) or _only_collectives(work),
        not_attributed=_why_not(idle, recorded),
    )


def _same_as(places: pl.DataFrame) -> dict[Level, Level]:
    """For each level the first one that divides the work alike: one queue with one stream has the same gaps."""

    def parts(*levels: Level) -> int:
        return places.select(sorted({key for level in levels for key in _PLACES[level]})).n_unique()

    return {
        level: next(other for other in _PLACES if parts(other) == parts(level) == parts(other, level))
        for level in _PLACES
    }


def _idle(work: pl.DataFrame, level: Level) -> pl.DataFrame:
    return holes(work, _PLACES[level], then=["launch_start"], before=["launch_start"])


def _processes_with_operators(trace: Trace) -> pl.DataFrame:
    number = timed_pass(trace) or 0
    return trace.lazy("ops").filter(pl.col("pass_id") == number).select("node", "pid").unique().collect()


def _causes(idle: pl.DataFrame) -> tuple[CauseTime, ...]:
    total = int((idle["start_ns"] - idle["since_ns"]).sum())
    rows = [
        CauseTime(cause=cause, total_ns=part, gaps=int((idle[cause] > 0).sum()), share=part / total)
        for cause in CAUSES
        if (part := int(idle[cause].sum()))
    ]
    return tuple(sorted(rows, key=lambda row: -row.total_ns))


def _calls(idle: pl.DataFrame, calls: pl.DataFrame) -> tuple[CallTime, ...]:
    """GPU by GPU, as one thread can leave several idle at once."""
    known = idle.filter(pl.col("launch_end").is_not_null())
    parts = []
    times = known.select(*THREAD, "agent_id", "start_ns", "since_ns", "launch_end")
    for windows in host_windows(times).partition_by(GPU):
        threads = windows.select(THREAD).unique()
        mine = calls.join(threads, on=THREAD, how="semi", nulls_equal=True)
        parts.append(mine.select("cause", "name", overlap_ns(mine, windows, THREAD)))
    if not parts:
        return ()
    totals = pl.concat(parts).group_by("cause", "name").agg(pl.col("overlap_ns").sum())
    inside = totals.filter(pl.col("overlap_ns") > 0).sort("overlap_ns", "name", descending=[True, False])
    return tuple(CallTime(*row) for row in inside.iter_rows())


def _sums(idle: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("start_ns") - pl.col("since_ns")
    return idle.group_by(_PLACE).agg(
        pl.len().alias("gaps"), length.sum().alias("idle_ns"), pl.col(CAUSES).sum()
    )


def _places(places: pl.DataFrame, sums: pl.DataFrame, level: Level) -> list[PlaceGaps]:
    by = _PLACES[level]
    mine = sums.group_by(by).agg(pl.col("gaps", "idle_ns", *CAUSES).sum())
    every = places.select(by).unique().join(mine, on=by, how="left", nulls_equal=True)
    rows = every.sort(by, nulls_last=True).iter_rows(named=True)
    return [_place(row, level) for row in rows]


def _place(row: Mapping[str, Any], level: Level) -> PlaceGaps:
    return PlaceGaps(
        level=level,
        node=row["node"],
        agent_id=row["agent_id"],
        queue_id=row.get("queue_id"),
        stream_id=row.get("stream_id"),
        gaps=row["gaps"] or 0,
        idle_ns=row["idle_ns"] or 0,
        causes=_parts(row),
    )


def _parts(row: Mapping[str, Any]) -> dict[str, int]:
    return {cause: row[cause] for cause in sorted(CAUSES, key=lambda cause: -(row[cause] or 0)) if row[cause]}


def _histogram(length: pl.Series) -> tuple[Bin, ...]:
    """Steps of 1, 2 and 5 in each decade, from the shortest gap to the longest."""
    steps = pl.DataFrame(
        {"number": _EDGES.search_sorted(length, "right").cast(pl.Int64) - 1, "length": length}
    )
    table = steps.group_by("number").agg(pl.len().alias("gaps"), pl.col("length").sum().alias("total"))
    counts = {number: (gaps, total) for number, gaps, total in table.iter_rows()}
    shown = range(min(counts), max(counts) + 1) if counts else range(0)
    return tuple(Bin(_EDGES[at], _EDGES[at + 1], *counts.get(at, (0, 0))) for at in shown)


def _worst(idle: pl.DataFrame, work: pl.DataFrame, calls: pl.DataFrame) -> list[Gap]:
    length = (pl.col("start_ns") - pl.col("since_ns")).alias("length")
    longest = idle.top_k(WORST, by=[length, -pl.col("since_ns")])
    longest = longest.sort(length, -pl.col("since_ns"), descending=True)
    key = [*GPU, "since_ns"]
    ends = work.filter(pl.col("end_ns").is_in(longest["since_ns"].implode()))
    before = ends.select(*GPU, pl.col("end_ns").alias("since_ns"), pl.col("name").alias("before")).unique(key)
    named = longest.join(before, on=key, how="left", nulls_equal=True, maintain_order="left")
    return [_gap(named[index], calls) for index in range(named.height)]


def _gap(one: pl.DataFrame, calls: pl.DataFrame) -> Gap:
    (row,) = one.iter_rows(named=True)
    causes = _parts(row)
    return Gap(
        node=row["node"],
        agent_id=row["agent_id"],
        start_ns=row["since_ns"],
        end_ns=row["start_ns"],
        cause=max(CAUSES, key=lambda cause: row[cause]),
        causes=causes,
        before=row["before"],
        after=row["name"],
        calls=tuple(longest_calls(one, calls, _CALLS_PER_GAP)),
    )


def _sync_between(idle: pl.DataFrame, calls: pl.DataFrame) -> Quantity:
    known = idle.filter(pl.col("launch_end").is_not_null())
    if not known.height:
        return unavailable("", _SYNC_FORMULA, "no launch at the end of a gap was recorded")
    between = int(synchronised(known, calls).sum())
    return ratio(between, known.height, _SYNC_FORMULA, "with_sync", "gaps")


def _only_collectives(work: pl.DataFrame) -> str | None:
    """Ranks that communicate also compute: without their other kernels, idle time is not theirs."""
    kernels = work.filter(pl.col("kind") == "kernel")["name"]
    if not kernels.len() or not is_collective(kernels).all():
        return None
    return "only collectives are in the recording: what ran between them is not"


def _why_not(idle: pl.DataFrame, recorded: pl.DataFrame) -> str | None:
    unknown = idle.filter(pl.col("launch_end").is_null())
    if not unknown.height:
        return None
    if not recorded.height:
        return "no host calls were recorded"
    if not unknown["correlation_id"].count():
        return "the recording does not say which call launched what"
    return f"the calls that launched what ends {unknown.height:,} of {idle.height:,} gaps are not in the recording"


_EXPLANATIONS: dict[str, str] = {
    "host_sync": "the host waits for it and launches late",
    "host_api": "the host is inside other calls",
    "copy": "it waits for copies",
    "framework": "the framework prepares the next kernel",
    "host_busy": "the host does something else",
    "launch_latency": "launches arrive late",
    "event": "a stream waits for another",
    "collective": "compute waits for communication",
    "queue_gap": "gaps between queued kernels",
    "unrecorded": "it works on something that was not recorded",
    "nothing_recorded": "the recording cannot say why",
}
_KINDS: dict[str, Kind] = {
    "host_sync": "sync",
    "host_api": "host-bound",
    "copy": "copies",
    "framework": "host-bound",
    "host_busy": "host-bound",
    "launch_latency": "host-bound",
    "event": "host-bound",
    "collective": "communication",
    "queue_gap": "host-bound",
    "unrecorded": "unrecorded-work",
    "nothing_recorded": "cannot-tell",
}
_REMEDIES: dict[str, str] = {
    "host_sync": "Synchronise once, before the host reads a result, not after each launch (in PyTorch: no .item(), "
    ".cpu() or torch.cuda.synchronize() inside the loop).",
    "host_api": "Take other calls than launches out of the loop: allocate once or from a pool, load modules before; "
    "if launches dominate, use a HIP graph.",
    "copy": "Copy asynchronously from pinned memory on a stream of its own, ahead of the kernels that need the data.",
    "framework": "The host is too slow to feed the GPU: torch.compile, HIP graphs (torch.cuda.graph), larger batches.",
    "host_busy": "The program does something else between launches: record ranges (roctx) around its parts to see "
    "what, or let another thread do it.",
    "launch_latency": "Launch ahead of need, several kernels at a time, or capture the loop into a HIP graph.",
    "event": "A stream waits for another: check whether the dependency is needed, and start the awaited work earlier.",
    "collective": "Compute waits for communication: overlap it (bucketing, prefetching in FSDP or DDP).",
    "queue_gap": "Everything was launched: a HIP graph shortens the gaps between kernels, fusion removes them.",
    "nothing_recorded": "Record the host as well: rocprofv3 --hip-trace --kernel-trace (or --sys-trace), or "
    "torch.profiler with CPU activities.",
}


def gap_findings(document: Document) -> list[Finding]:
    """One finding for each large cause of idle time."""
    result = document.gaps
    window_ns = sum(device.window_ns for device in document.devices)
    if not window_ns or result.doubt or result.idle_ns < _IDLE_SHARE * window_ns:
        return []
    large = (row for row in result.causes if row.share >= _CAUSE_SHARE and row.cause != "unrecorded")
    return [of_one_gpu(_finding(row, result, window_ns), document) for row in large]


def _finding(row: CauseTime, result: Gaps, window_ns: int) -> Finding:
    calls = [call for call in result.calls if call.cause == row.cause][:_CALLS_PER_GAP]
    inside = ", ".join(f"{call.call} {format_ns(call.total_ns)}" for call in calls)
    evidence = [
        f"{format_ns(row.total_ns)} in {format_count(row.gaps, 'gap')}, {format_share(row.share)} of the idle time "
        f"({format_ns(result.idle_ns)} of {format_ns(window_ns)})"
    ]
    evidence += [f"inside {inside}"] if inside else []
    evidence += _inside_ranges(result) if row.cause in _HOST_CAUSES else []
    evidence += [result.not_attributed] if row.cause == "nothing_recorded" and result.not_attributed else []
    return Finding(
        id=f"gap-{row.cause.replace('_', '-')}",
        severity="info" if row.cause == "nothing_recorded" else "warning",
        title=f"The GPU is idle: {_EXPLANATIONS[row.cause]}",
        evidence=tuple(evidence),
        time_at_stake_ns=row.total_ns,
        remedy=_REMEDIES[row.cause],
        kind=_KINDS[row.cause],
    )


def _inside_ranges(result: Gaps) -> list[str]:
    """The range that explains the host's part, if the program named one."""
    return [
        f"{format_ns(row.idle_ns)} of the {format_ns(result.idle_ns)} idle are inside {row.name}"
        for row in result.ranges[:1]
    ]
