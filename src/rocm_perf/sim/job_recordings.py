"""What the ranks of a simulated job recorded: one Trace on the true clock, and one per rank on a clock of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import msgspec
import polars as pl

from rocm_perf.model import schema
from rocm_perf.model.clock_shift import ClockShift
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import START_NS, Run
from rocm_perf.sim.record import FIRST_GPU, FIRST_PID, record

_MOST_OFFSET_NS = 5_000_000
_MOST_DRIFT_PPM = 50.0  # crystals are good to some tens of parts per million
_OF_MACHINE = (
    "agents",
    "kernels",
    "nodes",
    "samples",
)  # rather than of a process; nobody read the sensors of a job


@dataclass(frozen=True)
class JobClock:
    """A clock that showed `offset_ns` too much at the start of the job, and went `drift_ppm` too fast."""

    offset_ns: float
    drift_ppm: float

    @classmethod
    def drawn(cls, draw: Random) -> JobClock:
        """A clock up to 5 ms and 50 ppm off."""
        return cls(
            offset_ns=draw.uniform(-_MOST_OFFSET_NS, _MOST_OFFSET_NS),
            drift_ppm=draw.uniform(-_MOST_DRIFT_PPM, _MOST_DRIFT_PPM),
        )

    @property
    def shift(self) -> ClockShift:
        """What turns a true time into a recorded one."""
        return ClockShift(offset_ns=self.offset_ns, drift_ppm=self.drift_ppm, origin_ns=START_NS)


def true_trace(run: Run, ranks_per_node: int) -> Trace:
    """All ranks on the true clock, each on its node, with collectives numbered and clocks known."""
    whole = record(run)
    tables = {name: _placed(whole.table(name), ranks_per_node) for name in whole if name not in _OF_MACHINE}
    tables["kernels"] = whole.table("kernels")
    tables["agents"] = _agents(whole.table("agents"), ranks_per_node)
    tables["nodes"] = _nodes(run, ranks_per_node)
    tables["clocks"] = _clocks(run, ranks_per_node)
    hosts = tuple(tables["nodes"]["host"])
    return Trace(tables, msgspec.structs.replace(whole.run, hosts=hosts))


def recordings_of(whole: Trace, clocks: Sequence[JobClock]) -> tuple[Trace, ...]:
    """What each rank recorded: its own rows, on its clock, without what only a merge can know."""
    return tuple(_recording(whole, rank, clock.shift) for rank, clock in enumerate(clocks))


def host_of(node: int) -> str:
    """The name of a simulated machine."""
    return f"sim-node-{node:03}"


def _placed(frame: pl.DataFrame, ranks_per_node: int) -> pl.DataFrame:
    """The rows of processes on the node of their rank. GPUs are numbered within their node."""
    gpus = [name for name in ("agent_id", "src_agent", "dst_agent") if name in frame.columns]
    columns = [_within_node(name, ranks_per_node) for name in gpus]
    if "rank" in frame.columns:
        columns.append((pl.col("rank") // ranks_per_node).alias("node"))
    return frame.with_columns(columns)


def _within_node(agent: str, ranks_per_node: int) -> pl.Expr:
    gpu = pl.col(agent) - FIRST_GPU
    return pl.when(gpu >= 0).then(FIRST_GPU + gpu % ranks_per_node).otherwise(agent).alias(agent)


def _agents(agents: pl.DataFrame, ranks_per_node: int) -> pl.DataFrame:
    """The GPUs on their nodes, and the processors on each."""
    gpu = pl.col("agent_id") - FIRST_GPU
    gpus = agents.filter(gpu >= 0).with_columns(
        (gpu // ranks_per_node).cast(pl.Int32).alias("node"), _within_node("agent_id", ranks_per_node)
    )
    nodes = gpus.select("node").unique(maintain_order=True)
    processors = agents.filter(gpu < 0).drop("node").join(nodes, how="cross").select(agents.columns)
    return pl.concat([processors, gpus]).sort("node", "agent_id")


def _nodes(run: Run, ranks_per_node: int) -> pl.DataFrame:
    count = -(-len(run.workload.ranks) // ranks_per_node)
    rows = [
        {"node": node, "host": host_of(node), "os": "simulated", "clock": "boot"} for node in range(count)
    ]
    return schema.conform("nodes", pl.DataFrame(rows))


def _clocks(run: Run, ranks_per_node: int) -> pl.DataFrame:
    rows = [
        {
            "node": rank // ranks_per_node,
            "rank": rank,
            "pid": FIRST_PID + rank,
            "domain": 0,
            "offset_ns": 0.0,
            "drift_ppm": 0.0,
            "error_ns": 0.0,
            "basis": "shared",
        }
        for rank in run.workload.ranks
    ]
    return schema.conform("clocks", pl.DataFrame(rows))


def _recording(whole: Trace, rank: int, shift: ClockShift) -> Trace:
    node = int(whole.table("clocks").filter(rank=rank)["node"].item())
    tables = {
        name: shift.moved(name, _own_rows(whole.table(name), rank, node))
        for name in whole
        if name != "clocks"
    }
    if "collectives" in tables:
        tables["collectives"] = tables["collectives"].with_columns(collective_id=pl.lit(None, pl.Int64))
    return Trace(tables, msgspec.structs.replace(whole.run, hosts=(host_of(node),)))


def _own_rows(table: pl.DataFrame, rank: int, node: int) -> pl.DataFrame:
    """The rows of a rank, or of its machine, which is the only one that it knows."""
    rows = table.filter(rank=rank) if "rank" in table.columns else table
    if "node" not in table.columns:
        return rows
    rows = rows if "rank" in table.columns or "pid" in table.columns else rows.filter(node=node)
    return rows.with_columns(node=pl.lit(0, pl.Int32))
