"""rocprofv2: the wide CSV of its profiler, the CSVs of its tracer, and both as its command line prints them
(`Key(value), Key(value)`)."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete, integer
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof.roctracer import (
    POP,
    PUSH,
    START,
    STOP,
    RangeEvent,
    numbers,
    pair_ranges,
    split,
    text_lines,
)
from rocm_perf.ingest.rocprof.v1_csv import Layout, read_columns, sum_counters, wide_tables
from rocm_perf.model.run import Loss

# Newest names first; those of ROCm 5.5 and of the command line follow.
LAYOUT = Layout(
    {
        "dispatch_id": ("Dispatch_ID",),
        "kernel": ("Kernel_Name",),
        "start_ns": ("Start_Timestamp", "Begin_Timestamp"),
        "end_ns": ("End_Timestamp",),
        "agent_id": ("GPU_ID",),
        "queue_id": ("Queue_ID",),
        "pid": ("PID", "Process_ID"),
        "tid": ("TID", "Thread_ID"),
        "correlation_id": ("Correlation_ID",),
        "grid_x": ("Grid_Size", "GRD"),
        "workgroup_x": ("Workgroup_Size", "WGR"),
        "lds_bytes": ("LDS_Per_Workgroup", "LDS"),
        "scratch_bytes": ("Scratch_Per_Workitem", "Scratch_Size", "SCR"),
        "vgprs": ("Arch_VGPR",),
        "agprs": ("Accum_VGPR", "ACCUM_VGPR", "Accumulative_VGPR"),
        "sgprs": ("SGPR",),
    },
    frozenset({"Queue_Index", "SIG", "OBJ", "Wave_Size", "Kernel_ID"}),
    die="XCC_Index",
)
_REQUIRED = ("Dispatch_ID", "GPU_ID", "Kernel_Name")

# The rows of a tracer file may have a kernel without a column for it in the header, so lines are matched.
_CSV_SPAN = (
    r'^(?P<domain>[A-Z_]+_DOMAIN),"?(?P<operation>[^",]*)"?,(?:"?(?P<kernel>.*?)"?,)?'
    r"(?P<start_ns>\d+),(?P<end_ns>\d+),(?P<correlation_id>\d+)\s*$"
)
_CSV_RANGE = r'^(?P<domain>ROCTX_DOMAIN),(?:(?P<range>\d+),)?(?:"(?P<name>.*)")?,(?P<time_ns>\d+)\s*$'
_CLI_SPAN = (
    r"^Domain\((?P<domain>[A-Z_]+)\), (?:Function|Operation_Name)\((?P<operation>[^()]*)\), "
    r"(?:Kernel_Name\((?P<kernel>.*)\), )?Start_Timestamp\((?P<start_ns>\d+)\), "
    r"End_Timestamp\((?P<end_ns>\d+)\), Correlation_ID\((?P<correlation_id>\d+)\)"
)
_CLI_RANGE = (
    r"^Domain\((?P<domain>ROCTX_DOMAIN)\), Timestamp\((?P<time_ns>\d+)\),(?: ROCTX_ID\((?P<range>\d+)\),)?"
    r"(?: ROCTX_Message\((?P<name>.*)\))?\s*$"
)
_CLI_DISPATCH = (
    r'^(?P<before>Dispatch_ID\(\d+\), .*?), Kernel_Name\("(?P<Kernel_Name>.*)"\), '
    r"(?P<after>Begin_Timestamp\(.*)$"
)
_RECORD = r"^(Domain\(|Dispatch_ID\(|[A-Z_]+_DOMAIN,)"
_CLI_CLAIM = re.compile(
    r"^(ROCProfilerV2: |Domain\([A-Z_]+_DOMAIN\), |Dispatch_ID\(\d+\), GPU_ID\()", re.MULTILINE
)
_VALUE = r"([A-Za-z_]\w*(?:\[\d+\])*)\(([^()]*)\)"

_NO_WORK = r"(?i)marker|barrier"
_COPY = r"(?i)copy|memcpy|fill|memset"
_NAMELESS = "The tracer of rocprofv2 writes no process, thread or GPU ids."
_AMBIGUOUS = (
    "rocprofv2 does not distinguish marks from pushed ranges: their begins are shown, without an end."
)


def read_counters(source: Source) -> Part:
    """The wide CSV of the profiler."""
    frame, losses = read_columns(source, _REQUIRED)
    tables, lost = wide_tables(frame, LAYOUT, source.name)
    return part("rocprofv2", _without_zero_ids(tables), losses + lost, clock="boot")


def read_tracer(source: Source) -> Part:
    """A CSV of the tracer: calls, operations on the GPU, or ranges."""
    return _read_lines(source, _CSV_SPAN, _CSV_RANGE)


def read_printed(source: Source) -> Part:
    """What rocprofv2 printed, between lines of the program."""
    return _read_lines(source, _CLI_SPAN, _CLI_RANGE)


def _read_lines(source: Source, span: str, mark: str) -> Part:
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    spans, rest = split(text_lines(content.data), span)
    marks, rest = split(rest, mark)
    printed, rest = split(rest, _CLI_DISPATCH)
    if broken := int(rest.str.contains(_RECORD).sum()):
        losses.append(Loss(source.name, "truncated lines", broken))
    ranges, unpaired, notices = _ranges(marks, source.name)
    dispatches, lost = _printed_dispatches(printed, source.name)
    traced, untimed = _traced(spans, source.name)
    if dispatches:
        traced.pop("dispatches")  # the profiler says more about the same kernels
    tables = {**traced, "ranges": ranges, **dispatches}
    if not any(table.height for table in tables.values()):
        raise EmptyCaptureError(
            f"{source.name} holds no record", "rocprofv2 ran, but saw no kernel, call or range"
        )
    if spans.height or marks.height:
        notices = (*notices, _NAMELESS)
    return part("rocprofv2", tables, losses + unpaired + lost + untimed, clock="boot", notices=notices)


def _traced(spans: pl.DataFrame, source: str) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    """Calls, and what the GPU did (the domains named OPS)."""
    rows = spans.with_columns(
        *numbers(spans, "start_ns", "end_ns", "correlation_id"), pl.col("kernel").replace("", None)
    )
    rows, lost = drop_incomplete(rows, ("start_ns", "end_ns", "correlation_id"), source)
    times = ["start_ns", "end_ns", "correlation_id"]
    on_gpu = pl.col("domain").str.contains("_OPS_")
    is_copy = pl.col("operation").str.contains(_COPY) & pl.col("kernel").is_null()
    work = rows.filter(on_gpu, ~pl.col("operation").str.contains(_NO_WORK))
    kernel = domains.kernel_name(pl.coalesce("kernel", "operation")).alias("kernel")
    tables = {
        "api_calls": rows.filter(~on_gpu).select(
            domains.normalised(pl.col("domain")).alias("domain"), pl.col("operation").alias("name"), *times
        ),
        "copies": work.filter(is_copy).select(domains.copy_kind(pl.col("operation")).alias("kind"), *times),
        "dispatches": work.filter(~is_copy).select(kernel, *times),
    }
    return tables, lost


def _printed_dispatches(lines: pl.DataFrame, source: str) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    """The profiler's lines as a table; what follows the known keys is counters."""
    if lines.is_empty():
        return {}, []
    keys = {name for names in LAYOUT.columns.values() for name in names} - {"Kernel_Name"}
    text = pl.concat_str("before", "after", separator=", ")
    frame = lines.select(
        "Kernel_Name",
        "after",
        *(text.str.extract(rf"(?:^|, ){key}\(([^()]*)\)").alias(key) for key in sorted(keys)),
    )
    frame = frame.select(name for name in frame.columns if frame[name].null_count() < frame.height)
    if not set(_REQUIRED) <= set(frame.columns):
        return {}, [Loss(source, "lines of dispatches that lack fields", lines.height)]
    tables, lost = wide_tables(frame.drop("after"), LAYOUT, source)
    long = (
        frame.with_row_index("row")
        .select(
            "row", "after", *(integer(name).alias(column) for column, name in _identifiers(frame).items())
        )
        .with_columns(pl.col("after").str.extract_all(_VALUE))
        .explode("after")
        .with_columns(pl.col("after").str.extract_groups(_VALUE).struct.rename_fields(["counter", "text"]))
        .unnest("after")
        .filter(~pl.col("counter").is_in([*keys, *LAYOUT.ignored]))
        .drop_nulls("dispatch_id")
    )
    counters, unread = sum_counters(long, ["row"], source)
    return _without_zero_ids({**tables, "counters": counters}), lost + unread


