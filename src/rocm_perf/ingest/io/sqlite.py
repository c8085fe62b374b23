"""SQLite recordings: what tables there are, and their rows straight into columns.

Only real tables are read. A view is a query that the file brings along, and a file we did not write
does not get to choose the queries we run.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Source

MAGIC = b"SQLite format 3\x00"
_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")


@dataclass(frozen=True)
class Database:
    """An open recording."""

    file: Path
    name: str

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Its tables; views and names that need quoting tricks are left out."""
        try:
            with closing(sqlite3.connect(self._uri, uri=True)) as connection:
                rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        except sqlite3.Error as error:
            raise InputError(f"{self.name} is not a readable SQLite file", str(error), "It may have been cut off: copy it again from its machine.") from error
        return tuple(name for (name,) in rows if isinstance(name, str) and _SAFE_NAME.fullmatch(name))

    def columns(self, table: str) -> tuple[str, ...]:
        self._require(table)
        with closing(sqlite3.connect(self._uri, uri=True)) as connection:
            return tuple(row[1] for row in connection.execute(f'PRAGMA table_info("{table}")'))

    def frame(self, table: str, integers: Sequence[str] = (), reals: Sequence[str] = (), texts: Sequence[str] = ()) -> pl.DataFrame:
        """The named columns of a table, those that it has; null where a value is missing.

        The driver takes a column's type from its first rows, so a column that starts with nulls would
        break later: each null travels as a value of the column's own type and is turned back here.
        """
        self._require(table)
        present = set(self.columns(table))
        ints = [column for column in integers if column in present]
        floats = [column for column in reals if column in present]
        strings = [column for column in texts if column in present]
        if not (ints or floats or strings):
            return pl.DataFrame()
        selected = [
            *(f'CAST("{column}" AS INTEGER) AS "{column}"' for column in ints),
            *(f'COALESCE(CAST("{column}" AS REAL), 9e999) AS "{column}"' for column in floats),
            *(f"COALESCE(CAST(\"{column}\" AS TEXT), char(1)) AS \"{column}\"" for column in strings),
        ]
        frame = self._query(f'SELECT {", ".join(selected)} FROM "{table}"')
        return frame.with_columns(
            *(pl.col(column).cast(pl.Int64) for column in ints),
            *(pl.when(pl.col(column).is_infinite()).then(None).otherwise(pl.col(column)).alias(column) for column in floats),
            *(pl.when(pl.col(column) == "\x01").then(None).otherwise(pl.col(column)).alias(column) for column in strings),
        )

    @property
    def _uri(self) -> str:
        return self.file.resolve().as_uri() + "?mode=ro"

    def _query(self, sql: str) -> pl.DataFrame:
        from adbc_driver_manager import Error
        from adbc_driver_sqlite import dbapi

        try:
            with dbapi.connect(self._uri) as connection, connection.cursor() as cursor:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "65536"})
                cursor.execute(sql)
                return cursor.fetch_polars()
        except (Error, pl.exceptions.PolarsError) as error:
            raise InputError(f"{self.name} cannot be read", str(error).splitlines()[0], "It may be damaged: copy it again from its machine.") from error

    def _require(self, table: str) -> None:
        if table not in self.tables:
            raise InputError(f"{self.name} has no table {table}")


@contextmanager
def open_database(source: Source) -> Iterator[Database]:
    """The database of a source, decompressed to a temporary file if need be."""
    with source.local_file() as file:
        yield Database(file, source.name)
