"""rocprof (v1) results.db: the SQLite file from which rocprof makes its other outputs. It holds the same, and the
numbers that join calls with what they started."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.io.sqlite import Database, open_database
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof.v1_csv import LAYOUT, wide_tables
from rocm_perf.ingest.rocprof.v1_json import assemble, span_tables, typed_spans
from rocm_perf.model.run import Loss

_KINDS = {"HIP": "hip", "HSA": "hsa", "OPS": "gpu", "COPY": "copy", "rocTX": "marker"}
_TABLES = {*_KINDS, "KERN"}
_SPAN_COLUMNS = (
    "BeginNs",
    "EndNs",
    "pid",
    "tid",
    "proc-id",
    "dev-id",
    "queue-id",
    "stream-id",
    "Name",
    "Index",
    "args",
)
_SAFE_COLUMN = re.compile(r"[A-Za-z_][\w\-]*(\[\d+\])*")
_HSA_COPY = "async-copy"  # a copy in the HSA trace, numbered like an HSA call
_MAX_COLUMNS = 2000


def read_database(source: Source) -> Part:
    """Calls, kernels, copies, ranges and counters."""
    with open_database(source) as database:
        spans, lost = drop_incomplete(_spans(database), ("start_ns", "end_ns", "Name"), source.name)
        profiled, unread = _profiled(database, source.name)
    return assemble(source, span_tables(spans), profiled, lost + unread)


def _spans(database: Database) -> pl.DataFrame:
    """Every row of the tracer's tables, with its table in `kind`."""
    frames = [
        _text(database, table, _SPAN_COLUMNS).with_columns(pl.lit(kind).alias("kind"))
        for table, kind in _KINDS.items()
        if database.has(table)
    ]
    schema = dict.fromkeys([*_SPAN_COLUMNS, "kind"], pl.String)
    rows = typed_spans(pl.concat([pl.DataFrame(schema=schema), *frames], how="diagonal"))
    size = pl.col("args").str.extract(r"\bsizeBytes\((\d+)\)").cast(pl.Int64, strict=False)
    rows = rows.with_columns(_correlation(rows), size.alias("size_bytes")).drop("args")
    sizes = rows.filter(pl.col("kind").is_in(["hip", "hsa"])).drop_nulls(
        ["size_bytes", "correlation_id", "pid"]
    )
    sizes = sizes.unique(["pid", "correlation_id"], keep="none").select("pid", "correlation_id", "size_bytes")
    return rows.drop("size_bytes").join(
        sizes, on=["pid", "correlation_id"], how="left", maintain_order="left"
    )


def _correlation(rows: pl.DataFrame) -> pl.Expr:
    """The correlation id: HIP and HSA calls are numbered separately, and operations take the number of the HIP call if
    there is one."""
    index = pl.col("Index").cast(pl.Int64, strict=False)
    if (rows["kind"] == "hip").any():
        foreign = (pl.col("kind") == "hsa") | (pl.col("Name") == _HSA_COPY)
        index = pl.when(~foreign).then(index)
    return index.alias("correlation_id")


def _profiled(database: Database, source: str) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    """The tables from KERN, which is results.csv as a table. Its names are stored with their quotes."""
    if not database.has("KERN"):
        return {}, []
    columns = [name for name in database.columns("KERN") if _SAFE_COLUMN.fullmatch(name)][:_MAX_COLUMNS]
    if not {"Index", "KernelName"} <= set(columns):
        return {}, [Loss(source, "a table KERN without Index and KernelName")]
    frame = _text(database, "KERN", tuple(columns))
    if frame.is_empty():
        return {}, []
    return wide_tables(
        frame.with_columns(pl.col("KernelName").str.replace(r'^"(.*)"$', "$1")), LAYOUT, source
    )


def _text(database: Database, table: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """Columns as text, because SQLite returns 0 for a missing number."""
    frame = database.frame(table, texts=columns)
    return frame.with_columns(pl.all().cast(pl.String))


def _claims(peek: Peek) -> bool:
    try:
        tables = set(peek.sqlite_tables)
    except InputError:
        return False
    return len(tables & _TABLES) >= 2 or (bool(tables) and tables <= _TABLES)


ADAPTERS = (
    Adapter(
        name="rocprof-db",
        title="rocprof (v1) results.db",
        recognised_by="SQLite tables HIP, HSA, OPS, COPY, KERN, rocTX",
        claims=_claims,
        read=read_database,
        fills=("dispatches", "counters", "api_calls", "copies", "ranges"),
    ),
)
