"""rocprof-compute (omniperf 2.x and later): the counter files of a workload folder, wide and long, with the
dispatches they belong to. config.py reads its machine, roofline and analysis files.

A counter that is recorded for each channel (`TCC_HIT[0]`, `TCC_HIT[1]`, ...) is summed and named without the
channel (`TCC_HIT`), as rocprofv3 names it. The tool's own `TCC_HIT_sum` came from another run of the
application, so it is kept beside it as recorded.

Every file of the folder is another run that the tool itself joins by Dispatch_ID. The process id would tear
those runs apart, so it is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict

import polars as pl

from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete, read_csv, real
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof_compute import config
from rocm_perf.model.run import ROUNDED_FILE, Loss

_DISPATCH = frozenset({"Dispatch_ID", "Kernel_Name", "GPU_ID"})
_WIDE = _DISPATCH | {"Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup"}
_LONG = _WIDE | {"Counter_Name", "Counter_Value", "Start_Timestamp"}

# Names of the columns that are not counters; joining the runs leaves copies such as Wave_Size_1.
_DESCRIBES_DISPATCH = re.compile(
    r"(Dispatch_ID|Kernel_Name|GPU_ID|Grid_Size|Workgroup_Size|LDS_Per_Workgroup|Scratch_Per_Workitem|Arch_VGPR"
    r"|Accum_VGPR|SGPR|[Ww]ave_[Ss]ize|obj|sig|[Qq]ueue[-_](ID|id|index|Index)|PID|TID|pid|tid|Kernel_ID"
    r"|Correlation_ID|XCC_Index|Node_ID|DispatchNs|CompleteNs|Start_Timestamp|End_Timestamp)(_\d+)?"
)
_COUNTER = re.compile(r"([A-Za-z]\w*?)(\[\d+\])?")
_RENAMED_TWIN = re.compile(r".*_duplicated_\d+")
_ADDED_HERE = ("dispatch_id", "kernel", "agent_id")

_JOINED = "the counters come from several runs of the application; the times are the tool's average over them"
_FIRST = "the counters come from several runs of the application; the times are those of the first"


def read_wide(source: Source) -> Part:
    """One row per dispatch, one column per counter (pmc_perf.csv, SQ_*LEVEL*.csv), or none (timestamps.csv)."""
    frame, losses = read_csv(source)
    rows, lost = drop_incomplete(_named(frame), ("dispatch_id", "kernel"), source.name)
    columns = counter_columns(rows.columns)
    counters = _unpivoted(rows, columns)
    if "XCC_Index" in rows.columns:
        counters = _summed(counters)
    dispatches = _dispatches(rows)
    if "XCC_Index" not in rows.columns and dispatches.height < rows.height:
        lost.append(Loss(source.name, "rows that repeat a Dispatch_ID", rows.height - dispatches.height))
        counters = counters.unique(["dispatch_id", "counter"], keep="first", maintain_order=True)
    lost += _unusable_values(rows, columns, source.name)
    joined = any(column.endswith("_1") and _DESCRIBES_DISPATCH.fullmatch(column) for column in rows.columns)
    return _part(
        {"dispatches": dispatches, "counters": counters}, losses + lost, rows, _JOINED if joined else None
    )


def read_long(source: Source) -> Part:
    """One row per dispatch and counter, as the rocpd backend writes (ROCm 7.0)."""
    frame, losses = read_csv(source)
    rows = _named(frame).with_columns(
        value=real("Counter_Value"), counter=pl.col("Counter_Name").str.replace(r"\[\d+\]$", "")
    )
    rows = rows.with_columns(value=pl.when(pl.col("value").is_finite()).then("value"))
    rows, lost = drop_incomplete(rows, ("dispatch_id", "kernel", "counter", "value"), source.name)
    counters = _summed(rows.select("dispatch_id", "agent_id", "counter", "value"))
    dispatches = _dispatches(rows)
    joined = rows.select("dispatch_id", "Start_Timestamp").n_unique() > dispatches.height
    return _part(
        {"dispatches": dispatches, "counters": counters}, losses + lost, rows, _FIRST if joined else None
    )


def read_dispatch_list(source: Source) -> Part:
    """Which kernels ran (pmc_dispatch_info.csv). pmc_perf.csv has the same dispatches in full."""
    frame, losses = read_csv(source)
    rows, lost = drop_incomplete(_named(frame), ("dispatch_id", "kernel"), source.name)
    notice = f"a list of {rows.height:,} dispatches without times or counters: only its kernel names are used"
    kernels = rows.select("kernel").unique(maintain_order=True)
    return part("rocprof-compute", {"kernels": kernels}, losses + lost, notices=(notice,))


def counter_columns(columns: list[str]) -> dict[str, list[str]]:
    """The counters of a wide file, and the columns that each consists of."""
    channels: defaultdict[str, list[str]] = defaultdict(list)
    for column in columns:
        match = _COUNTER.fullmatch(column)
        if match and not _DESCRIBES_DISPATCH.fullmatch(column) and not _RENAMED_TWIN.fullmatch(column):
            channels[match.group(1)].append(column)
    return {
        name: [name] if name in parts else parts
        for name, parts in channels.items()
        if name not in _ADDED_HERE
    }


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        _whole("Dispatch_ID").alias("dispatch_id"),
        domains.kernel_name(pl.col("Kernel_Name")).alias("kernel"),
        _whole("GPU_ID").alias("agent_id"),
    )


def _whole(column: str) -> pl.Expr:
    """An integer, including one that pandas turned into `7.0`, but not one that lost digits to `1.62068E+14`."""
    return pl.col(column).str.strip_chars().str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)


def _nanoseconds(column: str) -> pl.Expr:
    """The tool averages the times of several runs, which can end in half a nanosecond."""
    return pl.col(column).str.extract(r"^\s*(\d{1,19})(?:\.\d+)?\s*$").cast(pl.Int64, strict=False)


def _dispatches(rows: pl.DataFrame) -> pl.DataFrame:
    times = {"start_ns": "Start_Timestamp", "end_ns": "End_Timestamp"}
    wanted = {
        "queue_id": ("Queue_ID", "queue-id"),
        "tid": ("TID", "tid"),
        "correlation_id": ("Correlation_ID",),
        "grid_x": ("Grid_Size",),
        "workgroup_x": ("Workgroup_Size",),
        "lds_bytes": ("LDS_Per_Workgroup",),
        "scratch_bytes": ("Scratch_Per_Workitem",),
        "vgprs": ("Arch_VGPR",),
        "agprs": ("Accum_VGPR",),
        "sgprs": ("SGPR",),
    }
    recorded = [(name, next((c for c in names if c in rows.columns), None)) for name, names in wanted.items()]
    # The files have only products (Grid_Size, Workgroup_Size); they go into x, which keeps totals right.
    ones = [pl.lit(1, pl.Int64).alias(f"{size}_{axis}") for size in ("grid", "workgroup") for axis in "yz"]
    return rows.unique("dispatch_id", keep="first", maintain_order=True).select(
        "dispatch_id",
        "kernel",
        "agent_id",
        *(_nanoseconds(c).alias(name) for name, c in times.items() if c in rows.columns),
        *(_whole(c).alias(name) for name, c in recorded if c),
        *ones,
    )


def _unpivoted(rows: pl.DataFrame, columns: dict[str, list[str]]) -> pl.DataFrame:
    totals = [
        pl.sum_horizontal([real(part_of) for part_of in parts], ignore_nulls=False).alias(name)
        for name, parts in columns.items()
    ]
    long = rows.select("dispatch_id", "agent_id", *totals).unpivot(
        index=["dispatch_id", "agent_id"], variable_name="counter", value_name="value"
    )
    return long.cast({"value": pl.Float64}).filter(pl.col("value").is_finite())


def _summed(counters: pl.DataFrame) -> pl.DataFrame:
    """Instances of one counter and dispatch in one row."""
    return counters.group_by("dispatch_id", "counter", maintain_order=True).agg(
        pl.col("value").sum(), pl.col("agent_id").first()
    )


def _unusable_values(rows: pl.DataFrame, columns: dict[str, list[str]], name: str) -> list[Loss]:
    cells = [
        pl.col(c).is_not_null() & ~real(c).is_finite().fill_null(False)
        for parts in columns.values()
        for c in parts
    ]
    if not cells or not rows.height:
        return []
    unusable = int(rows.select(pl.sum_horizontal([cell.sum() for cell in cells])).item())
    return [Loss(name, "counter values that are not numbers", unusable)] if unusable else []


def _part(
    tables: dict[str, pl.DataFrame], losses: list[Loss], rows: pl.DataFrame, joined: str | None
) -> Part:
    notices = [joined] if joined else []
    starts = rows["Start_Timestamp"] if "Start_Timestamp" in rows.columns else pl.Series(dtype=pl.String)
    if starts.str.contains(r"\d[eE]\+?\d").any():
        notices.append(ROUNDED_FILE)
    return part("rocprof-compute", tables, losses, clock="boot", notices=tuple(notices))


def _claims_wide(peek: Peek) -> bool:
    """rocprofv2's own CSV has the same columns with Queue_ID, but never a Kernel_ID."""
    header = set(peek.csv_header)
    return header >= _WIDE and not header >= _LONG and ("Queue_ID" not in header or "Kernel_ID" in header)


ADAPTERS = (
    Adapter(
        name="rocprof-compute-long-csv",
        title="rocprof-compute pmc_perf.csv, one row per counter (ROCm 7.0)",
        recognised_by="CSV columns " + ", ".join(sorted(_LONG)),
        claims=lambda peek: set(peek.csv_header) >= _LONG,
        read=read_long,
        fills=("dispatches", "counters"),
    ),
    Adapter(
        name="rocprof-compute-wide-csv",
        title="rocprof-compute and omniperf 2.x pmc_perf.csv, SQ_*LEVEL*.csv, timestamps.csv",
        recognised_by="CSV columns "
        + ", ".join(sorted(_WIDE))
        + ", and no Queue_ID unless there is a Kernel_ID",
        claims=_claims_wide,
        read=read_wide,
        fills=("dispatches", "counters"),
    ),
    Adapter(
        name="rocprof-compute-dispatch-list",
        title="rocprof-compute pmc_dispatch_info.csv",
        recognised_by="the CSV columns Dispatch_ID, Kernel_Name, GPU_ID and no others",
        claims=lambda peek: set(peek.csv_header) == _DISPATCH,
        read=read_dispatch_list,
        fills=("kernels",),
    ),
    *config.ADAPTERS,
)
