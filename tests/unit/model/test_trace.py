"""A Trace: tables that keep their contract, in memory or not yet."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.errors import InputError, SchemaError
from rocm_perf.model import schema
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace


def _dispatches(count: int = 2) -> pl.DataFrame:
    return schema.conform("dispatches", pl.DataFrame({"kernel": ["k"] * count, "start_ns": range(count)}))


def test_tables_and_their_rows() -> None:
    table = _dispatches()
    trace = Trace({"copies": schema.empty("copies"), "dispatches": table}, RunInfo(tool="rocprofv3"))
    assert trace.table("dispatches") is table
    assert list(trace) == ["dispatches"]
    assert (trace.rows("dispatches"), trace.rows("copies"), trace.rows("ops")) == (2, 0, 0)
    assert trace.has("dispatches")
    assert not trace.has("copies")
    assert repr(trace) == "Trace(rocprofv3: dispatches=2)"
    assert repr(Trace({})) == "Trace(unknown: empty)"


def test_what_was_not_recorded_is_a_table_without_rows() -> None:
    trace = Trace({})
    assert trace.table("copies").equals(schema.empty("copies"))
    assert trace.lazy("copies").collect().equals(schema.empty("copies"))


def test_a_table_that_breaks_its_contract_is_refused() -> None:
    with pytest.raises(SchemaError, match="does not fit"):
        Trace({"dispatches": pl.DataFrame({"kernel": ["k"]})})
    with pytest.raises(SchemaError, match="no table 'kernels_'"):
        Trace({"kernels_": pl.DataFrame()})
    with pytest.raises(SchemaError, match="no table 'kernels_'"):
        Trace({}).table("kernels_")


def test_a_lazy_table_is_read_once_and_checked_then() -> None:
    reads = []

    def read(frame: pl.DataFrame) -> pl.DataFrame:
        reads.append(frame.height)
        return frame

    lazy = _dispatches().lazy().map_batches(read, schema=schema.SCHEMAS["dispatches"].dtypes)
    trace = Trace({"dispatches": lazy})
    assert reads == []
    assert trace.table("dispatches") is trace.table("dispatches")
    assert reads == [2]
    wrong = Trace({"dispatches": pl.LazyFrame({"kernel": ["k"]})})
    with pytest.raises(SchemaError):
        wrong.table("dispatches")


def test_a_query_of_a_lazy_table_sees_it_checked() -> None:
    wrong = Trace({"dispatches": _dispatches().with_columns(kernel=pl.lit(None, pl.String)).lazy()})
    with pytest.raises(SchemaError, match="kernel"):
        wrong.lazy("dispatches")


def test_a_panic_of_the_decoder_is_an_error_of_ours() -> None:
    def panic(_: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.PanicException("assertion failed")

    lazy = _dispatches().lazy().map_batches(panic, schema=schema.SCHEMAS["dispatches"].dtypes)
    with pytest.raises(InputError, match="dispatches cannot be read"):
        Trace({"dispatches": lazy}).table("dispatches")


def test_a_lazy_table_that_cannot_be_read_is_an_error_of_ours(tmp_path: object) -> None:
    gone = Trace({"dispatches": pl.scan_parquet(f"{tmp_path}/gone.parquet")})
    for ask in (gone.table, gone.rows, gone.has):
        with pytest.raises(InputError, match="dispatches cannot be read"):
            ask("dispatches")
