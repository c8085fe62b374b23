"""Kinds of columns, and the columns that several tables share."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.columns import Column

# Far beyond what is recorded, and small enough to be subtracted and added up in 64 bits.
MOST_NS = 4_600_000_000_000_000_000  # since 1970: the year 2115
MOST_COUNT = 1 << 50  # 1 PiB, or a million million dispatches
MOST_REAL = 1e30


def id_(name: str, doc: str) -> Column:
    """A column of ids or numbers of other rows."""
    return Column(name, pl.Int64, doc)


def text(name: str, doc: str, *, required: bool = False) -> Column:
    """A column of texts."""
    return Column(name, pl.String, doc, required=required)


def count(name: str, doc: str, unit: str = "") -> Column:
    """A column of sizes and counts."""
    return Column(name, pl.Int64, doc, unit, limit=MOST_COUNT)


def time(name: str, doc: str, unit: str = "ns") -> Column:
    """A column of times."""
    return Column(name, pl.Int64, doc, unit, limit=MOST_NS)


def real(name: str, doc: str, unit: str = "", *, required: bool = False) -> Column:
    """A column of real numbers."""
    return Column(name, pl.Float64, doc, unit, required, limit=MOST_NS if unit == "ns" else MOST_REAL)


NODE = Column(
    "node", pl.Int32, "clock domain: row of `nodes`; times compare only within one", default=0, required=True
)
RANK = Column("rank", pl.Int32, "rank of the process in a distributed run")
PASS = Column(
    "pass_id", pl.Int32, "which run of the application (counters need several)", default=0, required=True
)
PID = id_("pid", "operating-system process id")
TID = id_("tid", "operating-system thread id")
START = time("start_ns", "start")
END = time("end_ns", "end")
AGENT = id_("agent_id", "GPU: row of `agents` (on AMD the HSA node index, so the first GPU is rarely 0)")
QUEUE = id_("queue_id", "hardware or HSA queue")
STREAM = id_("stream_id", "HIP or CUDA stream")
OP = id_("op_id", "framework operator that caused it: op_id of `ops`")
CORRELATION = id_("correlation_id", "joins what the host called with what the GPU did, within one process")
STACK = id_("stack_id", "where the program allocated it: row of `stacks`")

WHERE = (NODE, RANK, PASS, PID)
HOST_SPAN = (START, END, *WHERE, TID, CORRELATION)
GPU_SPAN = (START, END, AGENT, QUEUE, STREAM, *WHERE, TID, CORRELATION)

GEOMETRY = (
    *(count(f"grid_{axis}", f"work-items along {axis}") for axis in "xyz"),
    *(count(f"workgroup_{axis}", f"work-items of a workgroup along {axis}") for axis in "xyz"),
    count("lds_bytes", "LDS (shared memory) of a workgroup, static and dynamic where both are known", "B"),
)
