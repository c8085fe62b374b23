"""Changes to a recording that keep most of its structure: a value, a field, a row, a table at a time. The same
random numbers always give the same result."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

from rocm_perf.ingest.io.plain_pickle import is_pickle
from tests.fuzz.containers import change_page, zipped
from tests.fuzz.hostile import DEEP, HOSTILE, HOSTILE_JSON, HOSTILE_WORDS, other_number
from tests.fuzz.wire import change_pickle, change_protobuf, is_protobuf

Change = Callable[[bytes, Random], "bytes | None"]
MAX_BYTES = 192 << 10
_MOST_STEPS = 5_000_000  # of SQLite's own machine
_LONGEST_VALUE = 4 << 20

_NUMBER = re.compile(rb"-?\d+")
_LONG_NUMBER = re.compile(rb"-?\d{7,}")
_IS_LONG = 10**6  # a time stamp, most likely
_TIME = re.compile("start|end|time|Ns$", re.IGNORECASE)
_KEY = re.compile(r'"[^"\\]*": ')
_WORD = re.compile(rb'"[^"\n]*"|[\w.+-]+')


def mutate(data: bytes, random: Random) -> bytes:
    """A few changes, most of them of the kind that the format allows."""
    data = _changed(data, _ways, random)
    way = random.random()
    if way < 0.02:
        return gzip.compress(data, 1, mtime=0)[: random.choice((-1, None))]
    return zipped(data, random) if way < 0.06 else data


def mutate_settings(data: bytes, random: Random) -> bytes:
    """The same for a file that a person writes: TOML, YAML, or JSON."""
    words = (change_word, change_word, change_number, change_number, change_lines)
    return _changed(data, lambda each: (*words, change_document) if each[:1] == b"{" else words, random)


def _changed(data: bytes, ways: Callable[[bytes], tuple[Change, ...]], random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        changed = random.choice(ways(data))(data, random)
        data = data if changed is None else changed[:MAX_BYTES]
    return data


def _ways(data: bytes) -> tuple[Change, ...]:
    first = data.lstrip()[:1]
    if data.startswith(b"SQLite format 3\x00"):
        return change_database, change_database, change_database, change_page, change_bytes
    if first in (b"{", b"["):
        return change_document, change_document, change_document, change_number, change_bytes
    if is_pickle(data):
        return change_pickle, change_pickle, change_pickle, change_bytes
    if is_protobuf(data):
        return change_protobuf, change_protobuf, change_protobuf, change_bytes
    if b"\x00" in data:
        return change_bytes, change_number, change_binary_word, change_binary_word
    return change_table, change_table, change_table, change_lines, change_number, change_word, change_bytes


def change_bytes(data: bytes, random: Random) -> bytes:
    """Cut off, cut out, doubled, overwritten or added to."""
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((1, 4, 64, 1024)))
    some = random.choice((random.choice(HOSTILE).encode(), random.randbytes(4), b"\xff\xfe", b"[" * 5000))
    return random.choice(
        (
            data[:start],
            data[:start] + data[end:],
            data[:end] + data[start:],
            data[:start] + some + data[end:],
            data[:start] + some + data[start:],
        )
    )


def change_number(data: bytes, random: Random) -> bytes | None:
    """Another number in the place of one."""
    numbers = list(random.choice((_NUMBER, _LONG_NUMBER)).finditer(data))
    if not numbers:
        return None
    start, end = random.choice(numbers).span()
    near = str(other_number(int(data[start:end][:30]), random))
    other = near if random.random() < 0.5 else random.choice(HOSTILE)
    return data[:start] + other.encode() + data[end:]


def change_word(data: bytes, random: Random) -> bytes | None:
    """A word or a quoted text gone, replaced, or swapped with another one."""
    words = [match.span() for match in _WORD.finditer(data)]
    if not words:
        return None
    (start, end), (other, other_end) = sorted((random.choice(words), random.choice(words)))
    if random.random() < 0.4 and end <= other:
        return data[:start] + data[other:other_end] + data[end:other] + data[start:end] + data[other_end:]
    text = random.choice(HOSTILE).encode()
    quoted = b'"' + text + b'"' if data[start:end].startswith(b'"') else text
    return data[:start] + random.choice((quoted, text, b"")) + data[end:]


def change_binary_word(data: bytes, random: Random) -> bytes:
    """A size, offset or address of a binary file."""
    size = random.choice((4, 8))
    start = random.randrange(max(1, min(len(data), random.choice((256, len(data)))))) // 4 * 4
    value = random.choice((*HOSTILE_WORDS, len(data), random.randrange(1 << 32)))
    return data[:start] + (value % (1 << 8 * size)).to_bytes(size, "little") + data[start + size :]


def change_lines(data: bytes, random: Random) -> bytes:
    """A line twice, not at all, or in another place."""
    lines = data.splitlines(keepends=True) or [b""]
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.choice((0, 1, 2))):
        lines.insert(random.randrange(len(lines) + 1), line)
    return b"".join(lines)


def change_table(data: bytes, random: Random) -> bytes | None:
    """A field, a row or a column of a CSV."""
    with suppress(csv.Error):
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"))))
        if not rows or not rows[0]:
            return None
        row = random.choice(rows[1:] or rows) if random.random() < 0.95 else rows[0]
        column = _column(row, len(rows[0]), random)
        way = random.random()
        if way < 0.7 and row:
            row[column % len(row)] = _other_field(row[column % len(row)], random)
        elif way < 0.75:
            rows.insert(random.randrange(1, len(rows) + 1), list(row))
        elif way < 0.8:
            row += random.choice(([""], ["1", "2"], list(row)))
        elif way < 0.9:
            for each in rows:
                del each[column : column + 1]
        else:
            for each in rows:
                each.insert(column, random.choice(each or [""]))
        text = io.StringIO()
        csv.writer(text, lineterminator=random.choice(("\n", "\r\n"))).writerows(rows)
        return text.getvalue().encode("utf-8", "replace")
    return None


def _column(row: list[str], width: int, random: Random) -> int:
    """Any; or, as often, one that seems to hold a time."""
    long = [number for number, field in enumerate(row) if field.isdigit() and len(field) > 6]
    return random.choice(long) if long and random.random() < 0.5 else random.randrange(width)


def _other_field(field: str, random: Random) -> str:
    if random.random() < 0.4 and field.isascii() and field.isdigit():
        return str(other_number(int(field[:30]), random))
    return random.choice(HOSTILE)


def change_document(data: bytes, random: Random) -> bytes | None:
    """A value of a JSON document, or a key, or an element of a list."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places = list(_places(document))
    if not places:
        return None
    long = [(holder, key) for holder, key in places if _is_long(holder[key])] if random.random() < 0.4 else []
    holder, key = random.choice(long or places)
    way = random.random()
    if way < 0.6:
        holder[key] = _other_value(holder[key], random)
    elif way < 0.7:
        other, place = random.choice(places)
        holder[key], other[place] = other[place], holder[key]
    elif way < 0.85:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, random.choice(holder))
    else:
        holder[random.choice(HOSTILE)] = holder.pop(key)
    with suppress(ValueError, RecursionError):  # a document that holds itself cannot be written
        return _twice(json.dumps(document), random).replace(f'"{DEEP}"', "[" * 3000 + "]" * 3000).encode()
    return None


