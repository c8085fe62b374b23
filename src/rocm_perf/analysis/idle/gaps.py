"""When GPUs, queues and streams stood idle between their first and their last work, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.intervals import holes, overlap_ns
from rocm_perf.analysis.basis.keys import firsts, grouped, groups, ordered, telling
from rocm_perf.analysis.basis.launched import GPU, THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.lead_in import lead_ins
from rocm_perf.analysis.basis.lead_out import PLACE, lead_outs
from rocm_perf.analysis.basis.loading import loading_spans
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers, only_lengths
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.idle.copies_alone import no_kernels
from rocm_perf.analysis.idle.first_calls import one_off_calls
from rocm_perf.analysis.idle.gap_causes import (
    CAUSES,
    Host,
    attribute,
    host_calls,
    host_windows,
    longest_calls,
    synchronised,
)
from rocm_perf.analysis.idle.gap_ranges import idle_ranges
from rocm_perf.analysis.idle.long_gaps import long_gaps
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.analysis.time.busy import node_spans
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.gaps import (
    Bin,
    CallTime,
    CauseTime,
    Gap,
    Gaps,
    Level,
    PlaceGaps,
)
from rocm_perf.model.trace import Trace

FORMULAS = {
    "gaps.idle_ns": "sum over GPUs of the time between first and last work, and to the next step, and in a step marked "
    "by torch's profiler before the first, in which no kernel and no copy ran",
    "gaps.causes": "from the start of a gap to the return of the call that launched its end: what that thread was in "
    "(host_sync, copy, host_api; outside of calls loading in ranges and operators named after it, else framework where "
    "operators are recorded, else host_busy); then "
    "launch_latency, up to the 90th percentile (at most 3 medians) of launches that found the GPU idle; then, where "
    "a wait for an event was called between the two launches, copy, collective or event while such work of the "
    "process ran elsewhere, and event if nothing ran for more than 10 latencies; else queue_gap. Of these, unrecorded: "
    "5 ms or more in which work was launched, or the host waited for the GPU, and nothing recorded ran",
    "gaps.long": "gaps of a millisecond or more, and how much of them is framework, loading and host_busy, without "
    "operators of a framework, unless it loads data there",
    "gaps.sync_between": "gaps with a synchronising call between the launches on both sides / gaps with known launches",
}

WORST = 20
CALLS_PER_GAP = 3
_PLACES: dict[Level, tuple[str, ...]] = {
    "gpu": GPU,
    "queue": (*GPU, "queue_id"),
    "stream": (*GPU, "stream_id"),
}
# Of the work that ends a gap: where and when it ran, and how it was launched.
_END = (*PLACE, "start_ns", "end_ns", "name", "correlation_id", "pid", "tid", "launch_name", "launch_start",
        "launch_end")  # fmt: skip
_STEPS = [step * 10**decade for decade in range(19) for step in (1, 2, 5)]
_EDGES = pl.Series([*_STEPS, (1 << 63) - 1], dtype=pl.Int64)  # no time is longer
_BEGINNING = "beginning of the step"  # in place of what ended last
_SYNC_FORMULA = "gaps with a synchronising call between / gaps with a recorded launch"


def gaps(trace: Trace) -> Gaps:
    """Every idle interval, its causes, and the worst of them."""
    work = launched_work(trace)
    lengths = only_lengths(trace)
    if lengths or not work.height:
        why = lengths or "the recording holds no kernels and no copies with times"
        return Gaps(
            idle_ns=0,
            gaps=0,
            causes=(),
            calls=(),
            first_uses=(),
            ranges=(),
            places=(),
            median_ns=None,
            p90_ns=None,
            p99_ns=None,
            longest_ns=None,
            histogram=(),
            worst=(),
            sync_between=unavailable("", _SYNC_FORMULA, why),
            doubt=lengths,
            unavailable=why,
        )
    calls = outermost_calls(trace)
    places = firsts(work.select(PLACE), PLACE)
    alike = _same_as(places)
    idle = gpu_gaps(trace)
    sums = {
        level: _sums(idle if level == "gpu" else _attributed(trace, level)) for level in set(alike.values())
    }
    length = idle["start_ns"] - idle["since_ns"]
    return Gaps(
        idle_ns=int(length.sum()),
        gaps=idle.height,
        causes=_causes(idle),
        calls=_calls(idle, calls),
        first_uses=_calls(idle, host_calls(one_off_calls(trace), work)),
        ranges=idle_ranges(trace, idle),
        places=tuple(place for level in _PLACES for place in _places(places, sums[alike[level]], level)),
        median_ns=length.median(),
        p90_ns=length.quantile(0.9, "nearest"),
        p99_ns=length.quantile(0.99, "nearest"),
        longest_ns=length.max(),
        histogram=_histogram(length),
        worst=tuple(_worst(idle, work, calls)),
        sync_between=_sync_between(idle, calls),
        long=long_gaps(trace, idle, calls),
        doubt=idle_doubt(trace),
        not_attributed=_why_not(idle, timed_calls(trace), whole_of(trace).has("api_calls")),
    )


@once_per_trace
def gpu_gaps(trace: Trace) -> pl.DataFrame:
    """The idle intervals of whole GPUs, [since_ns, start_ns], each with the work that ended it, its launch, and one
    column of nanoseconds for each cause."""
    return _attributed(trace, "gpu")


@once_per_trace
def judged_gaps(trace: Trace) -> pl.DataFrame:
    """Return the same with what lies at the edges: from the beginning of the judged time to the first work of each
    GPU, and from its last work to the end, which `after_ns` holds: nothing was launched there."""
    inside = gpu_gaps(trace).with_columns(after_ns=pl.lit(0, pl.Int64))
    work = launched_work(trace)
    ends = node_spans(trace).select("node", begun_ns="first_ns", over_ns="last_ns")
    first = firsts(ordered(work.select(_END), ["start_ns", "launch_start"], nulls_last=["launch_start"]), GPU)
    led = lead_ins(trace).select(*GPU, led_ns="since_ns")  # what follows that is among the gaps already
    late = (
        first.join(ends, on="node")
        .join(led, on=GPU, how="left", nulls_equal=True)
        .with_columns(start_ns=pl.coalesce("led_ns", "start_ns"))
        .filter(pl.col("start_ns") > pl.col("begun_ns"))
    )
    blank = pl.lit(None, pl.Int64)
    before = causes_of(
        trace, late.select(_END, since_ns="begun_ns", before_launch_start=blank.cast(pl.Int64))
    ).with_columns(after_ns=pl.lit(0, pl.Int64))
    last = grouped(pl.concat([work.select(_END), lead_outs(trace).select(_END)]), GPU, pl.col("end_ns").max())
    after = (
        last.join(ends, on="node")
        .filter(pl.col("over_ns") > pl.col("end_ns"))
        .select(*GPU, since_ns="end_ns", start_ns="over_ns", after_ns=pl.col("over_ns") - pl.col("end_ns"))
        .with_columns(pl.lit(0, pl.Int64).alias(cause) for cause in CAUSES)
    )
    return pl.concat([inside, before, after], how="diagonal")


def _attributed(trace: Trace, level: Level) -> pl.DataFrame:
    return causes_of(trace, _idle(trace, level))


def causes_of(trace: Trace, idle: pl.DataFrame) -> pl.DataFrame:
    """Return the idle intervals with one column of nanoseconds for each cause."""
    host = Host(outermost_calls(trace), _processes_with_operators(trace), loading_spans(trace))
    return attribute(idle, host, launched_work(trace), unrecorded_waits(trace))


@once_per_trace
def outermost_calls(trace: Trace) -> pl.DataFrame:
    """Return the outermost calls of each thread, disjoint, each with the cause that it is."""
    return host_calls(timed_calls(trace), launched_work(trace))


@once_per_trace
def idle_doubt(trace: Trace) -> str | None:
    """Return why the time between kernels is not the program's idle time, if it is not."""
    return idle_is_the_profilers(trace) or _only_collectives(launched_work(trace)) or no_kernels(trace)


