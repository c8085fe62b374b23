"""The column contracts: what an adapter leaves out is added, what it gets wrong is refused."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.errors import SchemaError
from rocm_perf.model import schema


@pytest.mark.parametrize("table", schema.SCHEMAS)
def test_every_table_is_documented_and_unambiguous(table: str) -> None:
    contract = schema.SCHEMAS[table]
    assert contract.name == table
    assert contract.row
    assert len(set(contract.names)) == len(contract.names)
    assert all(column.doc for column in contract.columns)
    assert all(column.unit == "ns" for column in contract.columns if column.name.endswith("_ns"))
    schema.check(table, schema.empty(table))


def test_times_are_exact_integers() -> None:
    times = [
        column
        for contract in schema.SCHEMAS.values()
        for column in contract.columns
        if column.name in ("start_ns", "end_ns", "time_ns")
    ]
    assert {column.dtype for column in times} == {pl.Int64}


def test_conform_adds_casts_and_orders() -> None:
    frame = pl.DataFrame(
        {"end_ns": pl.Series([9], dtype=pl.Int32), "kernel": ["k"], "start_ns": [1], "node": [None]},
        schema_overrides={"node": pl.Int32},
    )
    made = schema.conform("dispatches", frame)
    assert dict(made.schema) == schema.SCHEMAS["dispatches"].dtypes
    row = made.row(0, named=True)
    assert (row["kernel"], row["start_ns"], row["end_ns"]) == ("k", 1, 9)
    assert (row["node"], row["pass_id"], row["pid"], row["vgprs"]) == (0, 0, None, None)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"kernel": ["k"], "colour": [1]}, "no column colour"),
        ({"kernel": [None]}, "nulls in kernel"),
        ({"start_ns": [1]}, "nulls in kernel"),
        ({"kernel": ["k"], "start_ns": ["soon"]}, "does not fit"),
        ({"kernel": ["k"], "start_ns": [float("nan")]}, "does not fit"),
        ({"kernel": ["k"], "start_ns": [2**63]}, "does not fit"),
        ({"kernel": ["k"], "node": [2**40]}, "does not fit"),
    ],
)
def test_conform_refuses(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        schema.conform("dispatches", pl.DataFrame(columns, strict=False))


@pytest.mark.parametrize("table", ["dispatches", "kernels", "waves"])
def test_conform_orders_columns_that_are_all_there(table: str) -> None:
    frame = schema.empty(table)
    assert schema.conform(table, frame.select(reversed(frame.columns))).columns == frame.columns


def test_check_refuses_another_layout() -> None:
    frame = schema.empty("copies")
    for wrong in (frame.drop("node"), frame.cast({"node": pl.Int64}), frame.rename({"node": "nodes"})):
        with pytest.raises(SchemaError, match="does not fit"):
            schema.check("copies", wrong)


def test_an_unknown_table_is_named_with_the_known_ones() -> None:
    for ask in (
        schema.empty,
        lambda name: schema.conform(name, pl.DataFrame()),
        lambda n: schema.check(n, pl.DataFrame()),
    ):
        with pytest.raises(SchemaError, match="no table 'kernel': tables are dispatches"):
            ask("kernel")
