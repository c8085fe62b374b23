"""When memory is what to look at: it ran out, nearly did, grows with every step, lies in pieces, or is all that was
recorded."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.memory.growth import BY_STEP
from rocm_perf.analysis.memory.owners import BEFORE, NOT_KNOWN
from rocm_perf.analysis.memory.sites import NO_SITE
from rocm_perf.analysis.remedies.setting import Setting, setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.memory import (
    Capacity,
    Fragmentation,
    GrowingSite,
    Memory,
    MemoryPeak,
    OutOfMemory,
    OwnerBytes,
)
from rocm_perf.model.results.times import gpu_numbers
from rocm_perf.units import format_bytes, format_count, format_share

_NEAR = 0.9  # of the capacity
_TORN = 0.2  # of what is reserved
_TORN_BYTES = 64 << 20
# Growth that would fill the memory only after this many steps is bookkeeping.
_MANY_STEPS = 100_000
_LEAST_GROWTH = 1 << 20  # per step, where the capacity is not known
_MUCH = (
    0.05  # of the peak: what grows less, over a recording without steps, is no leak that anybody looks for
)
_SHOWN = 3
_CAUSES = {  # remedies of owners; those of the others are general
    "parameters": "memory-parameters",
    "gradients": "memory-gradients",
    "optimiser state": "memory-optimizer",
    "activations": "memory-activations",
    "backward pass": "memory-activations",
    NOT_KNOWN: "memory-unknown",
    BEFORE: "memory-unknown",
}


def memory_findings(document: Document) -> list[Finding]:
    """What to do about memory, the most urgent first."""
    memory, gpu, setting = document.memory, gpu_numbers(document.devices), setting_of(document)
    full = [row for row in memory.capacity if (row.used.value or 0) >= _NEAR]
    return [
        *_failures(memory, setting),
        *_growth(memory, setting),
        *(_held(memory, setting) if _is_of_memory_alone(document) else ()),
        *(_nearly_full(row, gpu(row.node, row.agent_id), setting) for row in full),
        *(_in_pieces(row, setting) for row in memory.fragmentation if _is_torn(row)),
    ]


def _is_of_memory_alone(document: Document) -> bool:
    """Return whether nothing but memory was recorded, as in a snapshot: then it is what the recording is about."""
    return not (document.devices or document.hotspots.rows or document.launches.functions)


def _held(memory: Memory, setting: Setting) -> Iterator[Finding]:
    """Yield who holds the memory of the fullest GPU, with the places of the largest owner, and what to do about it."""
    if not memory.peaks:
        return
    peak = memory.peaks[0]
    owners = sorted(peak.owners, key=lambda row: -row.bytes)
    largest, cached = owners[0], _unused(peak, memory)
    listed = ", ".join(f"{row.owner} {format_bytes(row.bytes)}" for row in owners[:_SHOWN])
    beside = f"; {format_bytes(cached)} more are cached and unused" if cached > largest.bytes else ""
    cause = "memory-cached" if beside else _CAUSES.get(largest.owner, "memory-limit")
    yield Finding(
        id="memory-peak",
        severity="info",
        kind="memory",
        title=f"At its peak the program holds {format_bytes(peak.bytes)}: {listed}{beside}",
        evidence=(
            *_places(peak, largest),
            *([f"{largest.owner}: {largest.known_by}"] if largest.known_by else []),
            *_reserved(peak, memory),
            "only memory was recorded: nothing can be told about time",
        ),
        remedy=remedy(cause, setting),
    )


def _places(peak: MemoryPeak, held: OwnerBytes) -> list[str]:
    """Return where most of an owner's memory was allocated."""
    sites = [row for row in peak.sites if row.owner == held.owner and row.site != NO_SITE][:_SHOWN]
    listed = ", ".join(f"{row.site} {format_bytes(row.bytes)}" for row in sites)
    return [f"{held.owner}: {listed}"] if listed else []


def _unused(peak: MemoryPeak, memory: Memory) -> int:
    """Return what the allocator of the peak's GPU had reserved in the end, beyond all that was ever in use at once:
    what is free in the end alone may have been needed at the peak."""
    return max((row.reserved_bytes - peak.bytes for row in _blocks(peak, memory)), default=0)


def _reserved(peak: MemoryPeak, memory: Memory) -> list[str]:
    return [
        f"{format_bytes(row.reserved_bytes)} reserved and {format_bytes(row.allocated_bytes)} allocated in the end"
        for row in _blocks(peak, memory)
    ]


