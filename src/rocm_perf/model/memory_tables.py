"""The tables of memory: what was allocated and released, what an allocator held, and from where in the program."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.column_kinds import AGENT, GPU_SPAN, STACK, STREAM, WHERE, count, text, time
from rocm_perf.model.columns import Column, TableSchema

MEMORY = (
    TableSchema(
        "allocations",
        "one allocation or release of memory",
        (
            text("operation", "ALLOC, FREE, REALLOC, RECLAIM or OOM (there was none left)", required=True),
            text(
                "level",
                "what was allocated: REAL, VIRTUAL, SCRATCH, CACHED (framework allocator), SNAPSHOT (the same, from a "
                "snapshot of it), ...",
            ),
            Column("address", pl.UInt64, "device address"),
            count("size_bytes", "size", "B"),
            *GPU_SPAN,
            count("requested_bytes", "what the program asked for, before it was rounded up", "B"),
            Column("earlier", pl.Boolean, "allocated before the recording, whose start stands for its time"),
            STACK,
        ),
    ),
    TableSchema(
        "memory_blocks",
        "one block of a segment that a framework's allocator held when its state was recorded",
        (
            time("time_ns", "when; null where that was not recorded"),
            *WHERE,
            AGENT,
            Column("segment", pl.UInt64, "device address of its segment"),
            count("segment_bytes", "size of its segment", "B"),
            Column("address", pl.UInt64, "device address"),
            count("size_bytes", "size", "B"),
            count("requested_bytes", "what the program asked for, before it was rounded up", "B"),
            text("state", "allocated, pending (freed, another stream uses it still) or free", required=True),
            text("pool", "small or large: the allocator keeps them apart"),
            text("private_pool", "pool of a graph or of the program, where it is not the common one"),
            Column("expandable", pl.Boolean, "the segment can grow"),
            STREAM,
            STACK,
        ),
    ),
    TableSchema(
        "stacks",
        "one call stack",
        (
            *WHERE,
            Column("stack_id", pl.Int64, "its number: equal stacks have the same", required=True),
            text("frames", "one line per frame, the innermost first: `file.py(12): function`", required=True),
        ),
    ),
    TableSchema(
        "scratch",
        "one scratch-memory event of the runtime",
        (
            text("operation", "operation", required=True),
            count("size_bytes", "size", "B"),
            text("flags", "flags as recorded"),
            *GPU_SPAN,
        ),
    ),
)
