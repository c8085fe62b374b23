"""The chain of binding causes: from any instant of a run back to its start, without gaps or overlaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from rocm_perf.sim.timeline import START_NS, Activity, Call, HostThread, HostWork, Item, Run


@dataclass(frozen=True)
class Link:
    """A span of time that one thing accounts for.

    `kind`: kernel, copy, collective, queue_gap (between items of a stream), launch_latency, api (a host call),
    sync_return (from the end of the work to the return of the call that waited for it), cpu, range.
    """

    kind: str
    name: str
    start: int
    end: int
    node: Item | Call | HostWork | None
    rank: int
    via_event: bool = False  # the chain reached it through a wait for an event

    @property
    def duration_ns(self) -> int:
        return self.end - self.start


_Before = Callable[[], "_Place"]
_Place = tuple[Link | None, _Before | None]


def chain_to_end(run: Run) -> Iterator[Link]:
    """The chain from the end of the run back to its start."""
    for item in run.items:
        if item.end == run.end_ns and item.kind != "marker":
            return _walk(partial(_item_end, item, False))
    # Otherwise a thread ends last: with a call, with host work, or with a range.
    ends = {thread.number: thread.last.end for thread in run.threads if thread.last}
    ends |= {entry.thread.number: max(entry.end, ends.get(entry.thread.number, 0)) for entry in run.ranges}
    last = max(run.threads, key=lambda thread: ends.get(thread.number, START_NS))
    return _walk(partial(_host, last, last.last, run.end_ns))


def chain_to_start(item: Item) -> Iterator[Link]:
    """The chain from the start of an item back to the start of the run."""
    return _walk(partial(_item_start, item, False))


def _link(kind: str, node: Item | Call | HostWork, start: int, end: int, *, via_event: bool = False) -> Link:
    rank = node.stream.device.rank if isinstance(node, Item) else node.thread.rank
    return Link(kind=kind, name=node.name, start=start, end=end, node=node, rank=rank, via_event=via_event)


def _walk(before: _Before | None) -> Iterator[Link]:
    while before is not None:
        link, before = before()
        if link is not None and link.end > link.start:
            yield link


def _item_end(item: Item, via_event: bool) -> _Place:
    if item.kind == "marker":
        return None, partial(_item_start, item, via_event)
    first = item.last_member or item  # a collective moves its bytes once the last rank has started
    link = _link(item.kind, item, first.start, item.end, via_event=via_event)
    return link, partial(_item_start, first, False)


def _item_start(item: Item, via_event: bool) -> _Place:
    cause, call = item.cause_item, item.call
    if item.cause == "launch" or cause is None:
        link = _link("launch_latency", item, call.issued, item.start, via_event=via_event)
        return link, partial(_issue, call)
    link = _link("queue_gap", item, cause.end, item.start, via_event=via_event)
    return link, partial(_item_end, cause, via_event or item.cause == "event")


def _issue(call: Call) -> _Place:
    link = _link("api", call, call.start, call.issued)
    return link, partial(_host, call.thread, call.previous, call.start)


def _host(thread: HostThread, activity: Activity | None, until: int) -> _Place:
    """The host before `until`: the time since its last activity was spent pushing and popping ranges."""
    end = activity.end if activity else START_NS
    after = partial(_activity, activity) if activity else None
    link = Link(kind="range", name="range", start=end, end=until, node=None, rank=thread.rank)
    return link, after


def _activity(activity: Activity) -> _Place:
    if isinstance(activity, HostWork):
        link = _link("cpu", activity, activity.start, activity.end)
        return link, partial(_host, activity.thread, activity.previous, activity.start)
    released = activity.released_by
    if released is None or activity.end == activity.issued:
        return _issue(activity)
    link = _link("sync_return", activity, released.end, activity.end)
    return link, partial(_item_end, released, False)
