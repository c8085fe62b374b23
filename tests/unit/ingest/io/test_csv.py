"""CSV of any origin: every character of a name survives, and what cannot be read is named."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.csv import drop_incomplete, header, hexadecimal, integer, parse_csv, read_csv, real
from rocm_perf.ingest.io.source import Source

# The csv module that writes these files cannot write a NUL before Python 3.11; reading one is ours.
NO_NUL = pytest.mark.skipif(sys.version_info < (3, 11), reason="csv.writer refuses NUL before Python 3.11")


def _source(tmp_path: Path, data: bytes) -> Source:
    file = tmp_path / "kernel_trace.csv"
    file.write_bytes(data)
    return Source(file)


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"  \n "])
def test_empty(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(EmptyCaptureError, match="is empty"):
        read_csv(_source(tmp_path, data))


def test_header_only_has_columns_and_no_rows(tmp_path: Path) -> None:
    frame, losses = read_csv(_source(tmp_path, b'"A","B"\n'))
    assert (frame.columns, frame.height, losses) == (["A", "B"], 0, [])


def test_a_row_with_too_many_fields_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 4 has 3 fields, but the header names 2"):
        read_csv(_source(tmp_path, b'A,B\n1,2\n"x\ny",4\n5,6,7\n8,9\n'))


def test_a_row_cut_off_is_lost_and_counted(tmp_path: Path) -> None:
    for text in (b"a,b,c\n1,2,3\n4,5", b'a,b,c\n1,2,3\n4,5,"x'):
        frame, losses = read_csv(_source(tmp_path, text))
        assert frame.rows() == [("1", "2", "3")]
        assert [loss.records for loss in losses] == [1]


def test_a_last_row_without_its_newline_is_kept(tmp_path: Path) -> None:
    frame, losses = read_csv(_source(tmp_path, b"a,b\n1,2"))
    assert frame.rows() == [("1", "2")]
    assert losses == []


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    frame, _ = read_csv(_source(tmp_path, b"\n\nA,B\n1,2\n\n3,4\n\n\n"))
    assert frame.rows() == [("1", "2"), ("3", "4")]


@pytest.mark.parametrize(
    "name",
    [
        "void f<int, 4>(char const*)",
        'operator""_x, "quoted"',
        "line one\nline two",
        "line one\r\nline two",
        "k" * 100_000,
        "Ünïcødé ⚡",
        pytest.param("nul \0 inside", marks=NO_NUL),
        "NA",
        "  spaces  ",
    ],
    ids=lambda name: name[:12].replace("\0", ""),
)
def test_names_survive(tmp_path: Path, name: str) -> None:
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL)
    rows.writerows([["Name", "Id"], [name, "1"], ["after", "2"]])
    frame, losses = read_csv(_source(tmp_path, text.getvalue().encode()))
    assert frame.rows() == [(name, "1"), ("after", "2")]
    assert losses == []


def test_a_large_file_with_line_breaks_in_names_is_not_split_wrong() -> None:
    rows = 60_000
    data = "A,B\n" + "".join(f'"k<""{i}"",\n  {i}>",{i}\n' for i in range(rows))
    frame = parse_csv(data.encode(), "big.csv")
    assert frame["B"].cast(pl.Int64).to_list() == list(range(rows))
    assert frame["A"][rows - 1] == f'k<"{rows - 1}",\n  {rows - 1}>'


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    frame, _ = read_csv(_source(tmp_path, b"\xef\xbb\xbfA,B\r\n1,2\r\n"))
    assert frame.rows(named=True) == [{"A": "1", "B": "2"}]


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    frame, _ = read_csv(_source(tmp_path, b"A,B\ncaf\xe9,1\n"))
    assert frame.rows() == [("caf\ufffd", "1")]


def test_a_truncated_gzip_gives_its_rows_and_a_loss(tmp_path: Path) -> None:
    data = b"A,B\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(5000))
    frame, losses = read_csv(_source(tmp_path, gzip.compress(data)[:-2000]))
    assert 1000 < frame.height < 5000
    assert "breaks off" in losses[0].what


def test_hollow_rows_do_not_fill_the_memory() -> None:
    names = b",".join(b"c%d" % number for number in range(100))
    whole = b",".join([b"1"] * 100)
    frame = parse_csv(names + b"\n" * 100_000 + whole + b"\r\n" * 50_000, "x.csv")
    assert frame.height == 1
    with pytest.raises(InputError, match="most rows have far fewer than 100 fields"):
        parse_csv(names + b"\nK" * 100_000, "x.csv")
    assert parse_csv(names + b"\nK" * 10, "x.csv").height == 10


def test_digits_are_never_lost() -> None:
    frame = parse_csv(b"A\n9007199254740993\n9223372036854775807\n", "x.csv").select(integer("A"))
    assert frame["A"].to_list() == [9007199254740993, 9223372036854775807]


def _column(expression: pl.Expr, *values: str) -> list[object]:
    return pl.DataFrame({"A": values}).select(expression)["A"].to_list()


def test_casts() -> None:
    assert _column(integer("A"), " 7 ", "-1", "1.5", "x", "9223372036854775808") == [7, -1, None, None, None]
    assert _column(real("A"), "4195840.000000", "0.5e+01", "1,234", "x") == [4195840.0, 5.0, 1234.0, None]
    assert _column(real("A"), "nan", "inf", "-inf", "1e999") == [None] * 4
    assert _column(hexadecimal("A"), "0x7fFF", "12", "0xffffffffffffffff", "0x1ffffffffffffffff", "g") == [
        0x7FFF,
        12,
        2**64 - 1,
        None,
        None,
    ]


def test_incomplete_rows_are_counted() -> None:
    frame = pl.DataFrame({"A": [1, None, 3], "B": [None, 2, 3]})
    kept, losses = drop_incomplete(frame, ("A", "B"), "x.csv")
    assert kept.rows() == [(3, 3)]
    assert [(loss.source, loss.records) for loss in losses] == [("x.csv", 2)]
    assert drop_incomplete(kept, ("A",), "x.csv") == (kept, [])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("\ufeffA, B \n1,2", ("A", "B")),
        ("\r\n\r\nA,B", ("A", "B")),
        ('"A,1","B"', ("A,1", "B")),
        ("", ()),
        ("one line", ("one line",)),
    ],
)
def test_header(text: str, names: tuple[str, ...]) -> None:
    assert header(text) == names


FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=8)


@given(rows=st.lists(st.tuples(FIELDS, FIELDS, st.integers()), min_size=1, max_size=6))
def test_what_was_written_is_read(rows: list[tuple[str, str, int]]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["A", "B", "C"], *rows])
    frame = parse_csv(text.getvalue().encode(), "x.csv")
    assert frame.rows() == [(a or None, b or None, str(c)) for a, b, c in rows]


@given(
    data=st.lists(st.sampled_from([b"a", b'"', b",", b"\n", b"\r", b"\0", b"\xff", b" ", b'""'])).map(
        b"".join
    )
)
def test_any_bytes_give_a_table_or_an_error_of_ours(data: bytes) -> None:
    header(data.decode("utf-8", "replace"))
    with suppress(RocmPerfError):
        assert isinstance(parse_csv(data, "x.csv"), pl.DataFrame)
