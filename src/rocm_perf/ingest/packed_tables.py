"""Tables on their way from one process to another: Arrow IPC of the columns that hold something. Pickling a frame takes
several times as long, and many columns of a table are empty, whatever wrote it."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

import polars as pl


class PackedTable(NamedTuple):
    """The bytes of the columns that are not all null, and all columns in their order."""

    content: bytes
    schema: dict[str, pl.DataType]


def packed(table: pl.DataFrame) -> PackedTable:
    """The table as bytes."""
    empty = [column.name for column in table if column.null_count() == table.height]
    content = BytesIO()
    table.drop(empty[1:]).write_ipc(content, compression="uncompressed")
    return PackedTable(content.getvalue(), dict(table.schema))


def unpacked(table: PackedTable) -> pl.DataFrame:
    """The table that was packed."""
    frame = pl.read_ipc(BytesIO(table.content))
    given = frozenset(frame.columns)
    return frame.select(
        pl.col(name) if name in given else pl.lit(None, dtype).alias(name)
        for name, dtype in table.schema.items()
    )
