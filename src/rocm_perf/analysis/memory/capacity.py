"""How much of a GPU's memory was taken, and the allocations for which there was none left."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.memory.sites import NO_SITE, placed
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.memory import Capacity, MemoryUse, OutOfMemory
from rocm_perf.model.trace import Trace

# What is nearest to all memory that is taken comes first: a sensor sees other programs too.
_MEASURES = ("vram_used_bytes", "vram_bytes", "torch_reserved_bytes", "REAL", "torch_allocated_bytes")


def capacities(trace: Trace, uses: tuple[MemoryUse, ...]) -> tuple[Capacity, ...]:
    """Each GPU whose memory is known, with the most that was taken of it, by the measure that sees most."""
    places = dict.fromkeys((use.node, use.agent_id) for use in uses if use.level in _MEASURES)
    known = trace.table("agents").filter(pl.col("memory_bytes") > 0)
    return tuple(
        _of_gpu([use for use in uses if (use.node, use.agent_id) == place], capacity)
        for place in places
        if (capacity := _memory_of(known, *place)) is not None
    )


def _memory_of(agents: pl.DataFrame, node: int, agent: int | None) -> int | None:
    """The memory of a GPU; where allocators and kernels number GPUs differently, what all of the node have."""
    of_node = agents.filter(pl.col("node") == node)
    of_agent = of_node.filter(pl.col("agent_id") == agent)["memory_bytes"].to_list()
    sizes = of_agent or of_node["memory_bytes"].unique().to_list()
    return int(sizes[0]) if len(sizes) == 1 else None


def _of_gpu(uses: list[MemoryUse], capacity: int) -> Capacity:
    by_level = {use.level: use for use in uses}
    measure = next(level for level in _MEASURES if level in by_level)
    use = by_level[measure]
    return Capacity(
        node=use.node,
        agent_id=use.agent_id,
        capacity_bytes=capacity,
        peak_bytes=use.peak_bytes,
        measured=measure,
        used=ratio(use.peak_bytes, capacity, "peak_bytes / capacity_bytes", "peak_bytes", "capacity_bytes"),
    )


def out_of_memory(trace: Trace) -> tuple[OutOfMemory, ...]:
    """The allocations that failed, in order."""
    failed = trace.table("allocations").filter(pl.col("operation") == "OOM").sort("start_ns")
    if not failed.height:
        return ()
    sites = placed(trace, failed)["site"].fill_null(NO_SITE)
    rows = failed.with_columns(sites).select("node", "agent_id", "start_ns", "size_bytes", "site")
    return tuple(
        OutOfMemory(node=node, agent_id=agent, time_ns=time_ns, requested_bytes=size, site=site)
        for node, agent, time_ns, size, site in rows.iter_rows()
    )
