"""Who held the memory at the moment when most of it was in use."""

from __future__ import annotations

from typing import Any

import polars as pl

from rocm_perf.analysis.memory.lifetimes import lifetimes, live_at
from rocm_perf.analysis.memory.owners import BEFORE, NOT_KNOWN
from rocm_perf.analysis.memory.sites import NO_SITE
from rocm_perf.model.results.memory import MemoryPeak, OwnerBytes, SiteBytes
from rocm_perf.model.trace import Trace

SITES = 50
NO_OWNERS = (
    "no framework's allocator was recorded (torch.profiler: profile_memory=True, or a snapshot by "
    "torch.cuda.memory._dump_snapshot)"
)
_READING = "torch_allocated_bytes"
_BEFORE_HOW = "the allocator's own total, less what the recording saw allocated"


def peaks(trace: Trace) -> tuple[MemoryPeak, ...]:
    """The peak of each GPU and level of a framework's allocator, the largest first."""
    lives = lifetimes(trace)
    if not lives.height:
        return ()
    groups = lives.group_by("node", "agent_id", "level", maintain_order=True)
    highest = [_peak(key, group, _readings(trace, key)) for key, group in groups]
    return tuple(sorted(highest, key=lambda peak: -peak.bytes))


def _peak(key: tuple[Any, ...], lives: pl.DataFrame, readings: pl.DataFrame) -> MemoryPeak:
    node, agent, level = key
    order, time_ns = _highest_reading(lives, readings) if readings.height else _highest(lives)
    live = live_at(lives, order)
    seen = int(live["size_bytes"].sum())
    total = max(int(readings["value"].max()), seen) if readings.height else seen  # type: ignore[arg-type]
    asked = live["requested_bytes"]
    places = _by(live, "site", "owner")
    return MemoryPeak(
        node=node,
        agent_id=agent,
        level=level,
        bytes=total,
        peak_ns=time_ns,
        requested_bytes=None if asked.null_count() or total > seen else int(asked.sum()),
        owners=_owners(live, total - seen),
        sites=tuple(SiteBytes(**row) for row in places.head(SITES).iter_rows(named=True)),
        sites_left_out=max(places.height - SITES, 0),
    )


def _highest(lives: pl.DataFrame) -> tuple[int, int]:
    """The event after which most was in use, and when that was."""
    # A new allocation at an address that was never freed takes the place of the old one: one event, two changes.
    changes = _changes(lives).group_by("order", "time_ns").agg(pl.col("change").sum()).sort("order")
    place = int(changes["change"].cum_sum().arg_max() or 0)
    return int(changes["order"][place]), int(changes["time_ns"][place])


def _highest_reading(lives: pl.DataFrame, readings: pl.DataFrame) -> tuple[int, int]:
    """The last event by the time of the highest reading, and that time: the allocator also counts what was there
    before the recording, which may be freed in it."""
    time_ns = int(readings["time_ns"][readings["value"].arg_max() or 0])
    order = _changes(lives).filter(pl.col("time_ns") <= time_ns)["order"].max()
    return -1 if order is None else int(order), time_ns  # type: ignore[arg-type]


def _changes(lives: pl.DataFrame) -> pl.DataFrame:
    """What each event adds to the memory in use."""
    made = lives.select(
        pl.col("made").alias("order"), pl.col("made_ns").alias("time_ns"), change="size_bytes"
    )
    freed = lives.drop_nulls("freed").select(
        pl.col("freed").alias("order"), pl.col("freed_ns").alias("time_ns"), change=-pl.col("size_bytes")
    )
    return pl.concat([made, freed])


def _owners(live: pl.DataFrame, before: int) -> tuple[OwnerBytes, ...]:
    rows = (
        live.group_by("owner")
        .agg(
            pl.col("size_bytes").sum().alias("bytes"),
            pl.len().alias("allocations"),
            pl.col("known_by").unique().sort().str.join("; ").alias("known_by"),
        )
        .iter_rows(named=True)
    )
    owners = [OwnerBytes(**row) for row in rows]
    if before > 0:
        owners.append(OwnerBytes(owner=BEFORE, bytes=before, allocations=0, known_by=_BEFORE_HOW))
    return tuple(sorted(owners, key=lambda row: (row.owner == NOT_KNOWN, -row.bytes, row.owner)))


def _by(live: pl.DataFrame, *keys: str) -> pl.DataFrame:
    return (
        live.with_columns(pl.col("site").fill_null(NO_SITE))
        .group_by(keys)
        .agg(pl.col("size_bytes").sum().alias("bytes"), pl.len().alias("allocations"))
        .sort("bytes", *keys, descending=[True, *(False for _ in keys)])
    )


def _readings(trace: Trace, key: tuple[Any, ...]) -> pl.DataFrame:
    """What the allocator itself said it had given out, where the trace of its events has that beside each."""
    node, agent, level = key
    if level != "CACHED":
        return pl.DataFrame()
    of_place = (
        (pl.col("node") == node) & pl.col("agent_id").eq_missing(agent) & (pl.col("metric") == _READING)
    )
    return trace.table("samples").filter(of_place).drop_nulls(["time_ns", "value"])
