"""SQLite: only real tables, and every value in its column's type or null."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from adbc_driver_sqlite import dbapi

from rocm_perf.errors import InputError
from rocm_perf.ingest.io import sqlite
from rocm_perf.ingest.io.source import Source
from tests.fuzz.containers import with_endless_table

_OPENED: list[sqlite.Database] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


def _database(tmp_path: Path, *statements: str, rows: Sequence[tuple[object, ...]] = ()) -> sqlite.Database:
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    _OPENED.append(sqlite.Database(file, "a.db"))
    return _OPENED[-1]


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


def _numbers(file: Path) -> list[int]:
    with sqlite.open_database(Source(file)) as opened:
        return opened.frame("t", ["n"])["n"].to_list()


def test_rows_that_are_still_in_the_write_ahead_log(tmp_path: Path) -> None:
    database = _database(tmp_path, "PRAGMA journal_mode = WAL", "CREATE TABLE t (n)")
    with closing(sqlite3.connect(database.file)) as connection:
        connection.execute("INSERT INTO t VALUES (7)")
        connection.commit()
        assert _numbers(database.file) == [7]
    assert _numbers(database.file) == [7]
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(sqlite.MAGIC + bytes(range(256)) * 20)
    with pytest.raises(InputError, match="not a readable SQLite file"):
        _ = sqlite.Database(file, "a.db").tables


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_of_every_encoding(tmp_path: Path, encoding: str) -> None:
    create = (f"PRAGMA encoding = '{encoding}'", "CREATE TABLE t (n, s)")
    database = _database(tmp_path, *create, rows=[(1, "./b\u00fcild \U0001f600"), (2, None), ("3", "")])
    assert database.frame("t", ["n"], texts=["s"]).rows() == [
        (1, "./b\u00fcild \U0001f600"),
        (2, None),
        (3, ""),
    ]
    assert database.frame("t", ["n"], only={"s": ["./b\u00fcild \U0001f600"]})["n"].to_list() == [1]


@pytest.mark.parametrize("table", ["t", "sqlite_master"])
def test_pages_that_lead_to_one_page_again_and_again_have_an_end(tmp_path: Path, table: str) -> None:
    """SQLite follows them: thirty rows for each row, eighteen times over."""
    database = _database(tmp_path, "CREATE TABLE t (n INTEGER, s UNIQUE)", rows=[(1, "a"), (2, "b")])
    with closing(sqlite3.connect(database.file)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 't'")
    database.file.write_bytes(with_endless_table(database.file.read_bytes(), root if table == "t" else 1))
    with (
        sqlite.open_database(Source(database.file)) as opened,
        pytest.raises(InputError, match=r"a\.db is no"),
    ):
        opened.frame("t", ["n"])


def test_rows_that_all_have_the_default_of_a_megabyte_are_refused(tmp_path: Path) -> None:
    database = _database(tmp_path, "CREATE TABLE t (n)", rows=[(number,) for number in range(200)])
    with closing(sqlite3.connect(database.file)) as connection:
        connection.execute(f"ALTER TABLE t ADD COLUMN s TEXT DEFAULT '{'x' * 1_000_000}'")
    with pytest.raises(InputError, match="its texts are longer than itself"):
        database.frame("t", texts=["s"])
    with pytest.raises(InputError, match="its texts are longer than itself"):
        database.frame("t", integers=["s"])
    assert database.frame("t", ["n"]).height == 200


def test_a_virtual_table_is_none_however_it_is_spelt(tmp_path: Path) -> None:
    database = _database(tmp_path, "CREATE TABLE t (n)")
    with closing(sqlite3.connect(database.file)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        sql = "CREATE/**/VIRTUAL TABLE v USING fts5(n)"
        connection.execute("INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, ?)", (sql,))
        connection.commit()
    assert database.tables == ("t",)


def _killed(file: Path, *statements: str) -> None:
    """Have a process change the database and end without finishing."""
    script = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for statement in sys.argv[2:]: connection.execute(statement)\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, file, *statements], check=True)


_FILL = "WITH RECURSIVE n(id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM n LIMIT 20000) INSERT INTO t SELECT id FROM n"


def _states(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir() if path.is_file()
    }


def test_a_transaction_that_did_not_end_is_undone_in_a_copy(tmp_path: Path) -> None:
    file = _database(tmp_path, "CREATE TABLE t (n)", rows=[(1,)]).file
    _killed(file, "PRAGMA cache_size = 1", "BEGIN", _FILL)
    before = _states(tmp_path)
    assert set(before) == {"a.db", "a.db-journal"}
    assert _numbers(file) == [1]
    assert _states(tmp_path) == before


def test_a_journal_does_not_name_a_file_to_delete(tmp_path: Path) -> None:
    file = _database(tmp_path, "CREATE TABLE t (n)", rows=[(1,)]).file
    _killed(file, "PRAGMA cache_size = 1", "BEGIN", _FILL)
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine\x00")
    name = str(precious).encode()
    end = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + sqlite._JOURNAL_MAGIC
    with (tmp_path / "a.db-journal").open("ab") as journal:
        journal.write(b"\x7f\xff\xff\xff" + name + end)
    with suppress(InputError):
        _numbers(file)
    assert precious.read_bytes() == b"mine\x00"


def test_the_log_of_a_killed_writer_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = _database(tmp_path, "PRAGMA journal_mode = WAL", "CREATE TABLE t (n)", rows=[(1,)]).file
    _killed(file, "INSERT INTO t VALUES (2)")
    (tmp_path / "a.db-shm").unlink()
    before = _states(tmp_path)
    linked = tmp_path / "elsewhere"
    linked.mkdir()
    (linked / "b.db").symlink_to(file)
    with zipfile.ZipFile(linked / "run.zip", "w") as archive:
        for name in before:
            archive.write(tmp_path / name, name)
    assert _numbers(file) == _numbers(linked / "b.db") == [1, 2]
    with sqlite.open_database(Source(linked / "run.zip", "a.db")) as opened:
        assert opened.frame("t", ["n"])["n"].to_list() == [1, 2]
    assert _states(tmp_path) == before


def test_the_schema_is_read_once_for_all_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = _database(tmp_path, "CREATE TABLE t (n)", rows=[(1,)])
    opened = []
    connect = dbapi.connect

    def counted(*given: Any, **named: Any) -> object:
        opened.append(given)
        return connect(*given, **named)

    monkeypatch.setattr(dbapi, "connect", counted)
    for _ in range(5):
        assert database.frame("t", ["n"]).height == 1
    assert len(opened) == 1
