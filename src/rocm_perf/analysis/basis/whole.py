"""The recording that a part was cut from: what launched the first work of a part may lie before it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from rocm_perf.model.trace import Trace

_WHOLES: WeakKeyDictionary[Trace, Trace] = WeakKeyDictionary()


def part_of(whole: Trace, part: Trace) -> Trace:
    """The part, of which it is noted what it was cut from."""
    _WHOLES[part] = whole_of(whole)
    return part


def whole_of(trace: Trace) -> Trace:
    """The recording that a trace was cut from; itself where it is none's part."""
    return _WHOLES.get(trace, trace)