def _identifiers(frame: pl.DataFrame) -> dict[str, str]:
    present = LAYOUT.present(frame.columns)
    return {column: present[column] for column in ("pid", "dispatch_id", "agent_id") if column in present}


def _without_zero_ids(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The profiler writes correlation id 0 for "none"."""
    dispatches = tables["dispatches"]
    if "correlation_id" in dispatches.columns:
        dispatches = dispatches.with_columns(pl.col("correlation_id").replace(0, None))
    return {**tables, "dispatches": dispatches}


def _ranges(marks: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[Loss], tuple[str, ...]]:
    """Ranges with a number are started and stopped by it. Number 0 is a mark, a push or, without a message,
    a pop; only where pushes and pops come out even is it certain that there were no marks. Where it is not, ends that
    are left over are the tool's way of writing, and no loss."""
    rows = (
        marks.with_columns(numbers(marks, "time_ns", "range"))
        .drop_nulls("time_ns")
        .with_columns(pl.col("range").fill_null(0))
    )
    unnumbered = rows.filter(pl.col("range") == 0)
    opened = unnumbered["name"].count()
    certain = opened == unnumbered.height - opened
    events: list[RangeEvent] = []
    for time, number, name in rows.select("time_ns", "range", "name").iter_rows():
        if number:
            events.append((time, None, None, STOP if name is None else START, number, name))
        elif certain or name is not None:
            events.append((time, None, None, POP if name is None else PUSH, number, name))
    ranges, losses = pair_ranges(events, source)
    if certain:
        return ranges, losses, ()
    _, losses = pair_ranges((event for event in events if event[4]), source)
    return ranges.with_columns(pl.lit(None, pl.Int64).alias("depth")), losses, (_AMBIGUOUS,)


def refuse_pc_samples(source: Source) -> Part:
    raise InputError(
        f"{source.name} holds PC samples of rocprofv2",
        "they name no kernel and no instruction, and AMD has withdrawn the feature",
        "Sample with `rocprofv3 --pc-sampling-beta-enabled` instead.",
    )


def _claims_counters(peek: Peek) -> bool:
    header = set(peek.csv_header)
    return {*_REQUIRED, "Queue_ID", "PID", "TID"} <= header


def _claims_tracer(peek: Peek) -> bool:
    header = peek.csv_header
    return header in {
        ("Domain", "Function", "Start_Timestamp", "End_Timestamp", "Correlation_ID"),
        ("Domain", "Function", "Kernel_Name", "Start_Timestamp", "End_Timestamp", "Correlation_ID"),
        ("Domain", "Operation", "Start_Timestamp", "Stop_Timestamp", "Correlation_ID"),
        ("Domain", "Operation", "Kernel_Name", "Start_Timestamp", "Stop_Timestamp", "Correlation_ID"),
        ("Domain", "ROCTX_ID", "Message", "Timestamp"),
    }


def _claims_printed(peek: Peek) -> bool:
    return not peek.is_binary and peek.json_kind is None and _CLI_CLAIM.search(peek.text) is not None


def _claims_pc_samples(peek: Peek) -> bool:
    return peek.csv_header == ("Dispatch_ID", "Timestamp", "GPU_ID", "PC_Sample", "Shader_Engines")


ADAPTERS = (
    Adapter(
        name="rocprofv2-counters-csv",
        title="rocprofv2 results_<pid>.csv (kernels and counters)",
        recognised_by="CSV columns Dispatch_ID, GPU_ID, Queue_ID, PID, TID, Kernel_Name",
        claims=_claims_counters,
        read=read_counters,
        fills=("dispatches", "counters"),
    ),
    Adapter(
        name="rocprofv2-tracer-csv",
        title="rocprofv2 hip_api_trace, hsa_api_trace, hcc_ops_trace, async_copy_trace, roctx_trace CSV",
        recognised_by="CSV columns Domain, Function or Operation, Start_Timestamp, ..., Correlation_ID",
        claims=_claims_tracer,
        read=read_tracer,
        fills=("api_calls", "dispatches", "copies", "ranges"),
    ),
    Adapter(
        name="rocprofv2-text",
        title="rocprofv2 output in the terminal",
        recognised_by="lines like `Dispatch_ID(1), GPU_ID(4), ...` or `Domain(HIP_API_DOMAIN), ...`",
        claims=_claims_printed,
        read=read_printed,
        fills=("dispatches", "counters", "api_calls", "copies", "ranges"),
    ),
    Adapter(
        name="rocprofv2-pc-samples",
        title="rocprofv2 PC samples (not read)",
        recognised_by="CSV column PC_Sample",
        claims=_claims_pc_samples,
        read=refuse_pc_samples,
    ),
)
