"""The CSV of calls that libraries logged (model/library_trace.py). Calls of RCCL are collectives too, without times."""

from __future__ import annotations

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.csv import drop_incomplete, integer, read_csv
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.model.library_trace import COLUMNS

_WHOLE = ("calls", "m", "n", "k", "batch_count", "size_bytes", "group_size", "rank", "pid")
_MOST_COLLECTIVES = 5_000_000  # rows; a trace with more keeps them in library_calls only


def read(source: Source) -> Part:
    frame, losses = read_csv(source)
    rows = frame.select(COLUMNS).with_columns(*(integer(name) for name in _WHOLE))
    narrow = pl.col("rank").cast(pl.Int32, strict=False)
    rows, lost = drop_incomplete(
        rows.with_columns(narrow).filter(pl.col("calls").is_null() | (pl.col("calls") > 0)),
        ("library", "call", "calls"),
        source.name,
    )
    if not rows.height:
        raise EmptyCaptureError(f"{source.name} holds no call", "no library logged one")
    collectives = rows.filter(pl.col("library") == "rccl")
    notices: tuple[str, ...] = ()
    if float(collectives["calls"].cast(pl.Float64).sum()) > _MOST_COLLECTIVES:
        collectives = collectives.clear()
        notices = (f"more than {_MOST_COLLECTIVES:,} collectives were logged: only their totals are kept",)
    tables = {"library_calls": rows, "collectives": _one_each(collectives)}
    return part("library logs", tables, losses + lost, notices=notices)


def _one_each(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each call, without times."""
    each = rows.select(pl.all().exclude("calls").repeat_by("calls").explode())
    return each.select(
        pl.col("call").alias("name"),
        "size_bytes",
        pl.col("dtypes").alias("dtype"),
        "group",
        "group_size",
        "rank",
        "pid",
    )


ADAPTERS = (
    Adapter(
        name="rocm-perf-library-trace",
        title="rocm-perf library_trace.csv (calls of rocBLAS, hipBLASLt, MIOpen, Tensile, RCCL)",
        recognised_by="CSV columns library, call, calls, m, n, k, ..., parameters",
        claims=lambda peek: peek.csv_header == COLUMNS,
        read=read,
        fills=("library_calls", "collectives"),
    ),
)
