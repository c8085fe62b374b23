"""SQLite recordings: their tables, and rows straight into columns.

Only real tables are read. A view is a query stored in the file, and a file from elsewhere does not get to choose the
queries we run. Nor does it get to choose how long they run: pages may refer to one page many times over, and then a few
kilobytes have more rows, and longer texts, than any memory. So tables are counted before they are read, and indexes,
which could do the same, are not used.
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Source, note_consulted
from rocm_perf.model.time_window import Span

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

MAGIC = b"SQLite format 3\x00"
BATCH_ROWS = 65_536
SAMPLED_ROWS = 1_000
LEAST_ROW_BYTES = 20
EDGE_ROWS = (
    10_000  # a profiler writes its buffers one after another: the first row is not always the earliest
)
Choice = Sequence[int | str] | Span  # of the values of a column
_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_CREATE_TABLE = re.compile(r"CREATE\s+TABLE\b", re.IGNORECASE)  # a virtual one has another word there

# What a file of an honest size can need: the smallest row takes 6 bytes of its page, and a query a few steps for each.
_SMALLEST_ROW_BYTES = 6
_FREE_TEXT_BYTES = 64 << 20
_STEPS_BETWEEN_CHECKS = 100_000
_FREE_STEPS, _STEPS_PER_BYTE = 2_000_000, 10
_FREE_CPU_S, _BYTES_PER_CPU_S = 2.0, 2 << 20

# What a value of the wrong type becomes: the number it spells, else null (a plain CAST gives 0).
_EXACT_INTEGER = """CASE typeof({0}) WHEN 'integer' THEN {0}
    WHEN 'real' THEN CASE WHEN abs({0}) < 9e18 THEN CAST({0} AS INTEGER) END
    WHEN 'text' THEN CASE WHEN trim({0}) GLOB '*[0-9]' AND trim({0}) NOT GLOB '*[^-0-9]*'
        AND length(trim({0})) < 19 THEN CAST({0} AS INTEGER) END END"""
_EXACT_REAL = """COALESCE(CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL)
    WHEN trim({0}) GLOB '[-+.0-9]*' THEN CAST({0} AS REAL) END, 9e999)"""
_INTEGER = "CASE typeof({0}) WHEN 'integer' THEN {0} END"
_TEXT_BYTES = "CASE WHEN typeof(\"{0}\") IN ('text', 'blob') THEN octet_length(\"{0}\") END"
# SQLite stores any bytes as text, but a Polars string must be UTF-8: text is fetched as bytes and then decoded.
_EXACT_TEXT = "COALESCE(CAST(CAST({0} AS TEXT) AS BLOB), x'01')"
_NULL_TEXT = b"\x01"


_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SUPER_JOURNAL_BYTES = 16  # its length, checksum and magic number, at the very end

Row = tuple[int | None, ...]


class Outline(NamedTuple):
    """About how many rows a table has, by its keys; its first and last rows, and some evenly over all of them."""

    rows: int
    edges: list[Row]
    sampled: list[Row]


class Database:
    """An open recording. Threads may share it; `close` it in the end."""

    def __init__(self, file: Path, name: str) -> None:
        self.file = file.resolve()
        self.name = name
        self._columns: dict[str, tuple[str, ...]] = {}
        self._counts: dict[str, int] = {}
        self._asking = threading.RLock()
        self._steps = 0
        self._deadline_s = 0.0
        self._asked: sqlite3.Connection | None = None
        self._idle: list[Connection] = []  # each has read the whole schema, which takes long if it is large

    def close(self) -> None:
        """End all connections."""
        if self._asked:
            self._asked.close()
        for connection in self._idle:
            connection.close()
        self._asked, self._idle = None, []

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """Names of its tables, without views, virtual tables and names that would need special quoting."""
        rows = self._rows("SELECT name, substr(sql, 1, 40) FROM sqlite_master WHERE type = 'table'")
        return tuple(
            name for name, sql in rows if _SAFE_NAME.fullmatch(str(name)) and _CREATE_TABLE.match(str(sql))
        )

    def has(self, table: str) -> bool:
        return table in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.tables)

    def columns(self, table: str) -> tuple[str, ...]:
        """Column names of a table, without generated columns."""
        self._require(table)
        if table not in self._columns:
            rows = self._rows(f'PRAGMA table_info("{table}")')
            self._columns[table] = tuple(row[1] for row in rows)
        return self._columns[table]

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
        if not self.count(table):
            return pl.DataFrame(schema=kinds)
        frame = self._typed(kinds, f'FROM "{table}" NOT INDEXED{_where(only or {})}')
        if frame.is_empty():
            return pl.DataFrame(schema=kinds)
        cleaned = frame.with_columns(
            _cleaned(column, kind) for column, kind in kinds.items() if kind != pl.Int64
        )
        return cleaned.with_columns(
            _decoded(cleaned[name], self._encoding) for name, kind in kinds.items() if kind == pl.String
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
        rows = self.frame(table, integers, reals, texts) if self.has(table) else pl.DataFrame()
        if not rows.width:
            return pl.DataFrame(schema=wanted)
        missing = [
            pl.lit(None, dtype).alias(name) for name, dtype in wanted.items() if name not in rows.columns
        ]
        return rows.with_columns(missing).select(wanted.keys())

    def outline(self, table: str, key: str, *columns: str) -> Outline:
        """The size of a table, and some columns of a few of its rows, without reading all of it."""
        self._require(table)
        chosen = ", ".join(_INTEGER.format(f'"{column}"') for column in columns)
        rows = f'FROM "{table}" NOT INDEXED'
        [(low,)], [(high,)] = (self._rows(f'SELECT {end}("{key}") {rows}') for end in ("MIN", "MAX"))
        first_key, last_key = _whole(low) or 0, _whole(high) or -1
        step = max((last_key - first_key) // SAMPLED_ROWS, 1)
        keys = ", ".join(str(number) for number in range(first_key, last_key + 1, step))
        # Keys can have holes, but a row cannot be smaller than its cells.
        count = min(last_key - first_key + 1, self._size_bytes // LEAST_ROW_BYTES)
        queries = (
            *(f'ORDER BY "{key}" {order} LIMIT {EDGE_ROWS}' for order in ("ASC", "DESC")),
            f'WHERE "{key}" IN ({keys}) ORDER BY "{key}"',
        )
        first, last, sampled = (
            [tuple(map(_whole, row)) for row in self._rows(f"SELECT {chosen} {rows} {query}")]
            for query in queries
        )
        return Outline(count, edges=first + last, sampled=sampled)

    def _typed(self, kinds: Mapping[str, pl.DataType], rows: str) -> pl.DataFrame:
        """The driver infers a column's type from its first rows and fails on values that do not fit. Real
        recordings fit; for others each value is converted to its column's type, which is slower."""
        numbers = [column for column, kind in kinds.items() if kind != pl.String]
        self._refuse_long_texts([column for column in kinds if column not in numbers], rows)
        self._refuse_long_texts(numbers, f"{rows} LIMIT {BATCH_ROWS}")
        try:
            frame = self._query(f"SELECT {_selected(kinds, exact=False)} {rows}")
        except InputError:
            frame = pl.DataFrame()
        stored = {column: pl.Binary() if kind == pl.String else kind for column, kind in kinds.items()}
        if dict(frame.schema) == stored or (frame.width and frame.is_empty()):
            return frame
        self._refuse_long_texts(numbers, rows)
        return self._query(f"SELECT {_selected(kinds, exact=True)} {rows}")

    def count(self, table: str) -> int:
        """The rows of a table. Raises where there are more than fit into the file, which no writer leaves behind."""
        self._require(table)
        if table not in self._counts:
            most = self._size_bytes // _SMALLEST_ROW_BYTES + 1
            rows = f'SELECT 1 FROM "{table}" NOT INDEXED LIMIT {most + 1}'
            [(count,)] = self._rows(f"SELECT count(*) FROM ({rows})")
            if int(count) > most:
                raise self._impossible(f"its table {table} has more rows than fit into it")
            self._counts[table] = int(count)
        return self._counts[table]

    def _refuse_long_texts(self, columns: Sequence[str], rows: str) -> None:
        """Raise where the texts of some rows are longer than the whole file. Only their lengths are read for that."""
        if not columns:
            return
        inner = ", ".join(f'"{column}"' for column in columns)
        sizes = " + ".join(f"TOTAL({_TEXT_BYTES.format(column)})" for column in columns)
        frame = self._query(f"SELECT {sizes} AS size_bytes FROM (SELECT {inner} {rows})")
        if frame["size_bytes"][0] > _FREE_TEXT_BYTES + self._size_bytes:
            raise self._impossible("its texts are longer than itself")

    def _impossible(self, why: str) -> InputError:
        return InputError(
            f"{self.name} is not read",
            f"{why}: it is damaged, or made to use up memory",
            "If it is a real recording, copy its tables into a new file: sqlite3 FILE .recover.",
        )

    @cached_property
    def _size_bytes(self) -> int:
        """What the file and its write-ahead log have in all."""
        log = self.file.with_name(self.file.name + "-wal")
        return self.file.stat().st_size + (log.stat().st_size if log.exists() else 0)

    @cached_property
    def _encoding(self) -> str:
        """How its texts are stored; where a query asks for bytes, these are what it gets."""
        [(encoding,)] = self._rows("PRAGMA encoding")
        return str(encoding)

    @cached_property
    def _uri(self) -> str:
        # A write-ahead log beside the file holds rows; without one, SQLite must not try to create it.
        log = self.file.with_name(self.file.name + "-wal")
        mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
        return f"{self.file.as_uri()}?{mode}"

    def _rows(self, sql: str) -> list[tuple[str, ...]]:
        with self._asking:
            self._steps, self._deadline_s = (
                0,
                time.thread_time() + _FREE_CPU_S + self._size_bytes / _BYTES_PER_CPU_S,
            )
            try:
                if self._asked is None:
                    self._asked = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
                    self._asked.text_factory = _lenient
                    self._asked.set_progress_handler(self._is_endless, _STEPS_BETWEEN_CHECKS)
                return self._asked.execute(sql).fetchall()
            # The message itself can quote damaged bytes, and a damaged size can ask for more memory than there is.
            except (sqlite3.Error, UnicodeError, MemoryError) as error:
                if self._is_endless():
                    raise self._impossible("a look at its tables does not come to an end") from error
                raise InputError(
                    f"{self.name} is not a readable SQLite file",
                    str(error) or "its sizes make no sense",
                    "It may have been cut off: copy it again from its machine.",
                ) from error

    def _is_endless(self) -> bool:
        """Whether the question that is being asked takes longer than any about a file of this size."""
        self._steps += _STEPS_BETWEEN_CHECKS
        return (
            self._steps > _FREE_STEPS + _STEPS_PER_BYTE * self._size_bytes
            or time.thread_time() > self._deadline_s
        )

    def _query(self, sql: str) -> pl.DataFrame:
        from adbc_driver_manager import Error

        try:
            with self._connection() as connection, connection.cursor() as cursor:
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
                cursor.execute(sql)
                return pl.DataFrame(cursor.fetch_arrow())
        except (Error, pl.exceptions.PolarsError, UnicodeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{self.name} cannot be read", reason, "It may be damaged: copy it again from its machine."
            ) from error

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection for one thread; it stays open for the next question."""
        from adbc_driver_sqlite import dbapi

        try:
            connection = self._idle.pop()
        except IndexError:
            connection = dbapi.connect(self._uri, autocommit=True)
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def _require(self, table: str) -> None:
        if not self.has(table):
            raise InputError(f"{self.name} has no table {table}")


@contextmanager
def open_database(source: Source) -> Iterator[Database]:
    """The database of a source, decompressed to a temporary file if needed."""
    with (
        source.local_file() as file,
        _settled(source, file) as settled,
        closing(Database(settled, source.name)) as database,
    ):
        yield database


@contextmanager
def _settled(source: Source, file: Path) -> Iterator[Path]:
    """The database as its last whole transaction left it. Where its writer was killed, a part of that lies in a log or
    a journal beside it, and SQLite would write to the recording to mend it: a copy is mended instead."""
    beside = {ending: source.beside(ending) for ending in ("-wal", "-journal")}
    for each in beside.values():
        note_consulted(each.path)
    is_in_use = source.member is None and os.path.exists(
        f"{file.resolve()}-shm"
    )  # SQLite reads such a log as it is
    has_log = beside["-wal"].stored_bytes > 0 and not is_in_use
    if not has_log and not _is_hot(beside["-journal"]):
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        copy = Path(folder) / "content"
        source.write_to(copy)
        for ending, each in beside.items():
            if each.stored_bytes:
                _refuse_link(each)
                each.write_to(Path(f"{copy}{ending}"))
        _mend(copy, source.name)
        yield copy


def _refuse_link(log: Source) -> None:
    """SQLite does not follow one either: it may lead to the rows of another database."""
    if log.member is None and log.path.is_symlink():
        raise InputError(
            f"cannot read {log.name}", "it is a link", "Put the file itself beside the database."
        )


def _is_hot(journal: Source) -> bool:
    """Whether a journal holds what the pages were before a transaction that did not end."""
    return journal.stored_bytes > 0 and journal.head(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC


def _mend(copy: Path, name: str) -> None:
    """Undo the transaction that did not end, and move what is in the log into the file."""
    journal = Path(f"{copy}-journal")
    if journal.exists():
        # A journal can end with the name of another, which SQLite would delete wherever it lies.
        with journal.open("ab") as end:
            end.write(bytes(_SUPER_JOURNAL_BYTES))
    try:
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA user_version").fetchall()
    except sqlite3.Error as error:
        raise InputError(
            f"{name} is not a readable SQLite file",
            f"what its writer left unfinished cannot be put right ({error})",
            "It may have been cut off: copy it again, with the -wal or -journal beside it.",
        ) from error


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "replace")


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


def _decoded(column: pl.Series, encoding: str) -> pl.Series:
    if encoding == "UTF-8":
        with suppress(pl.exceptions.PolarsError):
            return pl.Series(column.name, column.cast(pl.String))
    texts = [None if value is None else value.decode(encoding, "replace") for value in column]
    return pl.Series(column.name, texts, dtype=pl.String)
