"""What a viewer of traces shows, as one frame of slices on tracks: calls, operators and ranges on threads, kernels on
queues, copies on streams, each with the annotations that rocprofv3 7 writes. Times are kept as they were recorded."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.lanes import lanes_of
from rocm_perf.render.formats.rocprof_v1 import first_pass, marked_name, with_counters

PLAIN = ("track", "lane", "name", "category", "start_ns", "end_ns", "flows")  # not annotations
KERNEL, COPY, RANGE = "kernel_dispatch", "memory_copy", "marker_api"  # categories, beside those of APIs

# What tells tracks apart: a thread, or what a GPU is given by a queue or stream, in copies with where to.
_PLACE = ["on_pid", "on_agent", "on_kind", "on_target", "on_number"]
_THREAD, _COPYING = "THREAD", "COPY"
_COPY_NAMES = {
    "H2D": "MEMORY_COPY_HOST_TO_DEVICE",
    "D2H": "MEMORY_COPY_DEVICE_TO_HOST",
    "D2D": "MEMORY_COPY_DEVICE_TO_DEVICE",
    "P2P": "MEMORY_COPY_DEVICE_TO_DEVICE",
    "H2H": "MEMORY_COPY_HOST_TO_HOST",
    "MEMSET": "MEMSET",
}
_KERNEL_NOTES = {
    "corr_id": "correlation_id",
    "queue": "queue_id",
    "tid": "tid",
    "dispatch_id": "dispatch_id",
    "Scratch_Size": "scratch_bytes",
    "LDS_Block_Size": "lds_bytes",
    "VGPR_Count": "vgprs",
    "Accum_VGPR_Count": "agprs",
    "SGPR_Count": "sgprs",
}
_OP_NOTES = ("op_id", "sequence", "shapes", "dtypes", "strides", "inputs")


@dataclass(frozen=True)
class Slices:
    """`rows`: the slices by track and start; columns beyond `PLAIN` are annotations, and `flows` are numbers that the
    launch of GPU work shares with it. `tracks`: pid, tid, agent_id and name of each track, null where it has none; rows
    refer to them by place."""

    rows: pl.DataFrame
    tracks: pl.DataFrame

    @property
    def notes(self) -> list[str]:
        """The columns that are annotations."""
        return [column for column in self.rows.columns if column not in PLAIN]


def slices_of(trace: Trace) -> Slices:
    """Everything that has a begin and an end in the first pass of every process."""
    pieces = [_calls(trace), _ranges(trace), _operators(trace), _copies(trace), _kernels(trace)]
    timed = pl.concat(pieces, how="diagonal").drop_nulls(["start_ns", "end_ns"])
    timed = timed.with_columns(pl.max_horizontal("start_ns", "end_ns").alias("end_ns"))
    places = timed.select(_PLACE).unique().sort(pl.all(), nulls_last=False).with_row_index("track")
    rows = (
        timed.with_columns(_flows(timed))
        .join(places, on=_PLACE, how="left", nulls_equal=True, maintain_order="left")
        .sort("track", "start_ns", pl.col("end_ns").neg(), maintain_order=True)
    )
    notes = [column for column in timed.columns if column not in (*PLAIN, *_PLACE)]
    laned = rows.with_columns(lanes_of(rows)).select(*PLAIN, *notes)
    return Slices(laned, _tracks(trace, places))


def _calls(trace: Trace) -> pl.DataFrame:
    category = (
        pl.when(pl.col("domain") == "hip_compiler")
        .then(pl.lit("hip_api"))
        .otherwise(pl.col("domain") + "_api")
    )
    return first_pass(trace, "api_calls").select("name", category.alias("category"), *_on_thread())


def _ranges(trace: Trace) -> pl.DataFrame:
    on_host = first_pass(trace, "ranges").filter(~pl.col("on_gpu"))
    return on_host.select("name", pl.lit(RANGE).alias("category"), *_on_thread())


def _operators(trace: Trace) -> pl.DataFrame:
    return first_pass(trace, "ops").select("name", "category", *_on_thread(), *_OP_NOTES)


def _on_thread() -> list[pl.Expr | str]:
    return [
        "start_ns",
        "end_ns",
        *_place(pl.col("pid"), kind=pl.lit(_THREAD), number=pl.col("tid")),
        "tid",
        pl.col("correlation_id").alias("corr_id"),
    ]


def _copies(trace: Trace) -> pl.DataFrame:
    target = pl.coalesce("dst_agent", "agent_id")
    alone = pl.col("src_agent").is_null() & pl.col("dst_agent").is_null()
    return first_pass(trace, "copies").select(
        pl.col("kind").replace_strict(_COPY_NAMES, default="MEMORY_COPY_NONE").alias("name"),
        pl.lit(COPY).alias("category"),
        *("start_ns", "end_ns"),
        *_place(
            pl.col("pid"),
            kind=pl.lit(_COPYING),
            agent=pl.coalesce("agent_id", target),
            target=target,
            number=pl.col("stream_id").fill_null(0),
        ),
        pl.format("Agent-{}", "src_agent").alias("src_agent"),
        pl.format("Agent-{}", "dst_agent").alias("dst_agent"),
        pl.when(alone).then(pl.format("Agent-{}", "agent_id")).alias("agent"),
        pl.col("size_bytes").alias("copy_bytes"),
        pl.col("correlation_id").alias("corr_id"),
        "tid",
        pl.col("stream_id").alias("stream_ID"),
    )


def _kernels(trace: Trace) -> pl.DataFrame:
    """The slices of kernels, annotated with their counters as real numbers."""
    dispatches, counters = with_counters(trace, first_pass(trace, "dispatches"))
    has_queue = pl.col("queue_id").is_not_null()
    return dispatches.select(
        _kernel_name().alias("name"),
        pl.lit(KERNEL).alias("category"),
        *("start_ns", "end_ns"),
        *_place(
            pl.col("pid"),
            kind=pl.when(has_queue).then(pl.lit("QUEUE")).otherwise(pl.lit("STREAM")),
            agent=pl.col("agent_id"),
            number=pl.coalesce("queue_id", "stream_id").fill_null(0),
        ),
        pl.format("Agent-{}", "agent_id").alias("agent"),
        *(pl.col(column).alias(note) for note, column in _KERNEL_NOTES.items()),
        *(_size(size) for size in ("workgroup", "grid")),
        pl.col("stream_id").alias("stream_ID"),
        *counters,
    )


def _kernel_name() -> pl.Expr:
    """The kernel's name. Readers take one mark of a descriptor off: a name that ends in one needs another."""
    kernel = pl.col("kernel")
    return pl.when(kernel.str.contains(r"\.kd[\])]?$")).then(marked_name(kernel)).otherwise(kernel)


