"""The recording that a part was cut from: what launched the first work of a part may lie before it."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from rocm_perf.model.trace import Trace


class _Cut(NamedTuple):
    whole: Trace
    since_ns: int | None
    until_ns: int | None


_CUTS: WeakKeyDictionary[Trace, _Cut] = WeakKeyDictionary()


def part_of(whole: Trace, part: Trace, since_ns: int | None, until_ns: int | None = None) -> Trace:
    """The part, of which it is noted what it was cut from, when it begins, and when what follows it does; None for
    where the whole begins, and for an end that is none of its own."""
    _CUTS[part] = _Cut(whole_of(whole), since_ns, until_ns)
    return part


def whole_of(trace: Trace) -> Trace:
    """The recording that a trace was cut from; itself where it is none's part."""
    return _CUTS[trace].whole if trace in _CUTS else trace


def cut_at_ns(trace: Trace) -> int | None:
    """When a part begins; None for a whole recording, and for a part that begins where the whole does."""
    return _CUTS[trace].since_ns if trace in _CUTS else None


def cut_until_ns(trace: Trace) -> int | None:
    """When what follows a part begins; None where it ends with its last work."""
    return _CUTS[trace].until_ns if trace in _CUTS else None
