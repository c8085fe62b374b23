"""Memory: how much is in use, who holds it, what grows and what lies in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.memory import (
    Capacity,
    Fragmentation,
    GrowingSite,
    Memory,
    MemoryPeak,
    MemoryUse,
    OutOfMemory,
    OwnerBytes,
    SiteBytes,
)
from rocm_perf.model.results.times import GpuName, gpu_numbers
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Grid,
    Section,
    code,
    count,
    explained,
    grids,
    known,
    share,
    size,
    spark,
    text,
)
from rocm_perf.units import format_bytes, format_count, format_list, format_share

_SHOWN_OWNERS = 4


def _signed(growth: Quantity | None) -> str:
    if growth is None or growth.value is None:
        return "-"
    return f"{'+' if growth.value > 0 else ''}{size(growth.value)}"


_USE_COLUMNS: Columns[MemoryUse] = (
    explained("peak", size, lambda row: row.peak_bytes, "memory.peak_bytes"),
    explained("first", size, lambda row: row.first_bytes, "memory in use at the first event or reading"),
    explained("last", size, lambda row: row.last_bytes, "memory in use at the last event or reading"),
    explained("growth per step", _signed, lambda row: row.growth.per_step if row.growth else None),
    explained(
        "allocations",
        count,
        lambda row: row.allocations if row.source == "allocations" else None,
        "allocations that count for this level",
    ),
    text("GPU", lambda row: known(row.agent_id)),
    code("level", lambda row: row.level),
)
_GROWING_COLUMNS: Columns[GrowingSite] = (
    explained("growth per step", _signed, lambda row: row.per_step),
    explained("now", size, lambda row: row.levels_bytes[-1], "memory.growing.levels_bytes"),
    text("over time", lambda row: spark(row.levels_bytes, 20)),
    text("owner", lambda row: row.owner),
    text("GPU", lambda row: known(row.agent_id)),
    code("call site", lambda row: row.site),
)
_BLOCK_COLUMNS: Columns[Fragmentation] = (
    explained("reserved", size, lambda row: row.reserved_bytes, "sum of the sizes of all segments"),
    explained("allocated", size, lambda row: row.allocated_bytes, "sum of the blocks that tensors hold"),
    explained("in pieces", size, lambda row: row.split_bytes, "memory.fragmentation.split_bytes"),
    explained("share", share, lambda row: row.split),
    explained(
        "largest free", size, lambda row: row.largest_free_bytes, "memory.fragmentation.largest_free_bytes"
    ),
    explained("releasable", size, lambda row: row.releasable_bytes, "segments that are free as a whole"),
    text("GPU", lambda row: known(row.agent_id)),
)
_SITE_COLUMNS: Columns[SiteBytes] = (
    explained(
        "bytes", size, lambda row: row.bytes, "sum of size_bytes of its allocations that are live then"
    ),
    explained("allocations", count, lambda row: row.allocations, "its allocations that are live then"),
    text("owner", lambda row: row.owner),
    code("call site", lambda row: row.site),
)


def memory_section(document: Document, top: int) -> Section:
    """Memory in use over time, and who held it at its peak."""
    memory, gpu = document.memory, gpu_numbers(document.devices)
    if memory.unavailable or not memory.rows:
        return Section("Memory", unavailable=memory.unavailable or "no memory in use was recorded")
    return Section(
        "Memory",
        lines=(*_sentences(memory, gpu), *_levels(memory.rows[:top])),
        grids=(
            *grids("", memory.rows, _USE_COLUMNS, top),
            *(grid for peak in memory.peaks[:top] for grid in _peak_grids(peak, gpu, top)),
            *grids("Growing with every step", memory.growing, _GROWING_COLUMNS, top),
            *grids("Reserved by the allocator", memory.fragmentation, _BLOCK_COLUMNS, top),
        ),
        notes=tuple(_notes(memory)),
    )


def _sentences(memory: Memory, gpu: GpuName) -> Iterator[str]:
    for peak in memory.peaks[:1]:
        yield f"{_peak_sentence(peak, gpu)}{_reserved(peak, memory)}."
    yield from (_capacity_sentence(row, gpu) for row in memory.capacity)
    yield from map(_failure_sentence, memory.out_of_memory[-1:])


def _peak_sentence(peak: MemoryPeak, gpu: GpuName) -> str:
    owners = [f"{row.owner} {format_share(row.bytes / peak.bytes)}" for row in peak.owners if peak.bytes]
    held = f": {format_list(owners, _SHOWN_OWNERS)}" if owners else ""
    return f"At the peak, {format_bytes(peak.bytes)} were in use on {gpu(peak.node, peak.agent_id)}{held}"


def _reserved(peak: MemoryPeak, memory: Memory) -> str:
    reserved = [
        row
        for row in memory.rows
        if row.level == "torch_reserved_bytes" and (row.node, row.agent_id) == (peak.node, peak.agent_id)
    ]
    known_bytes = reserved[0].peak_bytes if reserved else 0
    return f"; at most {format_bytes(known_bytes)} were reserved" if known_bytes else ""


def _capacity_sentence(row: Capacity, gpu: GpuName) -> str:
    return (
        f"{gpu(row.node, row.agent_id)} has {format_bytes(row.capacity_bytes)}; {share(row.used)} of it were taken "
        f"at most ({row.measured})."
    )


def _failure_sentence(row: OutOfMemory) -> str:
    return f"Memory ran out when {size(row.requested_bytes)} were asked for at {row.site}."


def _levels(rows: Sequence[MemoryUse]) -> Iterator[str]:
    for row in rows:
        if row.peak_bytes > 0:
            suspicion = "; it rose with every step" if row.growth and row.growth.suspicious else ""
            yield f"{spark(row.series_bytes, 40)} {row.level}, peak {size(row.peak_bytes)}{suspicion}"


def _peak_grids(peak: MemoryPeak, gpu: GpuName, top: int) -> Iterator[Grid]:
    place = f"{gpu(peak.node, peak.agent_id)}, {peak.level}"
    yield from grids(f"At the peak, by owner ({place})", peak.owners, _owner_columns(peak), top)
    yield from grids(f"At the peak, by call site ({place})", peak.sites, _SITE_COLUMNS, top)


def _owner_columns(peak: MemoryPeak) -> tuple[Column[OwnerBytes], ...]:
    return (
        explained(
            "bytes", size, lambda row: row.bytes, "sum of size_bytes of its allocations live at the peak"
        ),
        explained(
            "share",
            share,
            lambda row: ratio(row.bytes, peak.bytes, "bytes / peak_bytes", "bytes", "peak_bytes"),
        ),
        explained(
            "allocations", count, lambda row: row.allocations or None, "its allocations live at the peak"
        ),
        text("owner", lambda row: row.owner),
        text("known by", lambda row: row.known_by),
    )


def _share(part: int, peak: MemoryPeak) -> Quantity:
    return ratio(part, peak.bytes, "bytes / peak_bytes", "bytes", "peak_bytes")


def _notes(memory: Memory) -> Iterator[str]:
    if memory.untimed:
        yield f"{format_count(memory.untimed, 'allocation')} without a time or size left out"
    bases = dict.fromkeys(row.growth.basis for row in memory.rows if row.growth)
    reasons = dict.fromkeys(row.growth_unavailable for row in memory.rows if row.growth_unavailable)
    yield from (f"growth: {basis}" for basis in bases)
    yield from (f"growth unavailable: {reason}" for reason in reasons)
    for what, reason in (
        ("owners", memory.owners_unavailable),
        ("fragmentation", memory.fragmentation_unavailable),
    ):
        if reason:
            yield f"{what} unavailable: {reason}"
