"""SQLite recordings through the door that the adapters use."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.ingest.io.sqlite import MAGIC, open_database
from rocm_perf.ingest.peek import Peek


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "it's a 100% #1 name?.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            """
            CREATE TABLE kernels (id INTEGER, name TEXT, score REAL, odd);
            INSERT INTO kernels VALUES (9007199254740993, 'a, "b"', 0.5, 1), (2, NULL, NULL, 'x'), (3, 'c', 1, NULL);
            CREATE TABLE empty (id INTEGER, name TEXT);
            CREATE TABLE "strange "" name" (id INTEGER);
            CREATE VIEW trap AS SELECT * FROM kernels;
            """
        )
    return file


def test_tables_are_listed_and_views_are_not(database: Path) -> None:
    with open_database(Source(database)) as opened:
        assert opened.tables == ("kernels", "empty")
        assert opened.columns("kernels") == ("id", "name", "score", "odd")
        for name in ("trap", "nothing", 'strange " name'):
            with pytest.raises(InputError, match="has no table"):
                opened.frame(name, integers=["id"])


def test_columns_have_the_asked_types_and_every_digit(database: Path) -> None:
    with open_database(Source(database)) as opened:
        frame = opened.frame("kernels", integers=["id", "absent"], reals=["score"], texts=["name"])
        assert frame.select("id", "name", "score").rows() == [
            (9007199254740993, 'a, "b"', 0.5),
            (2, None, None),
            (3, "c", 1.0),
        ]
        assert opened.frame("kernels", integers=["id"], only={"name": ["c"]})["id"].to_list() == [3]
        assert opened.frame("empty", integers=["id"], texts=["name"]).height == 0


def test_compressed_and_zipped_databases_are_the_same(database: Path, tmp_path: Path) -> None:
    packed = tmp_path / "x.db.gz"
    packed.write_bytes(gzip.compress(database.read_bytes()))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(database, "x.db")
    for file in (packed, tmp_path / "x.zip"):
        (source,) = sources_of(file)
        assert Peek(source).sqlite_tables == ("kernels", "empty")


@pytest.mark.parametrize("size", [100, 512, 4096, 5000])
def test_a_database_cut_off_is_an_error_of_ours_or_partly_there(
    database: Path, tmp_path: Path, size: int
) -> None:
    cut = tmp_path / "cut.db"
    cut.write_bytes(database.read_bytes()[:size])
    with suppress(RocmPerfError), open_database(Source(cut)) as opened:
        for name in opened.tables:
            opened.frame(name, integers=["id"], texts=["name"])


def test_what_only_looks_like_a_database_is_refused(tmp_path: Path) -> None:
    fake = tmp_path / "fake.db"
    fake.write_bytes(MAGIC + b"\x00" * 2000)
    with open_database(Source(fake)) as opened, pytest.raises(InputError, match=r"fake\.db"):
        opened.frame("kernels", integers=["id"])


def test_reading_leaves_no_files_behind(database: Path) -> None:
    before = sorted(database.parent.iterdir())
    with open_database(Source(database)) as opened:
        opened.frame("kernels", integers=["id"])
    assert sorted(database.parent.iterdir()) == before


def test_a_link_to_a_log_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """SQLite opens with O_NOFOLLOW, and so must we; `rocm-perf serve` relies on it."""
    inside, outside = tmp_path / "inside.db", tmp_path / "outside.db"
    with closing(sqlite3.connect(outside)) as connection:
        connection.executescript("PRAGMA journal_mode = wal; CREATE TABLE names (name TEXT);")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        inside.write_bytes(outside.read_bytes())
        connection.execute("INSERT INTO names VALUES ('secret')")
        connection.commit()
        (tmp_path / "inside.db-wal").symlink_to(tmp_path / "outside.db-wal")
        with pytest.raises(InputError, match="it is a link"), open_database(Source(inside)):
            pass
        (tmp_path / "inside.db-shm").symlink_to(tmp_path / "outside.db-shm")
        with open_database(Source(inside)) as database, pytest.raises(InputError, match="unable to open"):
            database.frame("names", texts=["name"])
