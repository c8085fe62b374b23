"""rocprof (v1) results.csv, which Omniperf 1.x also wrote into its workloads: one row per dispatch, one column per
counter, times only if they were requested. rocprofv2 and the other outputs of rocprof share the wide layout, and use
this reader.
"""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete, integer, read_csv, real
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import ROUNDED_ROWS, Loss

_COUNTER_NAME = r"^[A-Za-z_]\w*(\[\d+\])*$"
_NOT_COLLECTED = "None"  # what rocprof writes for a counter that a dispatch lacks


class Layout(msgspec.Struct, frozen=True):
    """The layout of a wide table: column of `dispatches` -> the names that it has had."""

    columns: dict[str, tuple[str, ...]]
    ignored: frozenset[str]  # neither of `dispatches` nor a counter
    die: str | None = None  # the column that numbers accelerator dies, each with a row of its own

    def present(self, names: list[str]) -> dict[str, str]:
        """Column of `dispatches` -> the name that this table uses for it."""
        columns = {
            column: next((name for name in aliases if name in names), None)
            for column, aliases in self.columns.items()
        }
        return {column: name for column, name in columns.items() if name}

    def counters(self, names: list[str]) -> list[str]:
        """The names of counters: those that are nothing else."""
        others = {name for group in self.columns.values() for name in group} | self.ignored | {self.die}
        unknown = pl.Series("name", [name for name in names if name not in others], pl.String)
        return list(unknown.filter(unknown.str.contains(_COUNTER_NAME)))


LAYOUT = Layout(
    {
        "dispatch_id": ("Index",),
        "kernel": ("KernelName",),
        "start_ns": ("BeginNs",),
        "end_ns": ("EndNs",),
        "agent_id": ("gpu-id",),
        "queue_id": ("queue-id",),
        "pid": ("pid",),
        "tid": ("tid",),
        "grid_x": ("grd",),
        "workgroup_x": ("wgr",),
        "lds_bytes": ("lds",),
        "scratch_bytes": ("scr",),
        "vgprs": ("arch_vgpr", "vgpr"),
        "agprs": ("accum_vgpr",),
        "sgprs": ("sgpr",),
    },
    frozenset({"queue-index", "sig", "obj", "fbar", "wave_size", "DispatchNs", "CompleteNs", "DurationNs"}),
)


def read_results(source: Source) -> Part:
    """Dispatches and, where they were collected, their counters."""
    frame, losses = read_columns(source, ("Index", "KernelName"))
    tables, lost = wide_tables(frame, LAYOUT, source.name)
    return part("rocprof", tables, losses + lost, clock="boot")


def read_columns(source: Source, required: tuple[str, ...]) -> tuple[pl.DataFrame, list[Loss]]:
    """A CSV as text, its column names trimmed and its blank lines dropped; raises if a column is missing."""
    frame, losses = read_csv(source)
    names = [name.strip() for name in frame.columns]
    if len(set(names)) == len(names):
        frame.columns = names
    missing = [name for name in required if name not in frame.columns]
    if missing:
        raise InputError(
            f"{source.name} lacks the column {', '.join(missing)}", "its first line names others"
        )
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    if frame.is_empty():
        raise EmptyCaptureError(
            f"{source.name} has no rows", "the profiler wrote the column names, but recorded nothing"
        )
    return frame, losses


def wide_tables(
    frame: pl.DataFrame, layout: Layout, source: str
) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    """`dispatches` and `counters` of a table of text with one row per dispatch."""
    names = layout.present(frame.columns)
    essential = [names[column] for column in ("dispatch_id", "kernel", "end_ns") if column in names]
    frame, losses = drop_incomplete(frame, tuple(essential), source)
    rows = frame.with_columns(
        domains.kernel_name(pl.col(names["kernel"])).alias("__kernel"),
        *(integer(name).alias(f"__{column}") for column, name in names.items() if column != "kernel"),
    )
    if "start_ns" in names and "end_ns" in names:
        rows, untimed = _whole_times(rows, source)
        losses = losses + untimed
    dispatches = rows.select(*(pl.col(f"__{column}").alias(column) for column in names), *_ones(names))
    if layout.die in frame.columns:
        dispatches = dispatches.unique(_identity(names), keep="first", maintain_order=True)
    counters, unread = _counters(rows, layout, names, source)
    return {"dispatches": dispatches, "counters": counters}, losses + unread


