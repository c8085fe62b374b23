"""Idle time of GPUs by cause, and hosts that wait for them."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.gaps import Bin, CallTime, CauseTime, Gap, Gaps, PlaceGaps, RangeTime
from rocm_perf.model.results.sync import Sync, Waiting
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    grids,
    known,
    number,
    share,
    short_names,
    spark,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

CAUSES = {
    "host_sync": "host sync",
    "host_api": "other host calls",
    "copy": "copies",
    "framework": "framework and Python",
    "host_busy": "host busy elsewhere",
    "launch_latency": "launch latency",
    "event": "event of another stream",
    "collective": "collective",
    "queue_gap": "queue gaps",
    "unrecorded": "work that was not recorded",
    "nothing_recorded": "nothing recorded",
}
_LEAST_SHARE = 0.015  # of the idle time: smaller causes are left out of the line


def _place(place: PlaceGaps) -> str:
    part = {
        "gpu": "",
        "queue": f", queue {known(place.queue_id)}",
        "stream": f", stream {known(place.stream_id)}",
    }
    return f"GPU {known(place.agent_id)}{part[place.level]}"


_CAUSE_COLUMNS: Columns[CauseTime] = (
    number("share", lambda row: share(row.share)),
    number("idle", lambda row: time(row.total_ns)),
    number("gaps", lambda row: count(row.gaps)),
    text("cause", lambda row: CAUSES[row.cause]),
)
_CALL_COLUMNS: Columns[CallTime] = (
    number("idle", lambda row: time(row.total_ns)),
    text("cause", lambda row: CAUSES[row.cause]),
    code("inside", lambda row: row.call),
)
_RANGE_COLUMNS: Columns[RangeTime] = (
    number("idle", lambda row: time(row.idle_ns)),
    number("of", lambda row: time(row.total_ns)),
    text("range", lambda row: row.name),
)
_PLACE_COLUMNS: Columns[PlaceGaps] = (
    number("idle", lambda row: time(row.idle_ns)),
    number("gaps", lambda row: count(row.gaps)),
    text("where", _place),
    text("mostly", lambda row: CAUSES[max(row.causes, key=row.causes.__getitem__)] if row.causes else "-"),
)
_WAIT_COLUMNS: Columns[Waiting] = (
    number("total", lambda row: time(row.total_ns)),
    number("GPU idle", lambda row: time(row.lost_ns)),
    number("GPU busy", lambda row: time(row.useful_ns)),
    number("calls", lambda row: count(row.calls)),
    code("name", lambda row: row.name),
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
        number("length", lambda row: time(row.duration_ns)),
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
            *grids("Ranges that hold most of it", gaps.ranges, _RANGE_COLUMNS, top),
            *grids("By queue and stream", _queues(gaps), _PLACE_COLUMNS, top),
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
