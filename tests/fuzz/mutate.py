"""Changes to a recording that keep most of its structure: a value, a field, a row, a table at a time. The same
random numbers always give the same result."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

MAX_BYTES = 128 << 10

_DEEP = "deeply-nested"  # replaced once the document is text, as Python will not write that deep
HOSTILE = (
    "", "0", "-1", "1.5", "1e30", "1e400", "nan", "-inf", "9223372036854775807", "9223372036854775808",
    "-9223372036854775809", "18446744073709551616", "9" * 400, "0x", "0xfffffffffffffffff", "null", "true", "[]", "{}",
    "Agent 99999999999999999999", "(1, 2, 3)", "1,234", '"', "'", ",", "\n", "\x00", "é\u2028", " 7 ", "٣", "%s",
    "a" * 9000, "2025-99-99 99:99:99", "gfx942", "0001-01-01T00:00:00",
)  # fmt: skip
HOSTILE_JSON: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, 1e308, -0.0, float("nan"),
    float("inf"), [], {}, [[]], [None], {"": None}, [1, "a", {}], _DEEP,
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+")


def mutate(data: bytes, random: Random) -> bytes:
    """A few changes, most of them of the kind that the format allows."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        changed = random.choice(_ways(data))(data, random)
        data = data if changed is None else changed[:MAX_BYTES]
    return gzip.compress(data, 1)[: random.choice((-1, None))] if random.random() < 0.02 else data


def _ways(data: bytes) -> tuple[Callable[[bytes, Random], bytes | None], ...]:
    first = data.lstrip()[:1]
    if data.startswith(b"SQLite format 3\x00"):
        return change_database, change_database, change_database, change_bytes
    if first in (b"{", b"["):
        return change_document, change_document, change_document, change_number, change_bytes
    if b"\x00" in data:
        return change_bytes, change_number
    return change_table, change_table, change_table, change_lines, change_number, change_bytes


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
    found = list(_NUMBER.finditer(data))
    if not found:
        return None
    start, end = random.choice(found).span()
    return data[:start] + random.choice(HOSTILE).encode() + data[end:]


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
        column = random.randrange(len(rows[0]))
        way = random.random()
        if way < 0.7 and row:
            row[column % len(row)] = random.choice(HOSTILE)
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


def change_document(data: bytes, random: Random) -> bytes | None:
    """A value of a JSON document, or a key, or an element of a list."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places = list(_places(document))
    if not places:
        return None
    holder, key = random.choice(places)
    way = random.random()
    if way < 0.7:
        holder[key] = random.choice((*HOSTILE_JSON, *HOSTILE)) if random.random() < 0.8 else document
    elif way < 0.85:
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, random.choice(holder))
    else:
        holder[random.choice(HOSTILE)] = holder.pop(key)
    with suppress(ValueError, RecursionError):  # a document that holds itself cannot be written
        return json.dumps(document).replace(f'"{_DEEP}"', "[" * 3000 + "]" * 3000).encode()
    return None


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
            names = sorted(
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            )
            table = random.choice(names or [""])
            column = random.choice(
                [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')] or [""]
            )
            connection.execute(*_statement(table, column, random))
            connection.commit()
        return file.read_bytes()
    return None


def _statement(table: str, column: str, random: Random) -> tuple[str, tuple[object, ...]]:
    way = random.random()
    if way < 0.7:
        value = random.choice((None, 0, -1, 2**63 - 1, -(2**63), 1e308, float("inf"), b"\xff\x00", *HOSTILE))
        which = random.choice(("", " WHERE rowid = 1"))
        return f'UPDATE "{table}" SET "{column}" = ?{which}', (value,)
    if way < 0.8:
        return f'INSERT INTO "{table}" SELECT * FROM "{table}"', ()
    if way < 0.9:
        return f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column}_"', ()
    return random.choice((f'DELETE FROM "{table}"', f'DROP TABLE "{table}"')), ()