def _blocks(peak: MemoryPeak, memory: Memory) -> list[Fragmentation]:
    place = (peak.node, peak.agent_id)
    return [row for row in memory.fragmentation if (row.node, row.agent_id) == place]


def _failures(memory: Memory, setting: Setting) -> Iterator[Finding]:
    if memory.out_of_memory:
        last = memory.out_of_memory[-1]
        blocks = next((row for row in memory.fragmentation if row.agent_id == last.agent_id), None)
        yield Finding(
            id="out-of-memory",
            severity="error",
            kind="memory",
            title=f"Memory ran out: {_asked(last)} at {last.site}",
            evidence=(
                f"{format_count(len(memory.out_of_memory), 'allocation')} failed",
                *((_state(blocks),) if blocks else ()),
            ),
            remedy=remedy("memory-limit", setting),
        )


def _asked(failure: OutOfMemory) -> str:
    return "an allocation failed" if failure.requested_bytes is None else (
        f"{format_bytes(failure.requested_bytes)} could not be allocated"
    )  # fmt: skip


def _growth(memory: Memory, setting: Setting) -> Iterator[Finding]:
    growing = [row for row in memory.growing if _matters(row, memory)]
    if not growing:
        return
    first = growing[0]
    rate = sum(row.per_step.value or 0 for row in growing if row.level == first.level)
    yield Finding(
        id="memory-growth",
        severity="warning",
        kind="memory",
        title=_growth_title(first),
        evidence=(*map(_grown, growing[:_SHOWN]), *_how_long(memory, first, rate)),
        remedy=remedy("memory-growth", setting),
    )


def _growth_title(row: GrowingSite) -> str:
    if row.basis == BY_STEP:
        return f"Memory grows with every step: {row.site} holds on to {format_bytes(row.per_step.value or 0)} more"
    grown = row.levels_bytes[-1] - row.levels_bytes[0]
    return f"Memory grows all through the recording: {row.site} holds {format_bytes(grown)} more in the end"


def _matters(row: GrowingSite, memory: Memory) -> bool:
    rate = row.per_step.value or 0
    room = _room(memory, row)
    if room is not None:
        return rate * _MANY_STEPS >= room
    peak = max((peak.bytes for peak in memory.peaks), default=0)
    grown = row.levels_bytes[-1] - row.levels_bytes[0]
    return rate >= _LEAST_GROWTH and (row.basis == BY_STEP or grown >= _MUCH * peak)


def _room(memory: Memory, row: GrowingSite) -> int | None:
    capacity = next((gpu for gpu in memory.capacity if gpu.agent_id == row.agent_id), None)
    return None if capacity is None else capacity.capacity_bytes - capacity.peak_bytes


def _grown(row: GrowingSite) -> str:
    first, last = row.levels_bytes[0], row.levels_bytes[-1]
    return f"{row.site}: {format_bytes(first)} to {format_bytes(last)}, measured {row.basis}"


def _how_long(memory: Memory, row: GrowingSite, rate: float) -> Iterator[str]:
    room = _room(memory, row)
    if room is not None and rate and row.basis == BY_STEP:
        yield f"at this rate the GPU is full after {format_count(round(room / rate), 'more step')}"


def _nearly_full(row: Capacity, gpu: str, setting: Setting) -> Finding:
    share = format_share(row.used.value or 0)
    return Finding(
        id="memory-nearly-full",
        severity="warning",
        kind="memory",
        title=f"{gpu} is nearly full: {share} of its {format_bytes(row.capacity_bytes)} were taken",
        evidence=(f"{format_bytes(row.peak_bytes)} at most ({row.measured})",),
        remedy=f"A longer input, or a library that needs a workspace, may fail. {remedy('memory-limit', setting)}",
    )


def _is_torn(row: Fragmentation) -> bool:
    return row.split_bytes >= _TORN_BYTES and (row.split.value or 0) >= _TORN


def _in_pieces(row: Fragmentation, setting: Setting) -> Finding:
    return Finding(
        id="memory-fragmented",
        severity="warning",
        kind="memory",
        title=f"{format_bytes(row.split_bytes)} of reserved memory are free, but in pieces between blocks in use",
        evidence=(_state(row),),
        remedy=remedy("memory-in-pieces", setting),
    )


def _state(row: Fragmentation) -> str:
    return (
        f"{format_bytes(row.reserved_bytes)} reserved, {format_bytes(row.allocated_bytes)} allocated; "
        f"{format_bytes(row.split_bytes)} free in pieces, the largest free block has "
        f"{format_bytes(row.largest_free_bytes)}"
    )