def finite(value: pl.Expr) -> pl.Expr:
    """The value, or null where it is not a number."""
    return pl.when(value.is_finite()).then(value)


def _whole_times(rows: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[Loss]]:
    """Both times or neither. A spreadsheet turns them into 8.1097E+14, which loses the nanoseconds."""
    whole = pl.col("__start_ns").is_not_null() & pl.col("__end_ns").is_not_null()
    rows = rows.with_columns(
        pl.when(whole).then(pl.col(name)).alias(name) for name in ("__start_ns", "__end_ns")
    )
    lost = rows["__end_ns"].null_count()
    return rows, [Loss(source, ROUNDED_ROWS, lost)] if lost else []


def _ones(names: dict[str, str]) -> list[pl.Expr]:
    """The sizes of a file that has only products (grid, workgroup): they go into x, which keeps totals right."""
    sizes = [size for size in ("grid", "workgroup") if f"{size}_x" in names]
    return [pl.lit(1, pl.Int64).alias(f"{size}_{axis}") for size in sizes for axis in "yz"]


def _identity(names: dict[str, str]) -> list[str]:
    return [column for column in ("pid", "dispatch_id") if column in names]


def _counters(
    rows: pl.DataFrame, layout: Layout, names: dict[str, str], source: str
) -> tuple[pl.DataFrame, list[Loss]]:
    wanted = [name for name in layout.counters(rows.columns) if not name.startswith("__")]
    if not wanted:
        return pl.DataFrame(), []
    kept = [column for column in ("pid", "dispatch_id", "agent_id") if column in names]
    long = (
        rows.with_row_index("row")
        .select("row", *(pl.col(f"__{column}").alias(column) for column in kept), *wanted)
        .unpivot(wanted, index=["row", *kept], variable_name="counter", value_name="text")
    )
    return sum_counters(long, _identity(names) if layout.die in rows.columns else ["row"], source)


def sum_counters(long: pl.DataFrame, by: list[str], source: str) -> tuple[pl.DataFrame, list[Loss]]:
    """`counters` of rows with row, counter, text and the columns to keep: the instances of a counter
    (`TCC_HIT[0]`) and the rows that `by` groups are one value."""
    kept = [name for name in long.columns if name not in ("row", "counter", "text")]
    values = long.filter(pl.col("text").is_not_null(), pl.col("text") != _NOT_COLLECTED).with_columns(
        finite(real("text")).alias("value"), pl.col("counter").str.replace(r"\[.*$", "")
    )
    unread = values["value"].null_count()
    first = [pl.col(name).first() for name in kept if name not in by]
    counters = (
        values.drop_nulls("value")
        .group_by(*by, "counter", maintain_order=True)
        .agg(pl.col("row").first().alias("first_row"), *first, pl.col("value").sum())
        .sort("first_row", maintain_order=True)
        .select(*kept, "counter", finite(pl.col("value")))
        .drop_nulls("value")
    )
    return counters, [Loss(source, "counter values that are not numbers", unread)] if unread else []


def _claims(peek: Peek) -> bool:
    return {"Index", "KernelName"} <= set(peek.csv_header)


ADAPTERS = (
    Adapter(
        name="rocprof-csv",
        title="rocprof (v1) results.csv, also of Omniperf 1.x",
        recognised_by="CSV columns Index, KernelName",
        claims=_claims,
        read=read_results,
        fills=("dispatches", "counters"),
    ),
)
