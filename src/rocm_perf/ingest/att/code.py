"""Thread traces (rocprofv3 --att) once decoded: what each instruction of a kernel cost. The stats CSV and
code.json hold the same rows; PC sampling exports code.json too. waves.py reads the waves.

A thread trace counts cycles of the shader clock, not nanoseconds.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, NotARecordingError
from rocm_perf.ingest import domains
from rocm_perf.ingest.att import counters, waves
from rocm_perf.ingest.att.waves import dispatch_of
from rocm_perf.ingest.io import json
from rocm_perf.ingest.io.csv import drop_incomplete, integer, read_csv
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_STATS = frozenset({"vaddr", "instruction", "hitcount", "latency", "stall", "idle"})
_COUNTS = {"hits": "Hit", "latency_cycles": "Latency", "stall_cycles": "Stall", "idle_cycles": "Idle"}
_SAMPLES = {"samples_issued": "PC_Issued", "samples_stalled": "PC_Stalled"}
# The columns of a row of code.json; PC sampling adds more, and names them in `header`.
_COLUMNS = ("ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle")
_CODE = re.compile(rb'\s*\{\s*"code"\s*:\s*\[\s*\[\s*"')
_NO_CODE = re.compile(rb'\s*\{\s*"code"\s*:\s*(null|\[\s*\])')
_DECODE_FIRST = (
    "Check that the ATT decoder library was found and that the traced kernel ran on the traced compute unit."
)


class Code(msgspec.Struct):
    """code.json."""

    code: list[list[Any]] | None = None
    header: list[str] | str = ""


def read_stats(source: Source) -> Part:
    """stats_ui_output_*.csv."""
    frame, losses = read_csv(source)
    frame = frame.rename({name: name.lower() for name in frame.columns})
    if not frame.height:
        raise EmptyCaptureError(
            f"{source.name} holds no instructions", "nothing was decoded from the thread trace", _DECODE_FIRST
        )
    rows = frame.select(
        pl.col("instruction").alias("text"),
        pl.col("source") if "source" in frame.columns else pl.lit(None, pl.String).alias("source"),
        integer("codeobj").alias("code_object")
        if "codeobj" in frame.columns
        else pl.lit(None, pl.Int64).alias("code_object"),
        pl.col("vaddr").str.strip_chars().cast(pl.UInt64, strict=False).alias("pc"),
        *(
            integer(name).alias(column)
            for column, name in zip(_COUNTS, ("hitcount", "latency", "stall", "idle"), strict=True)
        ),
    )
    return _instructions(source, rows, losses, ())


def read_code(source: Source) -> Part:
    """The instructions in a code.json of the thread-trace decoder or of PC sampling."""
    document, damage = json.decode(source, Code)
    losses = [Loss(source.name, damage)] if damage else []
    if not document.code:
        raise EmptyCaptureError(
            f"{source.name} holds no instructions", "nothing was decoded from the thread trace", _DECODE_FIRST
        )
    named = document.header if isinstance(document.header, list) else []
    places = {name: place for place, name in enumerate(_COLUMNS)} | {
        name: place for place, name in enumerate(named)
    }
    rows = pl.DataFrame(
        {
            "text": _column(document.code, places["ISA"], str, pl.String),
            "source": _column(document.code, places["Source"], str, pl.String),
            "code_object": _column(document.code, places["Codeobj"], int, pl.Int64),
            "pc": _column(document.code, places["Vaddr"], int, pl.UInt64),
        }
        | {
            column: _column(document.code, places.get(name), int, pl.Int64)
            for column, name in (_COUNTS | _SAMPLES).items()
        }
    )
    notices = (
        ("code.json lists the stall reasons by number; they are not kept",)
        if "Stall_Reasons" in named
        else ()
    )
    return _instructions(source, _only_what_was_recorded(rows), losses, notices)


def refuse_raw(source: Source) -> NoReturn:
    raise NotARecordingError(
        f"{source.name} is a raw thread trace (SQTT)",
        "rocprofv3 --att decodes it with AMD's ATT decoder library (rocprof-trace-decoder)",
        "Give the ui_output_agent_<agent>_dispatch_<n> folder that it then writes beside the trace.",
    )


def _column(rows: list[list[Any]], place: int | None, kind: type, dtype: type[pl.DataType]) -> pl.Series:
    """One field of every row; null where a row is too short or has another type there."""
    if place is None:
        return pl.Series([None] * len(rows), dtype=dtype)
    values = [row[place] if len(row) > place and type(row[place]) is kind else None for row in rows]
    return pl.Series(values, dtype=dtype, strict=False)


def _only_what_was_recorded(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, with null in columns that were not recorded: both tools write all columns, with zeros in those of the
    other."""
    nothing = [
        column
        for group in (tuple(_COUNTS), tuple(_SAMPLES))
        if not rows.select(pl.any_horizontal(pl.col(*group).fill_null(0) != 0).any()).item()
        and rows["samples_issued"].count()
        for column in group
    ]
    return rows.with_columns(pl.lit(None, pl.Int64).alias(column) for column in nothing)


def _instructions(source: Source, rows: pl.DataFrame, losses: list[Loss], notices: tuple[str, ...]) -> Part:
    """A row `; name` starts a kernel; its source is the demangled name where there is one."""
    begins = pl.col("text").str.starts_with(";")
    mangled = pl.col("text").str.strip_prefix(";").str.strip_chars()
    source_text = pl.when(pl.col("source").str.strip_chars() != "").then(pl.col("source"))
    table = (
        rows.with_columns(
            source=source_text, kernel=pl.when(begins).then(pl.coalesce(source_text, mangled)).forward_fill()
        )
        .filter(begins.fill_null(False).not_())
        .with_columns(
            domains.kernel_name(pl.col("kernel")),
            dispatch_id=pl.lit(dispatch_of(source), pl.Int64),
        )
    )
    table, lost = drop_incomplete(table, ("text",), source.name)
    return part("rocprofv3", {"instructions": table}, losses + lost, notices=notices)


def _claims_stats(peek: Peek) -> bool:
    return {name.lower() for name in peek.csv_header} >= _STATS


def _claims_code(peek: Peek) -> bool:
    if peek.json_kind != "object":
        return False
    return bool(_CODE.match(peek.head)) or bool(_NO_CODE.match(peek.head) and "header" in peek.json_keys)


def _claims_raw(peek: Peek) -> bool:
    """The 8 bytes that open a shader engine's trace: format 17, flags, engine, and four zeros."""
    head = peek.head[:8]
    return (
        len(head) == 8
        and head[0] == 0x11
        and head[1] & 0x1F == 0
        and head[4:] == bytes(4)
        and len(peek.head) > 8
    )


ADAPTERS = (
    Adapter(
        name="att-stats-csv",
        title="rocprofv3 --att stats_ui_output_*.csv",
        recognised_by="CSV columns Vaddr, Instruction, Hitcount, Latency, Stall, Idle",
        claims=_claims_stats,
        read=read_stats,
        fills=("instructions",),
    ),
    Adapter(
        name="att-code-json",
        title="rocprofv3 --att or PC sampling: code.json",
        recognised_by="JSON with the key code: rows of instructions",
        claims=_claims_code,
        read=read_code,
        fills=("instructions",),
    ),
    *waves.ADAPTERS,
    *counters.ADAPTERS,
    Adapter(
        name="att-raw",
        title="raw thread trace (.att; refused: needs AMD's decoder)",
        recognised_by="opens with an SQTT header",
        claims=_claims_raw,
        read=refuse_raw,
    ),
)
