"""What the allocator did, as allocations and releases whose sum is what it had given out at every moment.

A snapshot holds the last events alone. What was allocated before them is known from the blocks that still exist and
from the releases that follow: such memory appears as allocated at the first event, and says that it is `earlier`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocm_perf.ingest.torch_memory.stacks import Stacks
from rocm_perf.ingest.torch_memory.types import Block, Event, Segment

LEVEL = "SNAPSHOT"
_ALLOCATE, _OUT_OF_MEMORY = "alloc", "oom"
_FREE = ("free_requested", "free_completed")  # the first is when the program gave it back
_RESERVE = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_GRANULE = 512  # kMinBlockSize of CUDACachingAllocator: sizes are rounded up to it
_ADDRESSES = 1 << 64

Row = dict[str, Any]


@dataclass(frozen=True)
class DeviceEvents:
    """The events of one device, with when each happened, and its segments."""

    device: int
    events: Sequence[Event]
    times_ns: Sequence[int]
    segments: Sequence[Segment]


@dataclass
class _Given:
    """The memory given out so far, by address."""

    rows: list[Row] = field(default_factory=list)
    earlier: list[Row] = field(default_factory=list)
    live: dict[int, Row] = field(default_factory=dict)


def allocations(recorded: DeviceEvents, stacks: Stacks) -> list[Row]:
    """Every allocation and release, those before the first event included."""
    given = _Given()
    start_ns = recorded.times_ns[0] if recorded.times_ns else 0
    release = _release_of(recorded.events)
    for event, time_ns in zip(recorded.events, recorded.times_ns, strict=True):
        if event.action == _ALLOCATE and event.addr is not None:
            _allocate(given, _row("ALLOC", event, recorded.device, time_ns, stacks))
        elif event.action == release and event.addr is not None:
            _free(given, _row("FREE", event, recorded.device, time_ns, stacks), start_ns)
        elif event.action == _OUT_OF_MEMORY:
            given.rows.append(_row("OOM", event, recorded.device, time_ns, stacks))
    for segment in recorded.segments:
        _settle(given, segment, recorded.device, start_ns, stacks)
    return given.earlier + given.rows


def reserved(recorded: DeviceEvents) -> Iterator[tuple[int, int]]:
    """The bytes reserved from the device after each event that changed them, counted back from the last."""
    level = sum(segment.total_size for segment in recorded.segments)
    last_ns = recorded.times_ns[-1] if recorded.times_ns else 0
    levels = [(last_ns, level)]
    for event, time_ns in zip(reversed(recorded.events), reversed(recorded.times_ns), strict=True):
        sign = _RESERVE.get(event.action)
        if sign is not None:
            levels.append((time_ns, level))
            level -= sign * event.size
    if recorded.times_ns:
        levels.append((recorded.times_ns[0], level))
    yield from reversed([(time_ns, amount) for time_ns, amount in levels if amount >= 0])


def blocks(segment: Segment) -> Iterator[tuple[int, Block]]:
    """The blocks of a segment with their addresses, which older snapshots leave to be added up."""
    address = segment.address
    for block in segment.blocks:
        yield (block.address if block.address is not None else address) % _ADDRESSES, block
        address += block.size


def rounded(size: int) -> int:
    """The bytes that the allocator gives for a request."""
    return max(-(-size // _GRANULE) * _GRANULE, _GRANULE)


def _release_of(events: Sequence[Event]) -> str:
    """The action that gives memory back: either may have been left out of the recording."""
    actions = {event.action for event in events}
    return next((action for action in _FREE if action in actions), _FREE[0])


def _row(operation: str, event: Event, device: int, time_ns: int, stacks: Stacks) -> Row:
    return {
        "operation": operation,
        "level": LEVEL,
        "address": None if event.addr is None else event.addr % _ADDRESSES,
        "size_bytes": event.size if operation == "OOM" else rounded(event.size),
        "requested_bytes": event.size,
        "start_ns": time_ns,
        "end_ns": time_ns,
        "agent_id": device,
        "stream_id": event.stream,
        "stack_id": stacks.number(event.frames),
        "earlier": False,
    }


def _allocate(given: _Given, row: Row) -> None:
    given.live[row["address"]] = row
    given.rows.append(row)


def _free(given: _Given, row: Row, start_ns: int) -> None:
    if given.live.pop(row["address"], None) is None:
        _add_earlier(given, {**row, "stack_id": None}, start_ns)
    given.rows.append(row)


def _settle(given: _Given, segment: Segment, device: int, start_ns: int, stacks: Stacks) -> None:
    """Give the allocations that are live in the end the size of their blocks, and add those without an event."""
    for address, block in blocks(segment):
        if not block.is_allocated:
            continue
        row = given.live.get(address)
        if row is not None:
            row["size_bytes"] = block.size
            row["stack_id"] = row["stack_id"] or stacks.number(block.stack)
            continue
        requested = block.requested_size if block.requested_size is not None else block.size
        event = Event(_ALLOCATE, size=requested, addr=address, stream=segment.stream, frames=block.stack)
        made = _row("ALLOC", event, device, start_ns, stacks)
        _add_earlier(given, {**made, "size_bytes": block.size}, start_ns)


def _add_earlier(given: _Given, row: Row, start_ns: int) -> None:
    given.earlier.append(
        {**row, "operation": "ALLOC", "earlier": True, "start_ns": start_ns, "end_ns": start_ns}
    )
