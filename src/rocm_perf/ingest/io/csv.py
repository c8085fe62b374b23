"""CSV as profilers write it: every field is read as text first, so no guess about types can lose a digit; the adapter
that knows the column casts it."""

from __future__ import annotations

import csv
import io
import re

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import HEAD_BYTES, Reader, Source
from rocm_perf.model.run import Loss
from rocm_perf.model.time_window import WHOLE, Span, within_span

_MAX_FIELD = 16 << 20
_MAX_COLUMNS = 20_000  # each costs about 4 KB, even when it is empty
_PIECE_BYTES = 16 << 20
_SMALL_CELLS = 1_000_000
PLACE = "place in the file"  # the column of a part with the numbers of its rows, from 1 on
_BLANK_LINES = re.compile(rb"\n[\r\n]+")


def read_csv(source: Source, span: Span = WHOLE, moment: str = "") -> tuple[pl.DataFrame, list[Loss]]:
    """All rows as text, or those whose column `moment` lies in a span, with their `PLACE`; and the losses."""
    if span != WHOLE:
        return _read_span(source, span, moment)
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    data = content.data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if not data or data.isspace():
        raise EmptyCaptureError(f"{source.name} is empty", "the profiler recorded nothing there")
    whole = _without_cut_row(data)
    if whole != data:
        losses.append(Loss(source.name, "the last row breaks off", 1))
    return parse_csv(whole, source.name), losses


def _read_span(source: Source, span: Span, moment: str) -> tuple[pl.DataFrame, list[Loss]]:
    """Piece by piece, so that only the rows of the span are ever in memory."""
    losses: list[Loss] = []
    kept: list[pl.DataFrame] = []
    before = 0
    with source.reader() as reader:
        first, rest = _first_line(reader)
        while piece := rest + reader.read(_PIECE_BYTES):
            whole, _, rest = piece.rpartition(b"\n")
            if not whole:  # the last line, without an end
                whole, rest = piece, b""
            rows = parse_csv(first + whole + b"\n", source.name) if whole.strip() else pl.DataFrame()
            numbered = rows.with_row_index(PLACE, offset=before + 1)
            kept += [within_span(numbered, integer(moment), span)] if rows.height else []
            before += rows.height
        losses += [Loss(source.name, reader.damage)] if reader.damage else []
    if not kept:
        raise EmptyCaptureError(f"{source.name} is empty", "the profiler recorded nothing there")
    return pl.concat(kept), losses


def _first_line(reader: Reader) -> tuple[bytes, bytes]:
    """The line with the names of the columns, and what was read behind it."""
    head = reader.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    first, end, rest = head.partition(b"\n")
    return first + end, rest


def _without_cut_row(data: bytes) -> bytes:
    """A last line that has no end and fewer fields than the header was cut off while it was written."""
    if data.endswith((b"\n", b"\r")) or b"\n" not in data:
        return data
    body, _, last = data.rpartition(b"\n")
    fields = len(header(last.decode("utf-8", "replace")))
    named = len(header(data[: data.index(b"\n")].decode("utf-8", "replace")))
    return body + b"\n" if last.count(b'"') % 2 or fields < named else data


def parse_csv(data: bytes, name: str) -> pl.DataFrame:
    """All rows of CSV bytes, as text."""
    data = _without_hollow_rows(data, name)
    try:
        frame = pl.read_csv(data, infer_schema=False, encoding="utf8-lossy", null_values=[""])
        return _without_blank_lines(_named(frame, data, name))
    except pl.exceptions.NoDataError as error:
        raise EmptyCaptureError(f"{name} is empty", "the profiler recorded nothing there") from error
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"{name} is not a well-formed CSV", _first_ragged_row(data) or str(error).splitlines()[0]
        ) from error


