"""The memory between allocations: a replay maps whole granules, and a kernel that writes behind an allocation finds
memory there. It is made part of the state, so that it is compared like everything else: nothing can be kept there from
one launch to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rocm_perf.replay.plan import GRANULES, Range, reservations
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import Region

KIND = "slack"
_ZEROS = "zeros.bin"


def with_slack(replayer: Replayer) -> Replayer:
    """The replayer of the same snapshot, with what lies around its regions as regions of zeros."""
    snapshot = replayer.snapshot
    mapped = [region for region in snapshot.saved if not region.is_global]
    granule = GRANULES[snapshot.dispatch.vendor]
    slack = tuple(
        Region(base=base, size=size, kind=KIND)
        for reserved in reservations(mapped, granule)
        for base, size in gaps(reserved, mapped)
    )
    zeros = replayer.work / _ZEROS
    with zeros.open("wb") as file:
        file.truncate(max((region.size for region in slack), default=0))
    return replace(
        replayer,
        snapshot=replace(snapshot, regions=(*snapshot.regions, *slack)),
        files={**replayer.files, **{region.before: zeros for region in slack}},
    )


def gaps(reserved: Range, regions: Sequence[Region]) -> Iterator[Range]:
    """What no region covers of a range."""
    at, end = reserved[0], sum(reserved)
    for region in sorted(regions, key=lambda region: region.base):
        if not reserved[0] <= region.base < end:
            continue
        if region.base > at:
            yield at, region.base - at
        at = max(at, region.end)
    if at < end:
        yield at, end - at
