"""rocprofv3 CSV: kernel, API, marker, copy, allocation, scratch and counter traces and agent_info, of
every ROCm release, and the dialect that `rocpd convert` writes.

The layouts changed four times, so a column is recognised by any name it has had. Timestamps are integer
nanoseconds of the node's boot clock.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from msgspec.structs import replace

from rocm_perf.ingest import agents, domains
from rocm_perf.ingest.io.csv import PLACE, drop_incomplete, hexadecimal, integer, read_csv, real
from rocm_perf.ingest.io.csv_pieces import outline_csv
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.survey import Survey
from rocm_perf.model.run import Loss
from rocm_perf.model.time_window import WHOLE, Span

# Names that one column has had, newest first: rocprofv3 7.x, `rocpd convert` 7.1, rocprofv3 6.x.
_LDS = ("LDS_Block_Size", "Lds_Block_Size", "Group_Segment_Size")
_SCRATCH = ("Scratch_Size", "Private_Segment_Size")
_VGPRS = ("VGPR_Count", "Vgpr_Count")
_AGPRS = ("Accum_VGPR_Count", "Accum_Vgpr_Count")
_SGPRS = ("SGPR_Count", "Sgpr_Count")

_START = "Start_Timestamp"
_SPAN = (_START, "End_Timestamp")
_KERNEL_TRACE = frozenset({"Kind", "Agent_Id", "Queue_Id", "Kernel_Name", *_SPAN})
_API_TRACE = frozenset({"Domain", "Function", "Process_Id", "Thread_Id", *_SPAN})
_COPY_TRACE = frozenset({"Kind", "Direction", "Source_Agent_Id", "Destination_Agent_Id", *_SPAN})
_ALLOCATION_TRACE = frozenset({"Kind", "Operation", "Agent_Id", "Allocation_Size", "Correlation_Id", *_SPAN})
_SCRATCH_TRACE = frozenset({"Kind", "Operation", "Agent_Id", "Queue_Id", "Thread_Id", *_SPAN})
_COUNTERS = frozenset(
    {"Dispatch_Id", "Agent_Id", "Kernel_Name", "Counter_Name", "Counter_Value", "Correlation_Id"}
)
_AGENT_INFO = frozenset({"Node_Id", "Agent_Type", "Gfx_Target_Version", "Wave_Front_Size", "Name"})


def read_kernel_trace(source: Source, span: Span = WHOLE) -> Part:
    """Dispatches; the id of a dispatch is its row where the release did not record one."""
    frame, losses = read_csv(source, span, _START)
    dispatches = frame.select(
        _dispatch_id(frame),
        domains.kernel_name(pl.col("Kernel_Name")).alias("kernel"),
        *_times(),
        _agent(frame, "Agent_Id"),
        *_optional(
            frame,
            queue_id="Queue_Id",
            stream_id="Stream_Id",
            tid="Thread_Id",
            correlation_id="Correlation_Id",
        ),
        *_sizes(frame, "Grid_Size", "grid"),
        *_sizes(frame, "Workgroup_Size", "workgroup"),
        *_resources(frame),
    )
    dispatches, lost = drop_incomplete(dispatches, ("kernel", "start_ns", "end_ns"), source.name)
    return _part({"dispatches": dispatches}, losses + lost)


def read_api_trace(source: Source, span: Span = WHOLE) -> Part:
    """API calls; the marker domains become ranges."""
    frame, losses = read_csv(source, span, _START)
    calls = frame.select(
        domains.normalised(pl.col("Domain")).alias("domain"),
        pl.col("Function").alias("name"),
        *_times(),
        integer("Process_Id").alias("pid"),
        integer("Thread_Id").alias("tid"),
        *_optional(frame, correlation_id="Correlation_Id"),
    )
    calls, lost = drop_incomplete(calls, ("domain", "name", "start_ns", "end_ns"), source.name)
    markers = calls.filter(pl.col("domain") == "marker").drop("domain").with_columns(source=pl.lit("roctx"))
    return _part({"api_calls": calls.filter(pl.col("domain") != "marker"), "ranges": markers}, losses + lost)


def read_copy_trace(source: Source, span: Span = WHOLE) -> Part:
    """Copies. No release writes how many bytes were moved."""
    frame, losses = read_csv(source, span, _START)
    copies = frame.select(
        domains.copy_kind(pl.col("Direction")).alias("kind"),
        *_times(),
        _agent(frame, "Source_Agent_Id").alias("src_agent"),
        _agent(frame, "Destination_Agent_Id").alias("dst_agent"),
        *_optional(frame, stream_id="Stream_Id", correlation_id="Correlation_Id"),
    ).with_columns(domains.copying_agent())
    copies, lost = drop_incomplete(copies, ("start_ns", "end_ns"), source.name)
    return _part({"copies": copies}, losses + lost)


def read_allocation_trace(source: Source, span: Span = WHOLE) -> Part:
    frame, losses = read_csv(source, span, _START)
    address = "Address" if "Address" in frame.columns else "Starting_Address"
    allocations = frame.select(
        domains.allocation_operation(pl.col("Operation")).alias("operation"),
        *([hexadecimal(address).alias("address")] if address in frame.columns else []),
        integer("Allocation_Size").alias("size_bytes"),
        _agent(frame, "Agent_Id"),
        *_times(),
        *_optional(frame, correlation_id="Correlation_Id"),
    )
    allocations, lost = drop_incomplete(allocations, ("operation", "start_ns", "end_ns"), source.name)
    return _part({"allocations": allocations}, losses + lost)


def read_scratch_trace(source: Source, span: Span = WHOLE) -> Part:
    frame, losses = read_csv(source, span, _START)
    flags = next((name for name in ("Alloc_Flags", "Alloc_flags") if name in frame.columns), None)
    scratch = frame.select(
        pl.col("Operation").alias("operation"),
        *([pl.col(flags).alias("flags")] if flags else []),
        _agent(frame, "Agent_Id"),
        *_times(),
        *_optional(frame, queue_id="Queue_Id", tid="Thread_Id", size_bytes="Allocation_Size"),
    )
    scratch, lost = drop_incomplete(scratch, ("operation", "start_ns", "end_ns"), source.name)
    return _part({"scratch": scratch}, losses + lost)


def read_counters(source: Source) -> Part:
    """Counters, one row each, and the dispatches they belong to. Several rows of one dispatch and
    counter are instances and are summed, as the tool's own database view does."""
    frame, losses = read_csv(source)
    pid = next((name for name in ("Process_Id", "Pid") if name in frame.columns), None)
    rows = frame.with_columns(value=real("Counter_Value"), dispatch_id=integer("Dispatch_Id"))
    rows, lost = drop_incomplete(rows, ("Counter_Name", "value", "dispatch_id", "Kernel_Name"), source.name)
    rows = rows.with_columns(pid=integer(pid) if pid else pl.lit(None, pl.Int64))
    counters = (
        rows.group_by("pid", "dispatch_id", "Counter_Name", maintain_order=True)
        .agg(pl.col("value").sum(), pl.col("Agent_Id").first())
        .select(
            "pid", "dispatch_id", _agent(frame, "Agent_Id"), pl.col("Counter_Name").alias("counter"), "value"
        )
    )
    dispatches = rows.unique(["pid", "dispatch_id"], keep="first", maintain_order=True).select(
        "pid",
        "dispatch_id",
        domains.kernel_name(pl.col("Kernel_Name")).alias("kernel"),
        *(_times() if set(_SPAN) <= set(frame.columns) else ()),
        _agent(frame, "Agent_Id"),
        *_optional(
            frame,
            queue_id="Queue_Id",
            tid="Thread_Id",
            correlation_id="Correlation_Id",
            grid_x="Grid_Size",
            workgroup_x="Workgroup_Size",
        ),
        *_resources(frame),
    )
    # The file has only products (Grid_Size, Workgroup_Size); they go into x, which keeps totals right.
    ones = [pl.lit(1, pl.Int64).alias(f"{size}_{axis}") for size in ("grid", "workgroup") for axis in "yz"]
    return _part({"counters": counters, "dispatches": dispatches.with_columns(ones)}, losses + lost)


