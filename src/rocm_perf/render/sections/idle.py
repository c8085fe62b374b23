"""Idle time of GPUs by cause, and hosts that wait for them."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.gaps import CAUSE_NAMES as CAUSES
from rocm_perf.model.results.gaps import Bin, CallTime, CauseTime, Gap, Gaps, PlaceGaps, RangeTime
from rocm_perf.model.results.sync import Sync, Waiting
from rocm_perf.model.results.times import gpu_numbers
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    explained,
    grids,
    known,
    share,
    short_names,
    span,
    spark,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_LEAST_SHARE = 0.015  # of the idle time: smaller causes are left out of the line


def _place(place: PlaceGaps, gpu: str) -> str:
    part = {
        "gpu": "",
        "queue": f", queue {known(place.queue_id)}",
        "stream": f", stream {known(place.stream_id)}",
    }
    return f"{gpu}{part[place.level]}"


_CAUSE_COLUMNS: Columns[CauseTime] = (
    explained("share", share, lambda row: row.share, "total_ns of the cause / gaps.idle_ns"),
    explained("idle", time, lambda row: row.total_ns, "gaps.causes"),
    explained("gaps", count, lambda row: row.gaps, "gaps that the cause contributes to"),
    text("cause", lambda row: CAUSES[row.cause]),
)
_CALL_COLUMNS: Columns[CallTime] = (
    explained("idle", time, lambda row: row.total_ns, "gaps.causes"),
    text("cause", lambda row: CAUSES[row.cause]),
    code("inside", lambda row: row.call),
)
_RANGE_COLUMNS: Columns[RangeTime] = (
    explained("idle", time, lambda row: row.idle_ns, "idle time before launches that lies inside it"),
    explained("of", time, lambda row: row.total_ns, "sum of (end_ns - start_ns) over its calls"),
    text("range or function", lambda row: row.name + " (in other threads)" * row.in_other_threads),
)
_PLACE_TIMES: Columns[PlaceGaps] = (
    explained(
        "idle",
        time,
        lambda row: row.idle_ns,
        "time between the first and the last work of the place in which nothing of it ran",
    ),
    explained("gaps", count, lambda row: row.gaps, "such intervals of the place"),
)
_WAIT_COLUMNS: Columns[Waiting] = (
    explained("total", time, lambda row: row.total_ns, "sync.total_ns"),
    explained("GPU idle", time, lambda row: row.lost_ns, "sync.lost_ns"),
    explained("GPU busy", time, lambda row: row.useful_ns, "sync.useful_ns"),
    explained("calls", count, lambda row: row.calls, "calls of this name"),
    code("name", lambda row: row.name),
)


def _place_columns(document: Document) -> Columns[PlaceGaps]:
    gpu = gpu_numbers(document.devices)

    def where(row: PlaceGaps) -> str:
        return _place(row, gpu(row.node, row.agent_id))

    return (
        *_PLACE_TIMES,
        text("where", where),
        text(
            "mostly", lambda row: CAUSES[max(row.causes, key=row.causes.__getitem__)] if row.causes else "-"
        ),
    )


def idle_line(gaps: Gaps) -> str:
    """Idle time by cause, in one line."""
    causes = [row for row in gaps.causes if row.share >= _LEAST_SHARE] or gaps.causes[:1]
    return ", ".join(f"{CAUSES[row.cause]} {row.share:.0%}".replace("%", " %") for row in causes)


def gaps_section(document: Document, top: int) -> Section:
    """When and why the GPU was idle."""
    gaps = document.gaps
    if gaps.unavailable or not gaps.gaps:
        reason = gaps.unavailable or "the GPU was never idle between its first and last work"
        return Section("Idle time of the GPU", unavailable=reason)
    name = short_names(document)
    columns: Columns[Gap] = (
        explained("length", time, lambda row: span(row.start_ns, row.end_ns)),
        text("mostly", lambda row: CAUSES[row.cause]),
        code("before", lambda row: name(row.before)),
        code("after", lambda row: name(row.after)),
    )
    return Section(
        "Idle time of the GPU",
        lines=tuple(_gap_lines(gaps)),
        grids=(
            *grids("By cause", gaps.causes, _CAUSE_COLUMNS),
            *grids("Calls that the launching thread was in", gaps.calls, _CALL_COLUMNS, top),
            *grids("Parts of the program that hold most of it", gaps.ranges, _RANGE_COLUMNS, top),
            *grids("By queue and stream", _queues(gaps), _place_columns(document), top),
            *grids("Longest gaps", gaps.worst, columns, top),
        ),
        notes=tuple(note for note in (gaps.doubt, gaps.not_attributed) if note),
    )


def _gap_lines(gaps: Gaps) -> list[str]:
    lines = [
        f"{format_ns(gaps.idle_ns)} in {format_count(gaps.gaps, 'gap')}; median {time(gaps.median_ns)}, "
        f"90 % below {time(gaps.p90_ns)}, 99 % below {time(gaps.p99_ns)}, longest {time(gaps.longest_ns)}."
    ]
    if gaps.histogram:
        lines.append(_histogram(gaps.histogram))
    if gaps.sync_between.value:
        lines.append(f"The host synchronised during {share(gaps.sync_between)} of them.")
    return lines


def _histogram(bins: tuple[Bin, ...]) -> str:
    ends = f"{format_ns(bins[0].from_ns)} to {format_ns(bins[-1].to_ns)}"
    by_time, by_count = [row.total_ns for row in bins], [row.gaps for row in bins]
    return f"Lengths from {ends}: {spark(by_count)} by number, {spark(by_time)} by time."


def _queues(gaps: Gaps) -> list[PlaceGaps]:
    """GPUs, queues and streams, each kind only where there is more than one."""
    listed = []
    for level in ("gpu", "queue", "stream"):
        places = [place for place in gaps.places if place.level == level]
        listed += places if len(places) > 1 else []
    return listed


def sync_section(document: Document, top: int) -> Section:
    """How long the host waited for the GPU, and in which calls."""
    sync = document.sync
    if sync.unavailable or not (sync.total.calls or sync.blocking_copies.calls):
        return Section("Synchronisation", unavailable=sync.unavailable or "no call waited for the GPU")
    return Section(
        "Synchronisation",
        lines=tuple(_sync_lines(sync)),
        grids=(
            *grids("By scope", sync.scopes, _WAIT_COLUMNS),
            *grids("By function", sync.functions, _WAIT_COLUMNS, top),
            *grids("By operator that called them", sync.operators, _WAIT_COLUMNS, top),
            *(grids("By thread", sync.threads, _WAIT_COLUMNS, top) if len(sync.threads) > 1 else ()),
        ),
        notes=(f"GPU busy means: {sync.busy_is}",) if sync.busy_is else (),
    )


def _sync_lines(sync: Sync) -> list[str]:
    total, copies = sync.total, sync.blocking_copies
    lines = [
        f"{format_count(total.calls, 'synchronising call')} took {format_ns(total.total_ns)} "
        f"({share(sync.share)} of the wall): the GPU worked for {format_ns(total.useful_ns)} of that "
        f"and was idle for {format_ns(total.lost_ns)}."
    ]
    if copies.calls:
        blocking = format_count(copies.calls, "blocking copy", "blocking copies")
        lines.append(f"{blocking} took another {format_ns(copies.total_ns)}.")
    return lines
