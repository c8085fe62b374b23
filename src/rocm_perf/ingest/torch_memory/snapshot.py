"""Memory snapshots of torch (`torch.cuda.memory._dump_snapshot`): the segments and blocks of the caching allocator, and
its last actions with their call stacks. The file is a pickle, of which plain values alone are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.collector import collector_off
from rocm_perf.ingest.io.plain_pickle import PickleError, is_pickle, load_plain
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.torch_memory.events import DeviceEvents, Row, allocations, reserved, segment_blocks
from rocm_perf.ingest.torch_memory.stacks import Stacks
from rocm_perf.ingest.torch_memory.types import Annotation, Block, Segment, Snapshot
from rocm_perf.model.run import Loss

NO_TIMES = "this release of torch wrote no times: the events stand a microsecond apart, in their order"
NO_HISTORY = (
    "the snapshot holds the state alone: torch.cuda.memory._record_memory_history() keeps what led to it"
)
NO_STACKS = "no call stack was recorded (torch.cuda.memory._record_memory_history(context='all'))"
_FEWEST_ROW_BYTES = 12  # of the pickle: a row is a dictionary with a number of 5 bytes and names by reference
_ROWS_FREE = 1000
_NAMES_FREE_BYTES = 64 << 20
_STATES = {"active_allocated": "allocated", "inactive": "free"}


def claims(peek: Peek) -> bool:
    """A pickle with the keys of a snapshot, or of the list of its segments."""
    head = peek.head
    return is_pickle(head) and (
        b"segments" in head or b"device_traces" in head or (b"total_size" in head and b"blocks" in head)
    )


def read(source: Source) -> Part:
    """The blocks as they were, and the allocations that led to them."""
    content = source.read()
    if content.damage:
        raise InputError(f"cannot read {source.name}", content.damage, "Copy it again from its machine.")
    with collector_off():
        try:
            return _part(_snapshot(content.data, source.name), source.name)
        except UnicodeEncodeError as error:
            raise InputError(
                f"{source.name} is not a memory snapshot of torch", f"a text in it: {error}"
            ) from error


def _part(snapshot: Snapshot, name: str) -> Part:
    stacks = Stacks()
    recorded = list(_devices(snapshot))
    if not recorded:
        raise EmptyCaptureError(
            f"{name} holds no memory", "torch had allocated nothing on a GPU when it was written"
        )
    rows = [row for device in recorded for row in allocations(device, stacks)]
    tables = {
        "allocations": _frame(rows),
        "memory_blocks": _frame([row for device in recorded for row in _blocks(device, stacks)]),
        "samples": _frame([row for device in recorded for row in _readings(device)]),
        "ranges": _frame(list(_ranges(snapshot.external_annotations))),
        "agents": _frame([_agent(device.device) for device in recorded]),
        "stacks": stacks.frame(),
    }
    return part(
        "torch memory snapshot",
        tables,
        clock="epoch" if _is_timed(snapshot) else "relative",
        losses=_losses(name, stacks),
        notices=tuple(_notices(snapshot, rows)),
    )


def _snapshot(data: bytes, name: str) -> Snapshot:
    try:
        value = load_plain(data)
        content = {"segments": value} if isinstance(value, list) else value
        _check_size(content, len(data))
        return msgspec.convert(content, Snapshot)
    except PickleError as error:
        raise InputError(f"{name} is not read", str(error)) from error
    except msgspec.ValidationError as error:
        raise InputError(f"{name} is not a memory snapshot of torch", str(error)) from error


def _check_size(content: Any, size: int) -> None:
    """Raise unless a file of that size can hold the rows: one repeated by reference costs it next to nothing."""
    if not isinstance(content, dict):
        raise PickleError("it holds no dictionary")
    segments, traces = _list(content.get("segments")), _list(content.get("device_traces"))
    blocks = [block for segment in _dicts(segments) for block in _list(segment.get("blocks"))]
    histories = [_list(block.get("history")) for block in _dicts(blocks)]
    annotations = _list(content.get("external_annotations"))
    rows = [segments, traces, blocks, annotations, *histories, *map(_list, traces)]
    if sum(map(len, rows)) > size // _FEWEST_ROW_BYTES + _ROWS_FREE:
        raise PickleError("it repeats its rows by reference more often than any program allocates")
    names = sum(len(name) for each in _dicts(annotations) if isinstance(name := each.get("name"), str))
    if names > max(_NAMES_FREE_BYTES, size):
        raise PickleError("it repeats long names by reference more often than any program has ranges")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(values: list[Any]) -> Iterator[dict[str, Any]]:
    return (value for value in values if isinstance(value, dict))


def _devices(snapshot: Snapshot) -> Iterator[DeviceEvents]:
    """The devices on which anything was allocated."""
    segments: dict[int, list[Segment]] = defaultdict(list)
    for segment in snapshot.segments:
        segments[segment.device].append(segment)
    events = dict(enumerate(snapshot.device_traces))
    for device in sorted({*segments, *(number for number, trace in events.items() if trace)}):
        trace = events.get(device, [])
        times = [
            1000 * (place if event.time_us is None else event.time_us) for place, event in enumerate(trace)
        ]
        yield DeviceEvents(device, trace, times, segments[device])


def _is_timed(snapshot: Snapshot) -> bool:
    return any(event.time_us is not None for trace in snapshot.device_traces for event in trace)


def _losses(name: str, stacks: Stacks) -> tuple[Loss, ...]:
    """The call stacks that were left out, if there are any."""
    what = "call stacks, because the texts of all take too much memory"
    return (Loss(name, what, stacks.left_out),) if stacks.left_out else ()


def _notices(snapshot: Snapshot, rows: list[Row]) -> Iterator[str]:
    if not any(snapshot.device_traces):
        yield NO_HISTORY
    elif not _is_timed(snapshot):
        yield NO_TIMES
    if not any(row["stack_id"] for row in rows):
        yield NO_STACKS
    settings = snapshot.allocator_settings.get("PYTORCH_CUDA_ALLOC_CONF")
    if isinstance(settings, str) and settings:
        yield f"the allocator was set up with {settings[:200]}"


def _blocks(recorded: DeviceEvents, stacks: Stacks) -> Iterator[Row]:
    time_ns = recorded.times_ns[-1] if recorded.times_ns else None
    for segment in recorded.segments:
        pool = segment.segment_pool_id
        for address, block in segment_blocks(segment):
            yield {
                "time_ns": time_ns,
                "agent_id": segment.device,
                "segment": segment.address % (1 << 64),
                "segment_bytes": segment.total_size,
                "address": address,
                "size_bytes": block.size,
                "requested_bytes": block.requested_size,
                "state": _state(block),
                "pool": segment.segment_type or None,
                "private_pool": None if pool == (0, 0) else f"{pool[0]}, {pool[1]}",
                "expandable": segment.is_expandable,
                "stream_id": segment.stream,
                "stack_id": stacks.number(block.stack) if block.is_allocated else None,
            }


def _state(block: Block) -> str:
    return "pending" if block.is_pending else _STATES.get(block.state, "free")


def _readings(recorded: DeviceEvents) -> Iterator[Row]:
    for time_ns, level in reserved(recorded):
        yield {
            "time_ns": time_ns,
            "agent_id": recorded.device,
            "metric": "torch_reserved_bytes",
            "value": float(level),
            "unit": "B",
        }


def _ranges(annotations: list[Annotation]) -> Iterator[Row]:
    """The record_functions of the program: each end closes the last of its name that is open. Every device that the
    program uses reports all of them, so those of one are enough."""
    device = min((annotation.device for annotation in annotations), default=0)
    opened: dict[str, list[int]] = defaultdict(list)
    for annotation in annotations:
        if annotation.time_us is None or annotation.device != device:
            continue
        if annotation.stage == "START":
            opened[annotation.name].append(annotation.time_us)
        elif opened[annotation.name]:
            start_us = opened[annotation.name].pop()
            yield {
                "name": annotation.name,
                "source": "record_function",
                "start_ns": 1000 * start_us,
                "end_ns": 1000 * annotation.time_us,
            }


def _agent(device: int) -> dict[str, Any]:
    return {"agent_id": device, "kind": "GPU", "logical_index": device}


def _frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()


ADAPTERS = (
    Adapter(
        name="torch-memory-snapshot",
        title="torch memory snapshot (torch.cuda.memory._dump_snapshot)",
        recognised_by="a pickle with the keys segments and device_traces",
        claims=claims,
        read=read,
        fills=("allocations", "memory_blocks", "samples", "ranges", "agents", "stacks"),
    ),
)