def read_agent_info(source: Source) -> Part:
    frame, losses = read_csv(source)
    text = frame.columns
    table = frame.select(
        integer("Node_Id").alias("agent_id"),
        (integer("Node_Id").rank("ordinal").over("Agent_Type") - 1).cast(pl.Int64).alias("logical_index"),
        pl.col("Agent_Type").alias("kind"),
        agents.gfx_of_target_version(integer("Gfx_Target_Version"), pl.col("Name")).alias("gfx"),
        agents.first_known(frame, "Product_Name", "Model_Name").alias("name"),
        pl.col("Vendor_Name").alias("vendor")
        if "Vendor_Name" in text
        else pl.lit(None, pl.String).alias("vendor"),
        *_optional(
            frame,
            cu_count="Cu_Count",
            simd_count="Simd_Count",
            xcc_count="Num_Xcc",
            wave_size="Wave_Front_Size",
            max_waves_per_simd="Max_Waves_Per_Simd",
        ),
        *([(1024 * integer("Lds_Size_In_Kb")).alias("lds_bytes")] if "Lds_Size_In_Kb" in text else []),
        *(
            [agents.positive(integer("Local_Mem_Size")).alias("memory_bytes")]
            if "Local_Mem_Size" in text
            else []
        ),
        *(
            [agents.positive(real("Max_Engine_Clk_Fcompute")).alias("clock_mhz")]
            if "Max_Engine_Clk_Fcompute" in text
            else []
        ),
    )
    table, lost = drop_incomplete(table, ("agent_id",), source.name)
    return _part({"agents": table}, losses + lost)


