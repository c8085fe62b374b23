"""Sheets about memory: who held it at its peak, and from where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_perf.model.document import Document
from rocm_perf.model.results.memory import MemoryPeak, OwnerBytes, SiteBytes
from rocm_perf.render.sheets.sheet import Sheet, SheetColumns, sheet

_MB = 1e6


class _Owner(NamedTuple):
    peak: MemoryPeak
    row: OwnerBytes


class _Site(NamedTuple):
    peak: MemoryPeak
    row: SiteBytes


_OWNERS: SheetColumns[_Owner] = {
    "GPU": lambda each: each.peak.agent_id,
    "recorded by": lambda each: each.peak.level,
    "owner": lambda each: each.row.owner,
    "MB": lambda each: each.row.bytes / _MB,
    "percent": lambda each: 100 * each.row.bytes / each.peak.bytes if each.peak.bytes else None,
    "allocations": lambda each: each.row.allocations,
    "known by": lambda each: each.row.known_by,
}
_SITES: SheetColumns[_Site] = {
    "GPU": lambda each: each.peak.agent_id,
    "recorded by": lambda each: each.peak.level,
    "call site": lambda each: each.row.site,
    "owner": lambda each: each.row.owner,
    "MB": lambda each: each.row.bytes / _MB,
    "allocations": lambda each: each.row.allocations,
}


def memory_sheets(document: Document) -> Iterator[Sheet]:
    """What each owner and each place in the program held when most memory was in use."""
    memory = document.memory
    owners = [_Owner(peak, row) for peak in memory.peaks for row in peak.owners]
    sites = [_Site(peak, row) for peak in memory.peaks for row in peak.sites]
    yield sheet("memory_by_owner", "one owner, at the peak", owners, _OWNERS, memory.owners_unavailable)
    yield sheet("memory_by_call_site", "one place, at the peak", sites, _SITES, memory.owners_unavailable)
