"""What collectives of one kind send, in words; and whether they are many small ones."""

from __future__ import annotations

from rocm_perf.model.results.communication import CollectiveTotal
from rocm_perf.units import format_bytes, format_count, format_ns

_SMALL_NS = 20_000  # half of the calls are over sooner: starting them costs as much as their bytes
_MANY = 20  # of a step, on each GPU


def message_sizes(row: CollectiveTotal) -> str:
    """The size of its messages, or the range of sizes."""
    largest, smallest = format_bytes(row.message_bytes or 0), format_bytes(row.least_bytes or 0)
    return largest if row.least_bytes is None or smallest == largest else f"{smallest} to {largest}"


def many_and_small(row: CollectiveTotal, *, steps: int, gpus: int) -> str | None:
    """How many there are in a step and how soon half of them are over, if they are many small ones."""
    each = row.calls / max(steps * gpus, 1)
    if not steps or each < _MANY or row.transfer_ns is None or row.transfer_ns > _SMALL_NS:
        return None
    calls = format_count(round(each), f"{row.name} call")
    return f"{calls} a step, half of them over within {format_ns(row.transfer_ns)}: many small messages"
