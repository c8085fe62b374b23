"""The wall time as a sum: for each GPU, every instant from the first to the last thing recorded belongs to exactly
one part."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.analysis.time.busy import lasting, node_spans
from rocm_perf.model.results.gaps import Gaps
from rocm_perf.model.trace import Trace

FORMULAS = {
    "compare.wall.kernels": "length of the union of kernel intervals on the GPU",
    "compare.wall.copies": "length of the union of kernel and copy intervals - that of kernels alone",
    "compare.wall.before_first": "first kernel or copy of the GPU, or the beginning of the step marked by torch's "
    "profiler that it waits for first - first thing recorded on its node",
    "compare.wall.after_last": "last thing recorded on the node - end of the GPU's last kernel or copy, or the "
    "beginning of the step that follows",
}

_GPU = ["node", "agent_id"]


class GpuWall(msgspec.Struct, frozen=True):
    """One GPU, and the parts of its node's wall; they sum to it."""

    node: int
    agent_id: int | None
    wall_ns: int
    parts: dict[str, int]

    @property
    def name(self) -> str:
        gpu = "GPU" if self.agent_id is None else f"GPU {self.agent_id}"
        return f"{gpu} of node {self.node}" if self.node else gpu

    @property
    def busy_ns(self) -> int:
        return self.parts["kernels"] + self.parts["copies"]


def gpu_walls(trace: Trace, idle: Gaps) -> tuple[GpuWall, ...]:
    """One for each GPU that did something, in order of node and agent."""
    spans = ["start_ns", "end_ns"]
    kernels = timed_dispatches(trace).select(*_GPU, *spans)
    copies = timed_copies(trace).select(*_GPU, *spans)
    busy = lasting(union_ns(pl.concat([kernels, copies]), _GPU), trace, _GPU)
    windows = node_spans(trace).rename({"first_ns": "opens", "last_ns": "closes"})
    running = union_ns(kernels, _GPU).select(*_GPU, pl.col("union_ns").alias("kernel_ns"))
    rows = busy.join(running, on=_GPU, how="left", nulls_equal=True).join(windows, on="node")
    causes = {(place.node, place.agent_id): place.causes for place in idle.places if place.level == "gpu"}
    return tuple(
        _gpu_wall(row, causes.get((row["node"], row["agent_id"]), {}))
        for row in rows.sort(_GPU, nulls_last=True).iter_rows(named=True)
    )


def _gpu_wall(row: dict[str, int], causes: dict[str, int]) -> GpuWall:
    kernels = row["kernel_ns"] or 0
    parts = {
        "before_first": row["first_ns"] - row["opens"],
        "kernels": kernels,
        "copies": row["union_ns"] - kernels,
        **causes,
        "after_last": row["closes"] - row["last_ns"],
    }
    wall = row["closes"] - row["opens"]
    unexplained = wall - sum(parts.values())
    if unexplained:
        parts["nothing_recorded"] = parts.get("nothing_recorded", 0) + unexplained
    return GpuWall(node=row["node"], agent_id=row["agent_id"], wall_ns=wall, parts=parts)


def leader(gpus: Sequence[GpuWall]) -> int:
    """The place of the busiest GPU of the longest node."""
    return max(range(len(gpus)), key=lambda place: (gpus[place].wall_ns, gpus[place].busy_ns))
