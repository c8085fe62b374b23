"""The chain of binding causes: from any instant of a run back to its start, without a hole and without an overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from rocm_perf.sim.timeline import START_NS, Activity, Call, HostThread, HostWork, Item, Run


@dataclass(frozen=True)
class Link:
    """A stretch of time that one thing accounts for.

    `kind`: kernel, copy, collective, queue_gap (between items of a stream), launch_latency, api (a host call),
    sync_return (from the end of the work to the return of the call that waited for it), cpu, range.
    """

    kind: str
    name: str
    start: int
    end: int
    node: Item | Call | HostWork | None
    rank: int
    via_event: bool = False  # the chain came to it through a wait for an event

    @property
    def duration_ns(self) -> int:
        return self.end - self.start


_Before = Callable[[], "_Place"]
_Place = tuple[Link | None, _Before | None]


def chain_to_end(run: Run) -> Iterator[Link]:
    """From the end of the run to its start."""
    for item in run.items:
        if item.end == run.end_ns and item.kind != "marker":
            return _walk(partial(_item_end, item, False))
    # Otherwise a thread ends last: with a call, with work of its own, or with a range.
    ends = {thread.number: thread.last.end for thread in run.threads if thread.last}
    ends |= {entry.thread.number: max(entry.end, ends.get(entry.thread.number, 0)) for entry in run.ranges}
    last = max(run.threads, key=lambda thread: ends.get(thread.number, START_NS))
    return _walk(partial(_host, last, last.last, run.end_ns))


def chain_to_start(item: Item) -> Iterator[Link]:
    """What the start of an item waited for, back to the start of the run."""
    return _walk(partial(_item_start, item, False))


def _walk(before: _Before | None) -> Iterator[Link]:
    while before is not None:
        link, before = before()
        if link is not None and link.end > link.start:
            yield link


def _item_end(item: Item, via_event: bool) -> _Place:
    rank = item.stream.device.rank
    if item.kind == "marker":
        return None, partial(_item_start, item, via_event)
    first = item.last_member or item  # a collective moves its bytes from the last start on
    link = Link(item.kind, item.name, first.start, item.end, item, rank, via_event)
    return link, partial(_item_start, first, False)


def _item_start(item: Item, via_event: bool) -> _Place:
    cause, call, rank = item.cause_item, item.call, item.stream.device.rank
    if item.cause == "launch" or cause is None:
        link = Link("launch_latency", item.name, call.issued, item.start, item, rank, via_event)
        return link, partial(_issue, call)
    link = Link("queue_gap", item.name, cause.end, item.start, item, rank, via_event)
    return link, partial(_item_end, cause, via_event or item.cause == "event")


def _issue(call: Call) -> _Place:
    link = Link("api", call.name, call.start, call.issued, call, call.thread.rank)
    return link, partial(_host, call.thread, call.previous, call.start)


def _host(thread: HostThread, activity: Activity | None, until: int) -> _Place:
    """The host before `until`; the time between two activities went into pushing and popping ranges."""
    end = activity.end if activity else START_NS
    after = partial(_activity, activity) if activity else None
    return Link("range", "range", end, until, None, thread.rank), after


def _activity(activity: Activity) -> _Place:
    if isinstance(activity, HostWork):
        link = Link("cpu", activity.name, activity.start, activity.end, activity, activity.thread.rank)
        return link, partial(_host, activity.thread, activity.previous, activity.start)
    released = activity.released_by
    if released is None or activity.end == activity.issued:
        return _issue(activity)
    link = Link("sync_return", activity.name, released.end, activity.end, activity, activity.thread.rank)
    return link, partial(_item_end, released, False)