def _is_long(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > _IS_LONG


def _other_value(value: Any, random: Random) -> Any:
    if random.random() < 0.4 and isinstance(value, int | float) and abs(value) < 2**70:
        return type(value)(other_number(int(value), random))
    return random.choice((*HOSTILE_JSON, *HOSTILE, [value] * 3, {"": value}))


def _twice(text: str, random: Random) -> str:
    """At times with a key that comes twice, which no writer of JSON makes."""
    keys = [match.group() for match in _KEY.finditer(text)] if random.random() < 0.05 else []
    if not keys:
        return text
    key = random.choice(keys)
    return text.replace(key, f"{key}{json.dumps(random.choice(HOSTILE_JSON))}, {key}", 1)


def _places(value: Any) -> Any:
    """Where the document holds something: (list or dict, index or key)."""
    pending = [value]
    while pending:
        holder = pending.pop()
        if isinstance(holder, (dict, list)):
            for key in holder if isinstance(holder, dict) else range(len(holder)):
                yield holder, key
                pending.append(holder[key])


def change_database(data: bytes, random: Random) -> bytes | None:
    """A value, a column or a table of a SQLite file."""
    with tempfile.TemporaryDirectory() as folder, suppress(sqlite3.Error, UnicodeDecodeError, MemoryError):
        file = Path(folder) / "database"
        file.write_bytes(data)
        with closing(sqlite3.connect(file)) as connection:
            _limit(connection)
            table = random.choice(_tables(connection) or [""])
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')] or [""]
            times = [name for name in columns if _TIME.search(name)] if random.random() < 0.4 else []
            column = random.choice(times or columns)
            if random.random() < 0.25:
                _change_schema(connection, table, random)
            else:
                connection.execute(*_statement(table, column, random))
            connection.commit()
        return file.read_bytes()
    return None


def _limit(connection: sqlite3.Connection) -> None:
    """Keep an earlier change, such as an endless view, from holding up this one."""
    connection.set_progress_handler(lambda: 1, _MOST_STEPS)
    if sys.version_info >= (3, 11):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Those with rows."""
    names = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]
    return [name for name in names if connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]


def _change_schema(connection: sqlite3.Connection, table: str, random: Random) -> None:
    """The table made anew in another form, or more beside it than a reader expects."""
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone() or ("",)
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
    way = random.randrange(7)
    if way == 0:  # a short row, and every one has a long text
        connection.execute(f"ALTER TABLE \"{table}\" ADD COLUMN extdata_ TEXT DEFAULT '{'x' * 20_000}'")
        column = random.choice([row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')])
        connection.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN extdata_ TO "{column}"')
        rows = (
            "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 3000) SELECT NULL FROM n"
        )
        others = [
            row[1] for row in connection.execute(f'PRAGMA table_info("{table}")') if not row[3] and not row[5]
        ]
        connection.execute(f'INSERT INTO "{table}" ("{random.choice(others)}") {rows}')
    elif way == 1:
        connection.execute(f'ALTER TABLE "{table}" RENAME TO "{table}_"')
        connection.execute(f'CREATE VIEW "{table}" AS {endless}')
    elif way == 2:
        connection.execute(f'ALTER TABLE "{table}" ADD COLUMN late AS (hex(zeroblob(400000000)))')
    elif way == 3:
        for number in range(300):
            connection.execute(sql.replace(table, f"{table}_{number}"))
    elif way == 4:
        connection.execute(f'CREATE TRIGGER t AFTER INSERT ON "{table}" BEGIN DELETE FROM "{table}"; END')
        connection.execute(f'CREATE INDEX i ON "{table}" (abs(rowid))')
    else:
        connection.execute("PRAGMA writable_schema = ON")
        other = random.choice(
            ("CREATE/**/VIRTUAL TABLE x USING fts5(a)", f"CREATE VIEW x AS {endless}", "CREATE TABLE x(a COLLATE b)",
             "CREATE TABLE x(" + "a," * 3000 + "b)", "x" * 100_000, b"\xff\x00", None)
        )  # fmt: skip
        column = random.choice(("sql", "rootpage", "name", "type"))
        value = (
            other
            if column == "sql"
            else random.choice((0, 1, 2, 3, -1, 2**31, "view", "a\x00b", b"\xed\xa0\x80"))
        )
        connection.execute(f"UPDATE sqlite_master SET {column} = ? WHERE name = ?", (value, table))


def _statement(table: str, column: str, random: Random) -> tuple[str, tuple[object, ...]]:
    way = random.random()
    if way < 0.7:
        which = random.choice(("", " WHERE rowid = 1", " WHERE rowid % 2"))
        if random.random() < 0.3:
            change = random.choice(("+ 500000000000000000", "- 500000000000000000", "* -1", "* 1000", "+ 1"))
            return f'UPDATE "{table}" SET "{column}" = "{column}" {change}{which}', ()
        value = random.choice((None, 0, -1, 2**63 - 1, -(2**63), 1e308, float("inf"), b"\xff\x00", *HOSTILE))
        return f'UPDATE "{table}" SET "{column}" = ?{which}', (value,)
    if way < 0.8:
        return f'INSERT INTO "{table}" SELECT * FROM "{table}"', ()
    if way < 0.9:
        return f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column}_"', ()
    return random.choice((f'DELETE FROM "{table}"', f'DROP TABLE "{table}"')), ()
