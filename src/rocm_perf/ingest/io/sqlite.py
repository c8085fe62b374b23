"""SQLite recordings: their tables, and rows straight into columns.

Only real tables are read. A view is a query stored in the file, and a file from elsewhere does not get to choose the
queries we run.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.model.time_window import Span

MAGIC = b"SQLite format 3\x00"
BATCH_ROWS = 65_536
SAMPLED_ROWS = 1_000
LEAST_ROW_BYTES = 20
EDGE_ROWS = (
    10_000  # a profiler writes its buffers one after another: the first row is not always the earliest
)
Choice = Sequence[int | str] | Span  # of the values of a column
_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")

# What a value of the wrong type becomes: the number it spells, else null (a plain CAST gives 0).
_EXACT_INTEGER = """CASE typeof({0}) WHEN 'integer' THEN {0}
    WHEN 'real' THEN CASE WHEN abs({0}) < 9e18 THEN CAST({0} AS INTEGER) END
    WHEN 'text' THEN CASE WHEN trim({0}) GLOB '*[0-9]' AND trim({0}) NOT GLOB '*[^-0-9]*'
        AND length(trim({0})) < 19 THEN CAST({0} AS INTEGER) END END"""
_EXACT_REAL = """COALESCE(CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL)
    WHEN trim({0}) GLOB '[-+.0-9]*' THEN CAST({0} AS REAL) END, 9e999)"""
# SQLite stores any bytes as text, but a Polars string must be UTF-8: text is fetched as bytes and then decoded.
_EXACT_TEXT = "COALESCE(CAST(CAST({0} AS TEXT) AS BLOB), x'01')"
_NULL_TEXT = b"\x01"


Row = tuple[int | None, ...]


class Outline(NamedTuple):
    """About how many rows a table has, by its keys; its first and last rows, and some evenly over all of them."""

    rows: int
    edges: list[Row]
    sampled: list[Row]


@dataclass(frozen=True)
class Database:
    """An open recording."""

    file: Path
    name: str

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Names of its tables, without views, virtual tables and names that would need special quoting."""
        rows = self._rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return tuple(name for name, sql in rows if _SAFE_NAME.fullmatch(str(name)) and not _is_virtual(sql))

    def columns(self, table: str) -> tuple[str, ...]:
        """Column names of a table, without generated columns."""
        self._require(table)
        return tuple(row[1] for row in self._rows(f'PRAGMA table_info("{table}")'))

    def frame(
        self,
        table: str,
        integers: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        only: Mapping[str, Choice] | None = None,
    ) -> pl.DataFrame:
        """The requested columns that the table has; null where a value is missing.

        `only` keeps the rows whose column has one of the values, or lies in the span.
        """
        present = set(self.columns(table))
        kinds: dict[str, pl.DataType] = {
            **{column: pl.Int64() for column in integers if column in present},
            **{column: pl.Float64() for column in reals if column in present},
            **{column: pl.String() for column in texts if column in present},
        }
        if not kinds:
            return pl.DataFrame()
        frame = self._typed(kinds, f'FROM "{table}"{_where(only or {})}')
        if frame.is_empty():
            return pl.DataFrame(schema=kinds)
        cleaned = frame.with_columns(
            _cleaned(column, kind) for column, kind in kinds.items() if kind != pl.Int64
        )
        return cleaned.with_columns(
            _decoded(cleaned[name]) for name, kind in kinds.items() if kind == pl.String
        )

    def table(
        self, table: str, integers: Sequence[str] = (), reals: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Every requested column, null where the table lacks it; no rows if the table is missing."""
        wanted = {
            **dict.fromkeys(integers, pl.Int64),
            **dict.fromkeys(reals, pl.Float64),
            **dict.fromkeys(texts, pl.String),
        }
        rows = self.frame(table, integers, reals, texts) if table in self.tables else pl.DataFrame()
        if not rows.width:
            return pl.DataFrame(schema=wanted)
        missing = [
            pl.lit(None, dtype).alias(name) for name, dtype in wanted.items() if name not in rows.columns
        ]
        return rows.with_columns(missing).select(wanted.keys())

    def outline(self, table: str, key: str, *columns: str) -> Outline:
        """The size of a table, and some columns of a few of its rows, without reading all of it."""
        self._require(table)
        chosen = ", ".join(f'"{column}"' for column in columns)
        [(low,)], [(high,)] = (self._rows(f'SELECT {end}("{key}") FROM "{table}"') for end in ("MIN", "MAX"))
        first_key, last_key = _whole(low) or 0, _whole(high) or -1
        step = max((last_key - first_key) // SAMPLED_ROWS, 1)
        keys = ", ".join(str(number) for number in range(first_key, last_key + 1, step))
        # Keys can have holes, but a row cannot be smaller than its cells.
        count = min(last_key - first_key + 1, self.file.stat().st_size // LEAST_ROW_BYTES)
        queries = (
            *(f'ORDER BY "{key}" {order} LIMIT {EDGE_ROWS}' for order in ("ASC", "DESC")),
            f'WHERE "{key}" IN ({keys}) ORDER BY "{key}"',
        )
        first, last, sampled = (
            [tuple(map(_whole, row)) for row in self._rows(f'SELECT {chosen} FROM "{table}" {query}')]
            for query in queries
        )
        return Outline(count, edges=first + last, sampled=sampled)

    def _typed(self, kinds: Mapping[str, pl.DataType], rows: str) -> pl.DataFrame:
        """The driver infers a column's type from its first rows and fails on values that do not fit. Real
        recordings fit; for others each value is converted to its column's type, which is slower."""
        try:
            frame = self._query(f"SELECT {_selected(kinds, exact=False)} {rows}")
        except InputError:
            frame = pl.DataFrame()
        stored = {column: pl.Binary() if kind == pl.String else kind for column, kind in kinds.items()}
        if dict(frame.schema) == stored or (frame.width and frame.is_empty()):
            return frame
        return self._query(f"SELECT {_selected(kinds, exact=True)} {rows}")

    @cached_property
    def _uri(self) -> str:
        # A write-ahead log beside the file holds rows; without one, SQLite must not try to create it.
        log = self.file.with_name(self.file.name + "-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
        return f"{self.file.resolve().as_uri()}?{mode}"

    def _rows(self, sql: str) -> list[tuple[str, ...]]:
        try:
            with closing(sqlite3.connect(self._uri, uri=True)) as connection:
                connection.text_factory = _lenient
                return connection.execute(sql).fetchall()
        # The message itself can quote damaged bytes, and a damaged size can ask for more memory than there is.
        except (sqlite3.Error, UnicodeError, MemoryError) as error:
            raise InputError(
                f"{self.name} is not a readable SQLite file",
                str(error) or "its sizes make no sense",
                "It may have been cut off: copy it again from its machine.",
            ) from error

    def _query(self, sql: str) -> pl.DataFrame:
        from adbc_driver_manager import Error
        from adbc_driver_sqlite import dbapi

        try:
            with dbapi.connect(self._uri) as connection, connection.cursor() as cursor:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
                cursor.execute(sql)
                return pl.DataFrame(cursor.fetch_arrow())
        except (Error, pl.exceptions.PolarsError, UnicodeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{self.name} cannot be read", reason, "It may be damaged: copy it again from its machine."
            ) from error

    def _require(self, table: str) -> None:
        if table not in self.tables:
            raise InputError(f"{self.name} has no table {table}")


@contextmanager
def open_database(source: Source) -> Iterator[Database]:
    """The database of a source, decompressed to a temporary file if needed."""
    with source.local_file() as file:
        yield Database(file, source.name)


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _is_virtual(sql: object) -> bool:
    return bool(re.match(r"\s*CREATE\s+VIRTUAL\b", str(sql), re.IGNORECASE))


def _where(only: Mapping[str, Choice]) -> str:
    tests = [test for column, choice in only.items() for test in _tests(column, choice)]
    return f" WHERE {' AND '.join(tests)}" if tests else ""


def _tests(column: str, choice: Choice) -> list[str]:
    if not isinstance(choice, Span):
        return [f'"{column}" IN ({", ".join(map(_literal, choice))})']
    ends = ((">=", choice.start_ns), ("<", choice.end_ns))
    return [f'"{column}" {sign} {end}' for sign, end in ends if end is not None]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _literal(value: int | str) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _selected(kinds: Mapping[str, pl.DataType], *, exact: bool) -> str:
    forms = {pl.Int64(): _EXACT_INTEGER, pl.Float64(): _EXACT_REAL, pl.String(): _EXACT_TEXT}
    plain = {**forms, pl.Int64(): "{0}", pl.Float64(): "{0}"}
    chosen = forms if exact else plain
    return ", ".join(chosen[kind].format(f'"{column}"') + f' AS "{column}"' for column, kind in kinds.items())


def _cleaned(column: str, kind: pl.DataType) -> pl.Expr:
    """The value, or null where the query put a placeholder."""
    value = pl.col(column)
    is_value = value.is_finite() if kind == pl.Float64 else value != pl.lit(_NULL_TEXT)
    return pl.when(is_value).then(value).alias(column)


def _decoded(column: pl.Series) -> pl.Series:
    try:
        return pl.Series(column.name, column.cast(pl.String))
    except pl.exceptions.PolarsError:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in column]
        return pl.Series(column.name, texts, dtype=pl.String)
