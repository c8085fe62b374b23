"""Planes, lines and events, whichever file they come from. The statistics of events are columns, null where an event
has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec
import polars as pl

# The statistics that are used, as xplane_schema.cc (github.com/openxla/xla) names them, and the columns they become.
_TEXT = ("hlo_op", "hlo_module", "tf_op", "kernel_details", "memcpy_details", "Memset_details", "memalloc_details",
         "MemFree_details", "hlo_category", "source", "source_info", "allocator_name", "long_name", "graph_type",
         "deduplicated_name")  # fmt: skip
_WHOLE = ("correlation_id", "program_id", "run_id", "step_num", "allocation_bytes", "bytes_allocated",
          "bytes_reserved", "addr", "cuda_graph_id", "cuda_graph_exec_id", "bytes_transferred",
          "device_ordinal")  # fmt: skip
_REAL = ("flops", "model_flops", "bytes_accessed", "counter_value")
STATISTICS: dict[str, pl.DataType] = {
    **dict.fromkeys(_TEXT, pl.String()),
    "name": pl.String(),
    **dict.fromkeys(_WHOLE, pl.Int64()),
    **dict.fromkeys(_REAL, pl.Float64()),
}
COLUMN = {"name": "scope"}  # `name` is what JAX calls the operation: the column of that name is the event's
TIMES: dict[str, pl.DataType] = {"start_ns": pl.Int64(), "end_ns": pl.Int64(), "occurrences": pl.Int64()}
SCHEMA: dict[str, pl.DataType] = {
    "event": pl.String(),
    **TIMES,
    **{COLUMN.get(name, name): dtype for name, dtype in STATISTICS.items()},
}

_DEVICE = re.compile(r"/device:(GPU|TPU|CUSTOM):(?:\D*:)?(\d{1,9})")

Facts = Mapping[str, int | float | str]


class Line(msgspec.Struct, frozen=True):
    """One timeline: a thread, a stream, or what a tool derived of others."""

    number: int
    name: str
    events: pl.DataFrame


class Plane(msgspec.Struct, frozen=True):
    """One device, or the threads of one host."""

    name: str
    lines: tuple[Line, ...]
    facts: Facts = msgspec.field(default_factory=dict)

    @property
    def device(self) -> tuple[str, int] | None:
        """Its kind (GPU, TPU, CUSTOM) and number; None for a host."""
        match = _DEVICE.search(self.name)
        return (match.group(1), int(match.group(2))) if match else None

    def events(self, lines: Iterable[Line] | None = None) -> pl.DataFrame:
        """The events of some of its lines, with the number of their line."""
        frames = [
            line.events.with_columns(pl.lit(line.number, pl.Int64).alias("line"))
            for line in (self.lines if lines is None else lines)
        ]
        return pl.concat(frames) if frames else pl.DataFrame(schema={**SCHEMA, "line": pl.Int64()})