def _same_as(places: pl.DataFrame) -> dict[Level, Level]:
    """For each level the first one that divides the work alike: one queue with one stream has the same gaps."""

    def parts(*levels: Level) -> int:
        return places.select(sorted({key for level in levels for key in _PLACES[level]})).n_unique()

    return {
        level: next(other for other in _PLACES if parts(other) == parts(level) == parts(other, level))
        for level in _PLACES
    }


def _idle(trace: Trace, level: Level) -> pl.DataFrame:
    """Between works, up to the step that follows, and in a marked step before the first one."""
    work = launched_work(trace).select(_END)
    followed = pl.concat([work, lead_outs(trace).select(_END)])
    between = holes(followed, _PLACES[level], then=["launch_start"], before=["launch_start"])
    led = lead_ins(trace)
    if not led.height:
        return between
    first = firsts(ordered(work, ["start_ns", "launch_start"], nulls_last=["launch_start"]), _PLACES[level])
    before = first.join(led, on=GPU, nulls_equal=True).with_columns(
        before_launch_start=pl.lit(None, between.schema["before_launch_start"])
    )
    return pl.concat([before.select(between.columns), between])


def _processes_with_operators(trace: Trace) -> pl.DataFrame:
    number = timed_pass(trace)
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
    for windows in groups(host_windows(times), GPU):
        threads = firsts(windows.select(THREAD), THREAD)
        several = telling(THREAD, calls, threads)
        mine = calls.join(threads, on=several, how="semi", nulls_equal=True) if several else calls
        parts.append(mine.select("cause", "name", overlap_ns(mine, windows, THREAD)))
    if not parts:
        return ()
    totals = pl.concat(parts).group_by("cause", "name").agg(pl.col("overlap_ns").sum())
    inside = totals.filter(pl.col("overlap_ns") > 0).sort("overlap_ns", "name", descending=[True, False])
    return tuple(CallTime(*row) for row in inside.iter_rows())