def header(text: str) -> tuple[str, ...]:
    """The column names of a CSV that starts with `text`."""
    csv.field_size_limit(_MAX_FIELD)
    try:
        for row in csv.reader(io.StringIO(text.lstrip("\ufeff\r\n"))):
            return tuple(name.strip() for name in row)
    except csv.Error:
        pass
    return ()


def integer(column: str) -> pl.Expr:
    """A column of digits as Int64; anything else is null."""
    return pl.col(column).str.strip_chars().cast(pl.Int64, strict=False)


def real(column: str) -> pl.Expr:
    """A column of numbers (`4195840.000000`, `0.00000000e+00`, `1,234`) as Float64; anything else is null, including
    `nan` and `inf`, which mean that the value was not measured."""
    value = (
        pl.col(column).str.strip_chars().str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    )
    return pl.when(value.is_finite()).then(value).alias(column)


def hexadecimal(column: str) -> pl.Expr:
    """A column of `0x7f00...` or plain numbers as UInt64."""
    text = pl.col(column).str.strip_chars().str.to_lowercase()
    return (
        pl.when(text.str.starts_with("0x"))
        .then(text.str.strip_prefix("0x").str.to_integer(base=16, dtype=pl.UInt64, strict=False))
        .otherwise(text.cast(pl.UInt64, strict=False))
    )


def drop_incomplete(
    frame: pl.DataFrame, essential: tuple[str, ...], source: str
) -> tuple[pl.DataFrame, list[Loss]]:
    """Rows that have every essential value, and a Loss for those that do not (such as a truncated line)."""
    whole = frame.drop_nulls(list(essential))
    missing = frame.height - whole.height
    if not missing:
        return frame, []
    return whole, [Loss(source, f"rows without a usable {' or '.join(essential)}", missing)]


def _named(frame: pl.DataFrame, data: bytes, name: str) -> pl.DataFrame:
    """The columns under the names that `header` returns, which identify the format; of two with one name, the first
    keeps it."""
    names = header(data[: 1 << 20].decode("utf-8", "replace"))
    if len(names) != frame.width:
        raise InputError(f"{name} is not a well-formed CSV", "its first line is not a header")
    first = {column: number for number, column in reversed(list(enumerate(names)))}
    frame.columns = [
        column if first[column] == number else f"{column}_duplicated_{number}"
        for number, column in enumerate(names)
    ]
    return frame


def _without_hollow_rows(data: bytes, name: str) -> bytes:
    """The data without blank lines; a file of stumps is refused, because a row of one byte takes as much memory as a
    full one."""
    columns = len(header(data[: 1 << 20].decode("utf-8", "replace")))
    if columns > _MAX_COLUMNS:
        raise InputError(f"{name} has {columns:,} columns", f"more than {_MAX_COLUMNS:,} are not read")
    if not _is_hollow(data, columns):
        return data
    data = _BLANK_LINES.sub(b"\n", data)
    if _is_hollow(data, columns):
        raise InputError(
            f"{name} is not a well-formed CSV", f"most rows have far fewer than {columns} fields"
        )
    return data


def _is_hollow(data: bytes, columns: int) -> bool:
    """Whether most rows are too short: one with all its commas has at least a byte per column."""
    cells = columns * data.count(b"\n")
    return cells > max(_SMALL_CELLS, 2 * len(data))


def _without_blank_lines(frame: pl.DataFrame) -> pl.DataFrame:
    if not all(column.null_count() for column in frame.iter_columns()):
        return frame
    return frame.filter(pl.any_horizontal(pl.all().is_not_null()))


def _first_ragged_row(data: bytes) -> str:
    csv.field_size_limit(_MAX_FIELD)
    try:
        rows = csv.reader(io.StringIO(data.decode("utf-8", "replace")))
        names = next(rows)
        for number, row in enumerate(rows, start=2):
            if len(row) > len(names):
                return f"row {number} has {len(row)} fields, but the header names {len(names)}"
    except (csv.Error, StopIteration):
        pass
    return ""
