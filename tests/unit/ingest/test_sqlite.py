"""SQLite: only real tables, and every value in its column's type or null."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from rocm_perf.errors import InputError
from rocm_perf.ingest.io import sqlite


def _database(tmp_path: Path, *statements: str, rows: Sequence[tuple[object, ...]] = ()) -> sqlite.Database:
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    return sqlite.Database(file, "a.db")


def test_views_virtual_tables_and_computed_columns_are_never_read(tmp_path: Path) -> None:
    database = _database(
        tmp_path,
        "CREATE TABLE t (a, b GENERATED ALWAYS AS (a + 1))",
        "CREATE VIEW shown AS SELECT a FROM t",
        "CREATE VIRTUAL TABLE computed USING fts5(a)",
    )
    assert "t" in database.tables
    assert not {"shown", "computed"} & set(database.tables)
    assert database.columns("t") == ("a",)
    with pytest.raises(InputError, match="has no table shown"):
        database.frame("shown", ["a"])


def test_text_that_is_not_utf8_and_numbers_that_are_text(tmp_path: Path) -> None:
    rows = [(1, 1.5, "a"), ("12", "2.5", None), ("", "N/A", "b"), ("9" * 30, None, "c")]
    database = _database(tmp_path, "CREATE TABLE t (n, r, s)", rows=rows)
    with closing(sqlite3.connect(database.file)) as connection:
        connection.execute("INSERT INTO t VALUES (1e300, 9e999, CAST(x'ff41' AS TEXT))")
        connection.commit()
    frame = database.frame("t", ["n", "absent"], ["r"], ["s"])
    assert frame.rows() == [
        (1, 1.5, "a"),
        (12, 2.5, None),
        (None, None, "b"),
        (None, None, "c"),
        (None, None, "\ufffdA"),
    ]


def test_a_value_of_another_type_far_into_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BATCH_ROWS", 2)
    rows = [(1, None), (2, None), (3, None), ("x", 0.5), (5, 1.5)]
    frame = _database(tmp_path, "CREATE TABLE t (n, r)", rows=rows).frame("t", ["n"], ["r"])
    assert frame.rows() == [(1, None), (2, None), (3, None), (None, 0.5), (5, 1.5)]


def test_a_table_without_rows_has_its_types(tmp_path: Path) -> None:
    frame = _database(tmp_path, "CREATE TABLE t (n, r, s)").frame("t", ["n"], ["r"], ["s"])
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "Float64", "String"]


def test_only_the_wanted_rows(tmp_path: Path) -> None:
    database = _database(tmp_path, "CREATE TABLE t (n, s)", rows=[(1, "it's"), (2, "it's"), (1, "b")])
    frame = database.frame("t", ["n"], texts=["s"], only={"n": [1, 5], "s": ["it's"]})
    assert frame.rows() == [(1, "it's")]


def test_rows_that_are_still_in_the_write_ahead_log(tmp_path: Path) -> None:
    database = _database(tmp_path, "PRAGMA journal_mode = WAL", "CREATE TABLE t (n)")
    with closing(sqlite3.connect(database.file)) as connection:
        connection.execute("INSERT INTO t VALUES (7)")
        connection.commit()
        assert sqlite.Database(database.file, "a.db").frame("t", ["n"])["n"].to_list() == [7]
    assert sqlite.Database(database.file, "a.db").frame("t", ["n"])["n"].to_list() == [7]
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(sqlite.MAGIC + bytes(range(256)) * 20)
    with pytest.raises(InputError, match="not a readable SQLite file"):
        _ = sqlite.Database(file, "a.db").tables
