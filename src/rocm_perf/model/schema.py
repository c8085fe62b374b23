"""The column contracts of a Trace, and how a table is converted to them and checked."""

from __future__ import annotations

from functools import cache

import polars as pl

from rocm_perf.errors import SchemaError
from rocm_perf.model.columns import Column, TableSchema
from rocm_perf.model.tables import SCHEMAS

__all__ = ["SCHEMAS", "Column", "TableSchema", "check", "conform", "empty"]


@cache
def empty(table: str) -> pl.DataFrame:
    """A table with no rows and the right columns."""
    return pl.DataFrame(schema=_schema_of(table).dtypes)


def conform(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """An adapter's table converted to the contract: missing columns added, types cast, columns in order.

    A column that the contract does not know, a value that its type cannot hold and a null in a
    required column are defects of the adapter and raise SchemaError.
    """
    schema = _schema_of(table)
    unknown = [name for name in frame.columns if name not in schema.dtypes]
    if unknown:
        raise SchemaError(f"table {table} has no column {', '.join(unknown)}")
    if _fits(schema, frame):
        return frame
    present = set(frame.columns)
    try:
        shaped = frame.select(
            [
                (
                    pl.col(column.name).cast(column.dtype)
                    if column.name in present
                    else pl.lit(None, column.dtype).alias(column.name)
                )
                if column.default is None
                else _with_default(column, present)
                for column in schema.columns
            ]
        )
    except pl.exceptions.PolarsError as error:
        raise SchemaError(f"table {table} does not fit its contract", str(error).splitlines()[0]) from error
    check(table, shaped)
    return shaped


def _fits(schema: TableSchema, frame: pl.DataFrame) -> bool:
    """Whether the table already keeps the contract: a large one need not be copied."""
    required = [column.name for column in schema.columns if column.required]
    same_columns = frame.columns == list(schema.dtypes) and dict(frame.schema) == schema.dtypes
    return same_columns and not any(frame[name].null_count() for name in required)


def _with_default(column: Column, present: set[str]) -> pl.Expr:
    default = pl.lit(column.default, column.dtype)
    if column.name not in present:
        return default.alias(column.name)
    return pl.col(column.name).cast(column.dtype).fill_null(default)


def check(table: str, frame: pl.DataFrame) -> None:
    """Raise SchemaError unless the frame keeps the contract of the table."""
    schema = _schema_of(table)
    if dict(frame.schema) != schema.dtypes:
        raise SchemaError(
            f"table {table} does not fit its contract", f"{dict(frame.schema)} is not {schema.dtypes}"
        )
    for column in schema.columns:
        if column.required and frame[column.name].null_count():
            raise SchemaError(f"table {table} has nulls in {column.name}, which is required")


def _schema_of(table: str) -> TableSchema:
    schema = SCHEMAS.get(table)
    if schema is None:
        raise SchemaError(f"there is no table {table!r}", f"tables are {', '.join(SCHEMAS)}")
    return schema