def _size(of: str) -> pl.Expr:
    """The size of a grid or workgroup: `(256,1,1)`, or what is known of it."""
    x, y, z = (pl.col(f"{of}_{axis}") for axis in "xyz")
    return pl.coalesce(pl.format("({},{},{})", x, y, z), pl.format("({})", x)).alias(f"{of}_size")


def _place(
    pid: pl.Expr,
    *,
    kind: pl.Expr,
    number: pl.Expr,
    agent: pl.Expr | None = None,
    target: pl.Expr | None = None,
) -> list[pl.Expr]:
    nowhere = pl.lit(None, pl.Int64)
    values = (pid, nowhere if agent is None else agent, kind, nowhere if target is None else target, number)
    return [value.alias(name) for name, value in zip(_PLACE, values, strict=True)]


def _tracks(trace: Trace, places: pl.DataFrame) -> pl.DataFrame:
    """Process, thread, GPU and name of each track, as rocprofv3 names them: `COMPUTE AGENT [4] QUEUE [0] (GPU)`."""
    is_thread = pl.col("on_kind") == _THREAD
    is_copy = pl.col("on_kind") == _COPYING
    agent = pl.when(is_copy).then("on_target").otherwise("on_agent")
    kinds = dict(trace.table("agents").select("agent_id", "kind").iter_rows())
    kind = agent.replace_strict(kinds, default=None, return_dtype=pl.String).fill_null("UNK")
    texts = (agent.cast(pl.String).fill_null("?"), pl.col("on_number"), kind)
    return places.select(
        pl.col("on_pid").alias("pid"),
        pl.when(is_thread).then("on_number").alias("tid"),
        pl.col("on_agent").alias("agent_id"),
        pl.when(is_thread)
        .then(pl.format("THREAD ({})", "on_number").fill_null("THREAD"))
        .when(is_copy)
        .then(pl.format("COPY to AGENT [{}] STREAM [{}] ({})", *texts))
        .when(pl.col("on_kind") == "QUEUE")
        .then(pl.format("COMPUTE AGENT [{}] QUEUE [{}] ({})", *texts))
        .otherwise(pl.format("COMPUTE AGENT [{}] STREAM [{}] ({})", *texts))
        .alias("name"),
    )


def _flows(slices: pl.DataFrame) -> pl.Series:
    """For each kernel and copy whose launch is recorded a number of its own, which the launch, the first call with the
    same correlation id, has as well: a graph's launch has one for each of its kernels."""
    key = ["on_pid", "corr_id"]
    known = slices.with_row_index("row").select("row", *key, "category", "start_ns").drop_nulls("corr_id")
    is_work = pl.col("category").is_in([KERNEL, COPY])
    calls = known.filter(pl.col("category").str.ends_with("_api") & (pl.col("category") != RANGE))
    launches = calls.sort("start_ns", maintain_order=True).unique(key, keep="first", maintain_order=True)
    pairs = known.filter(is_work).join(
        launches.select(*key, pl.col("row").alias("launch")), on=key, nulls_equal=True, maintain_order="left"
    )
    numbered = pairs.with_row_index("flow", 1).select("row", "launch", pl.col("flow").cast(pl.UInt64))
    ends = pl.concat(
        [
            numbered.group_by(pl.col(end).alias("row"), maintain_order=True).agg(
                pl.col("flow").alias("flows")
            )
            for end in ("row", "launch")
        ]
    )
    rows = slices.select(pl.int_range(pl.len(), dtype=pl.get_index_type()).alias("row"))
    return rows.join(ends, on="row", how="left", maintain_order="left")["flows"]
