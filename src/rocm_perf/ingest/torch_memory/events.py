"""What the allocator did, as allocations and releases whose sum is what it had given out at every moment.

A snapshot holds the last events alone. What was allocated before them is known from the blocks that still exist and
from the releases that follow: such memory appears as allocated at the first event, and says that it is `earlier`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rocm_perf.ingest.torch_memory.blocks import Blocks, rounded
from rocm_perf.ingest.torch_memory.stacks import Stacks
from rocm_perf.ingest.torch_memory.types import Block, Event, Segment

LEVEL = "SNAPSHOT"
_ALLOCATE, _OUT_OF_MEMORY = "alloc", "oom"
_FREE = ("free_requested", "free_completed")  # the first is when the program gave it back
_SEGMENT, _SEGMENT_BACK = "segment_alloc", "segment_free"
_RESERVE = {_SEGMENT: 1, "segment_map": 1, _SEGMENT_BACK: -1, "segment_unmap": -1}
_ADDRESSES = 1 << 64

Row = dict[str, Any]


class DeviceEvents(msgspec.Struct, frozen=True):
    """The events of one device, with when each happened, and its segments."""

    device: int
    events: Sequence[Event]
    times_ns: Sequence[int]
    segments: Sequence[Segment]


class _Given(msgspec.Struct):
    """The memory given out so far, by address."""

    rows: list[Row] = msgspec.field(default_factory=list)
    earlier: list[Row] = msgspec.field(default_factory=list)
    live: dict[int, Row] = msgspec.field(default_factory=dict)
    blocks: Blocks = msgspec.field(default_factory=Blocks)


def allocations(recorded: DeviceEvents, stacks: Stacks) -> list[Row]:
    """Every allocation and release, those before the first event included."""
    given = _Given()
    start_ns = recorded.times_ns[0] if recorded.times_ns else 0
    release, completion = _releases_of(recorded.events)
    for event, time_ns in zip(recorded.events, recorded.times_ns, strict=True):
        if event.action == _OUT_OF_MEMORY:
            given.rows.append(_row("OOM", event, recorded.device, time_ns, stacks))
        if event.addr is None:
            continue
        address = event.addr % _ADDRESSES
        if event.action == _ALLOCATE:
            _allocate(given, _row("ALLOC", event, recorded.device, time_ns, stacks))
        elif event.action == release:
            _free(given, _row("FREE", event, recorded.device, time_ns, stacks), start_ns)
        elif event.action == _SEGMENT:
            given.blocks.reserve(address, event.size)
        elif event.action == _SEGMENT_BACK:
            given.blocks.release(address)
        if event.action == completion:
            given.blocks.give(address)
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


def segment_blocks(segment: Segment) -> Iterator[tuple[int, Block]]:
    """The blocks of a segment with their addresses, which older snapshots leave to be added up."""
    address = segment.address
    for block in segment.blocks:
        yield (block.address if block.address is not None else address) % _ADDRESSES, block
        address += block.size


def _releases_of(events: Sequence[Event]) -> tuple[str, str]:
    """The actions with which the program gives memory back and the allocator can use it again: either may have been
    left out of the recording."""
    actions = {event.action for event in events}
    seen = [action for action in _FREE if action in actions] or [_FREE[0]]
    return seen[0], seen[-1]


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
    row["size_bytes"] = given.blocks.take(row["address"], row["requested_bytes"])
    given.live[row["address"]] = row
    given.rows.append(row)


def _free(given: _Given, row: Row, start_ns: int) -> None:
    made = given.live.pop(row["address"], None)
    if made is None:
        _add_earlier(given, {**row, "stack_id": None}, start_ns)
    else:
        row["size_bytes"] = made["size_bytes"]
    given.rows.append(row)


def _settle(given: _Given, segment: Segment, device: int, start_ns: int, stacks: Stacks) -> None:
    """Give the allocations that are live in the end the size of their blocks, and add those without an event."""
    for address, block in segment_blocks(segment):
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
