"""The format is told by the content, or the file is refused with a description of what it is."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.sniff import MODULES, adapter_named, adapters, possible_modules, sniff
from tests.unit.ingest import recordings as make


def _source(tmp_path: Path, data: bytes, name: str = "any.thing") -> Source:
    file = tmp_path / name
    file.write_bytes(data)
    return Source(file)


def test_adapters_are_complete_and_named_once() -> None:
    names = [adapter.name for adapter in adapters()]
    assert len(set(names)) == len(names)
    assert all(adapter.title and adapter.recognised_by for adapter in adapters())
    assert len(set(MODULES)) == len(MODULES)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.db", "a"])
def test_the_name_does_not_matter(tmp_path: Path, name: str) -> None:
    data = make.kernel_trace(tmp_path / "k.csv").read_bytes()
    for content in (data, gzip.compress(data), b"\xef\xbb\xbf" + data):
        assert sniff(_source(tmp_path, content, name)).name == "rocprofv3-kernel-csv"


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \t", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_an_empty_capture(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(EmptyCaptureError, match="recorded nothing"):
        sniff(_source(tmp_path, data))


def test_a_file_damaged_from_its_start_is_not_called_empty(tmp_path: Path) -> None:
    packed = gzip.compress(b"Kind,Agent_Id")
    for size in (5, 10, 14, 20):
        with pytest.raises(InputError, match="the compressed stream breaks off after"):
            sniff(_source(tmp_path, packed[:size]))


def _other_database(tmp_path: Path) -> bytes:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    return (tmp_path / "shop.db").read_bytes()


def test_what_is_refused_is_described(tmp_path: Path) -> None:
    for data, words in (
        (_other_database(tmp_path), "SQLite file, but its tables (orders)"),
        (b'{"name": 1, "version": 2}', "JSON with the keys name, version"),
        (b"[1, 2, 3]", "JSON array"),
        (b"\x7fELF\x02\x00", "binary and starts with 7f 45 4c 46"),
        ("Kind,Agent_Id\n".encode("utf-16"), "UTF-16 text"),
        (b"PK\x03\x04zipped", "zip file inside another archive"),
        (b"Date,Price\n1,2\n", "first line names Date, Price"),
        (b"\n\xa1\x01\x08\x0212 /host:CPU", "binary and starts with 0a a1 01 08"),
        (b"dear diary", "text that starts 'dear diary'"),
    ):
        with pytest.raises(InputError, match="is not a recording that rocm-perf knows") as caught:
            sniff(_source(tmp_path, data))
        assert words in str(caught.value)


def test_peek_sees_the_head_as_asked(tmp_path: Path) -> None:
    peek = Peek(_source(tmp_path, b'\xef\xbb\xbf \x1b[31m{"a": 1, "b": {"c": 2}}'))
    assert (peek.json_kind, peek.json_keys, peek.csv_header) == ("object", ("a", "b"), ())
    assert not peek.is_binary
    assert peek.sqlite_tables == ()
    assert Peek(_source(tmp_path, b"A,B\n1,2")).csv_header == ("A", "B")
    assert Peek(_source(tmp_path, b"A,B\0")).csv_header == ()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sniffed")


STARTS = st.sampled_from(
    [b"", b"{", b"[", b"SQLite format 3\0", b"\x1f\x8b", b'{"traceEvents": [', b"Kind,", b"\n"]
)
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["traceEvents", "ph", "name", "rocprofiler-sdk-tool"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(
    data=st.tuples(STARTS, st.binary(max_size=60)).map(b"".join)
    | JSON.map(lambda value: json.dumps(value).encode())
)
def test_no_bytes_upset_any_adapter(folder: Path, data: bytes) -> None:
    with suppress(RocmPerfError):
        sniff(_source(folder, data))


def test_hostile_text_is_looked_at_quickly(tmp_path: Path) -> None:
    for data in (b'{"' + b'\\"' * 40_000, b"[" * 70_000, b'"' * 70_001, b"," * 70_000):
        with pytest.raises(RocmPerfError):
            sniff(_source(tmp_path, data))


@pytest.mark.parametrize(
    "data", [b"{}", b'[{"ph": "X"}]', b"a,b\n1,2\n", b"SQLite format 3\x00", b"\x00\x01"]
)
def test_what_is_not_asked_would_not_claim_the_file(tmp_path: Path, data: bytes) -> None:
    peek = Peek(_source(tmp_path, data))
    if peek.is_sqlite:
        peek.sqlite_tables = ()
    left_out = set(MODULES) - set(possible_modules(peek))
    assert left_out
    for module in left_out:
        for adapter in import_module(f"rocm_perf.ingest.{module}").ADAPTERS:
            assert not adapter.claims(peek)


def test_an_adapter_is_found_by_its_name() -> None:
    assert all(adapter_named(adapter.name) is adapter for adapter in adapters())
