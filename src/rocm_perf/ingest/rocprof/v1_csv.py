"""rocprof (v1) results.csv, with which Omniperf 1.x filled its workloads too: one row a dispatch, one
column a counter, times only where they were asked for.

The wide layout is shared with rocprofv2 and with the other outputs of rocprof, so what reads it is here.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete, integer, read_csv, real
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_COUNTER_NAME = r"^[A-Za-z_]\w*(\[\d+\])*$"
_NOT_COLLECTED = "None"  # what rocprof writes for a counter that one dispatch does not have


@dataclass(frozen=True)
class Layout:
    """Where a wide table keeps what: column of `dispatches` -> the names that have held it."""

    columns: dict[str, tuple[str, ...]]
    ignored: frozenset[str]  # neither of `dispatches` nor a counter
    die: str | None = None  # the column that numbers accelerator dies, each with a row of its own

    def present(self, names: list[str]) -> dict[str, str]:
        """Column of `dispatches` -> the name that this table uses for it."""
        found = {
            column: next((name for name in known if name in names), None)
            for column, known in self.columns.items()
        }
        return {column: name for column, name in found.items() if name}

    def counters(self, names: list[str]) -> list[str]:
        """The names that are counters, because they are nothing else."""
        known = {name for group in self.columns.values() for name in group} | self.ignored | {self.die}
        unknown = pl.Series("name", [name for name in names if name not in known], pl.String)
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
            f"{source.name} lacks the column {', '.join(missing)}", "it names others in its first line"
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
    """`dispatches` and `counters` of a table of text with one row a dispatch."""
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
    """Both times or neither. A spreadsheet turns them into 8.1097E+14, of which no nanosecond is left."""
    whole = pl.col("__start_ns").is_not_null() & pl.col("__end_ns").is_not_null()
    rows = rows.with_columns(
        pl.when(whole).then(pl.col(name)).alias(name) for name in ("__start_ns", "__end_ns")
    )
    lost = rows["__end_ns"].null_count()
    return rows, [Loss(source, "times of dispatches that are not whole nanoseconds", lost)] if lost else []


def _ones(names: dict[str, str]) -> list[pl.Expr]:
    """The file holds only products (grid, workgroup); they stand in x so that totals are right."""
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
    (`TCC_HIT[0]`) and the rows that `by` holds together are one value."""
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
        "rocprof-csv",
        "rocprof (v1) results.csv, also of Omniperf 1.x",
        "CSV columns Index, KernelName",
        _claims,
        read_results,
        ("dispatches", "counters"),
    ),
)
