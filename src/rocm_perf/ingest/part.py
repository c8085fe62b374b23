"""What an adapter returns: the tables of one file, and what the file says about its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import polars as pl

from rocm_perf.ingest.io.source import FileState, Source
from rocm_perf.ingest.packed_tables import PackedTable, packed, unpacked
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.survey import Survey
from rocm_perf.model import schema
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.run import Loss, Numbering
from rocm_perf.model.time_window import Span


class Sensing(msgspec.Struct, frozen=True):
    """How sensor readings relate to a recording of the same machine: its clock, and its GPU numbers."""

    epoch_ns: int  # the date at which the boot clock of the readings was 0
    nodes: dict[int, int] = msgspec.field(default_factory=dict)  # the HSA node of each GPU of the readings
    ordinals: dict[int, int] = msgspec.field(default_factory=dict)  # the number that the program gives it


class Part(msgspec.Struct, frozen=True):
    """The content of one file. Make it with `part()`, which conforms every table to its schema."""

    tables: dict[str, pl.DataFrame]
    tool: str
    tool_version: str | None = None
    host: str | None = None
    os: str | None = None
    pid: int | None = None
    rank: int | None = None
    world_size: int | None = None
    command: str | None = None
    clock: str = "unknown"  # boot, epoch, relative or unknown
    asked: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    notices: tuple[str, ...] = ()
    recorded_at: str | None = None
    software: tuple[str, ...] = ()
    numbering: Numbering | None = None
    sensing: Sensing | None = None
    collection: CollectionRecord | None = None  # the record of rocm-perf's own runs
    consulted: dict[str, FileState] = msgspec.field(default_factory=dict)  # files beside it, or that it names

    def __reduce__(self) -> tuple[Any, ...]:
        """How a helper sends it: with packed tables."""
        facts = msgspec.structs.asdict(self)
        tables = {name: packed(table) for name, table in facts.pop("tables").items()}
        return _restored, (tables, facts)


def _restored(tables: Mapping[str, PackedTable], facts: Mapping[str, Any]) -> Part:
    return Part(tables={name: unpacked(table) for name, table in tables.items()}, **facts)


def part(
    tool: str, tables: dict[str, pl.DataFrame], losses: list[Loss] | tuple[Loss, ...] = (), **facts: object
) -> Part:
    """A Part whose tables conform to their schemas, without empty ones.

    `tables` is emptied on the way, so no table is in memory twice.
    """
    kept = {}
    for name in list(tables):
        frame = tables.pop(name)
        if frame.height:
            kept[name] = schema.conform(name, frame)
    return Part(kept, tool, losses=tuple(losses), **facts)  # type: ignore[arg-type]


class Adapter(msgspec.Struct, frozen=True):
    """One format: its name, how it is recognised, and how it is read."""

    name: str
    title: str
    recognised_by: str  # shown by `rocm-perf formats`
    claims: Callable[[Peek], bool]
    read: Callable[[Source], Part]
    fills: tuple[str, ...] = msgspec.field(default=())  # tables it can fill
    survey: Callable[[Source], Survey] | None = None  # where counting is cheaper than reading
    read_span: Callable[[Source, Span], Part] | None = None  # where a part can be read without the rest
    view_of: str = ""  # the adapter whose file in the same folder holds the same recording, and more of it
