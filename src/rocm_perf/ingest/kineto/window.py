"""Which events of a torch trace are kept when a window of it is read: those that start in it, and few others that tell
something of the trace as a whole. What is left of these goes when the tables are cut."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf.ingest.kineto.types import Event
from rocm_perf.model.time_window import Span
from rocm_perf.units import NS_PER_US

_MARGIN_US = 1.0  # the tables are cut exactly; a time as a float is less exact the longer it is
_UNCUT = ("flow_s",)  # the cause of an effect in the window may lie anywhere before it
_LARGEST_WORKGROUP = 1024


class EventWindow:
    """Takes the events of a trace, piece by piece in the order of the file, and says which are kept."""

    def __init__(self, span: Span, base_ns: int) -> None:
        first, last = span
        self._first_us = float("-inf") if first is None else (first - base_ns) / NS_PER_US - _MARGIN_US
        self._last_us = float("inf") if last is None else (last - base_ns) / NS_PER_US + _MARGIN_US
        self._seen: set[object] = set()
        self._kernels = 0
        self.kernel_numbers: list[int] = []  # of those that are kept, by their place among all

    def kept(self, group: str, events: list[Event]) -> list[Event]:
        """The events of a group that are kept."""
        if group in _UNCUT:
            return events
        chosen = [
            (place, event)
            for place, event in enumerate(events, start=1)
            if self._is_inside(event) or any(self._is_first(fact) for fact in _facts(group, event))
        ]
        if group == "kernel":
            self.kernel_numbers += [self._kernels + place for place, _ in chosen]
            self._kernels += len(events)
        return [event for _, event in chosen]

    def _is_inside(self, event: Event) -> bool:
        return event.ts is not None and self._first_us <= float(event.ts) < self._last_us

    def _is_first(self, fact: object) -> bool:
        """Whether nothing has told this before."""
        if fact in self._seen:
            return False
        self._seen.add(fact)
        return True


def _facts(group: str, event: Event) -> Iterable[object]:
    """What an event tells of the trace as a whole: its GPUs and processes, how launches were made, and whether the
    sizes of kernels are swapped (see trace.py)."""
    if group == "kernel":
        x, y, z = event.args.block or (0, 0, 0)
        return ("GPU", event.args.device, event.pid), ("large", x * y * z > _LARGEST_WORKGROUP)
    if group == "runtime":
        launches = "GraphLaunch" in event.name or "ModuleLaunchKernel" in event.name
        return ("process", event.pid), *([("launch", event.args.correlation)] if launches else [])
    if group == "launch_lds":
        return (("LDS", event.args.correlation),)
    return ()
