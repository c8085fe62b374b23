"""What a framework's allocator has reserved and cannot use: free pieces between blocks that are in use."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.memory import Fragmentation
from rocm_perf.model.trace import Trace

FORMULAS = {
    "memory.fragmentation.split_bytes": "free blocks of segments that hold more than one block "
    "(torch's inactive_split_bytes)",
    "memory.fragmentation.largest_free_bytes": "the largest block that is free: a larger request takes a new segment",
}
NO_BLOCKS = "the blocks of the allocator were not recorded (torch.cuda.memory._dump_snapshot writes them)"


def fragmentation(trace: Trace) -> tuple[Fragmentation, ...]:
    """The state of the allocator on each GPU, when it was recorded last."""
    recorded = trace.table("memory_blocks").drop_nulls("size_bytes")
    latest = pl.col("time_ns").eq_missing(pl.col("time_ns").max().over("node", "rank", "pid", "agent_id"))
    groups = recorded.filter(latest).group_by("node", "agent_id", maintain_order=True)
    return tuple(_of_gpu(node, agent, group) for (node, agent), group in groups)


def _of_gpu(node: object, agent: object, blocks: pl.DataFrame) -> Fragmentation:
    segments = blocks.group_by("segment", "pid", "rank").agg(
        pl.len().alias("blocks"),
        pl.col("size_bytes").sum().alias("held"),
        pl.col("segment_bytes").first(),
        pl.col("size_bytes").filter(pl.col("state") == "free").sum().alias("free"),
    )
    size = {state: _sum(blocks, state) for state in ("allocated", "pending", "free")}
    reserved = int(segments.select(pl.coalesce("segment_bytes", "held").sum()).item())
    released = int(segments.filter(pl.col("blocks") == 1)["free"].sum())
    split = size["free"] - released
    used = blocks.filter(pl.col("state") == "allocated")
    free = blocks.filter(pl.col("state") == "free")["size_bytes"]
    return Fragmentation(
        node=node,  # type: ignore[arg-type]
        agent_id=agent,  # type: ignore[arg-type]
        reserved_bytes=reserved,
        allocated_bytes=size["allocated"],
        pending_bytes=size["pending"],
        free_bytes=size["free"],
        split_bytes=split,
        releasable_bytes=released,
        largest_free_bytes=int(free.max() or 0),  # type: ignore[arg-type]
        rounding_bytes=_rounding(used),
        segments=segments.height,
        split=ratio(split, reserved, "split_bytes / reserved_bytes", "split_bytes", "reserved_bytes"),
    )


def _sum(blocks: pl.DataFrame, state: str) -> int:
    return int(blocks.filter(pl.col("state") == state)["size_bytes"].sum())


def _rounding(used: pl.DataFrame) -> int | None:
    if used["requested_bytes"].null_count():
        return None
    return int((used["size_bytes"] - used["requested_bytes"]).sum())