def _sums(idle: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("start_ns") - pl.col("since_ns")
    return grouped(idle, PLACE, pl.len().alias("gaps"), length.sum().alias("idle_ns"), pl.col(CAUSES).sum())


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
    least = idle.select(length).to_series().top_k(WORST).min() or 0
    longest = idle.filter(length >= least).top_k(WORST, by=[length, -pl.col("since_ns")])
    longest = longest.sort(length, -pl.col("since_ns"), descending=True)
    key = [*GPU, "since_ns"]
    ends = work.filter(pl.col("end_ns").is_in(longest["since_ns"].implode()))
    before = ends.select(*GPU, pl.col("end_ns").alias("since_ns"), pl.col("name").alias("before")).unique(key)
    named = longest.join(before, on=key, how="left", nulls_equal=True, maintain_order="left").with_columns(
        pl.col("before").cast(pl.String).fill_null(_BEGINNING)
    )
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
        calls=tuple(longest_calls(one, calls, CALLS_PER_GAP)),
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


def _why_not(idle: pl.DataFrame, recorded: pl.DataFrame, elsewhere: bool) -> str | None:
    """Return why the calls that ended gaps are unknown. `elsewhere`: the whole recording has calls, also where this
    part of it has none: a host that launches far ahead ends before the GPU begins."""
    unknown = idle.filter(pl.col("launch_end").is_null())
    if not unknown.height:
        return None
    if not recorded.height and not elsewhere:
        return "no host calls were recorded"
    if not unknown["correlation_id"].count():
        return "the recording does not say which call launched what"
    return f"the calls that launched what ends {unknown.height:,} of {idle.height:,} gaps are not in the recording"