def _part(tables: dict[str, pl.DataFrame], losses: list[Loss]) -> Part:
    return part("rocprofv3", tables, losses, clock="boot")


def _times() -> tuple[pl.Expr, pl.Expr]:
    return integer("Start_Timestamp").alias("start_ns"), integer("End_Timestamp").alias("end_ns")


def _dispatch_id(frame: pl.DataFrame) -> pl.Expr:
    if "Dispatch_Id" in frame.columns:
        return integer("Dispatch_Id").alias("dispatch_id")
    if PLACE in frame.columns:
        return pl.col(PLACE).cast(pl.Int64).alias("dispatch_id")
    return pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("dispatch_id")


def _agent(frame: pl.DataFrame, column: str) -> pl.Expr:
    """The number of an agent, written `4` up to ROCm 6.4 and `Agent 4` from 7.0."""
    if column not in frame.columns:
        return pl.lit(None, pl.Int64).alias("agent_id")
    return pl.col(column).str.extract(r"(\d+)\s*$").cast(pl.Int64, strict=False).alias("agent_id")


def _optional(frame: pl.DataFrame, **columns: str) -> list[pl.Expr]:
    return [integer(source).alias(name) for name, source in columns.items() if source in frame.columns]


def _sizes(frame: pl.DataFrame, prefix: str, name: str) -> list[pl.Expr]:
    return _optional(frame, **{f"{name}_{axis}": f"{prefix}_{axis.upper()}" for axis in "xyz"})


def _resources(frame: pl.DataFrame) -> list[pl.Expr]:
    wanted = {"lds_bytes": _LDS, "scratch_bytes": _SCRATCH, "vgprs": _VGPRS, "agprs": _AGPRS, "sgprs": _SGPRS}
    columns = {
        name: next((column for column in names if column in frame.columns), None)
        for name, names in wanted.items()
    }
    return [integer(column).alias(name) for name, column in columns.items() if column]


def _with_columns(required: frozenset[str], forbidden: str = "") -> Callable[[Peek], bool]:
    return lambda peek: required <= set(peek.csv_header) and forbidden not in peek.csv_header


def _timed_adapter(
    name: str, title: str, required: frozenset[str], read: Callable[..., Part], forbidden: str = ""
) -> Adapter:
    """An adapter of rows with times, which can also be surveyed and read in part."""
    whole = _adapter(name, title, required, read, forbidden)
    return replace(whole, survey=_survey, read_span=read)


def _survey(source: Source) -> Survey:
    outline = outline_csv(source, _START)
    return Survey(
        rows={"CSV": outline.rows},
        first_ns=min(outline.moments, default=None),
        last_ns=max(outline.moments, default=None),
        moments=outline.moments if outline.is_even else (),
        in_part=True,
    )


def _adapter(
    name: str, title: str, required: frozenset[str], read: Callable[[Source], Part], forbidden: str = ""
) -> Adapter:
    recognised_by = "CSV columns " + ", ".join(sorted(required))
    return Adapter(
        name=name,
        title=title,
        recognised_by=recognised_by,
        claims=_with_columns(required, forbidden),
        read=read,
    )


ADAPTERS = (
    _adapter("rocprofv3-counters-csv", "rocprofv3 counter_collection.csv", _COUNTERS, read_counters),
    _timed_adapter(
        "rocprofv3-kernel-csv",
        "rocprofv3 kernel_trace.csv (16 to 23 columns)",
        _KERNEL_TRACE,
        read_kernel_trace,
    ),
    _timed_adapter(
        "rocprofv3-api-csv",
        "rocprofv3 hip, hsa, marker, rccl, ... _api_trace.csv",
        _API_TRACE,
        read_api_trace,
    ),
    _timed_adapter("rocprofv3-copy-csv", "rocprofv3 memory_copy_trace.csv", _COPY_TRACE, read_copy_trace),
    _timed_adapter(
        "rocprofv3-allocation-csv",
        "rocprofv3 memory_allocation_trace.csv",
        _ALLOCATION_TRACE,
        read_allocation_trace,
    ),
    _timed_adapter(
        "rocprofv3-scratch-csv",
        "rocprofv3 scratch_memory_trace.csv",
        _SCRATCH_TRACE,
        read_scratch_trace,
        "Kernel_Name",
    ),
    _adapter("rocprofv3-agents-csv", "rocprofv3 agent_info.csv", _AGENT_INFO, read_agent_info),
)
