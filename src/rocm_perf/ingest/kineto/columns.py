"""From typed events to columns, category by category and piece by piece, so only columns stay in memory. Names and
shapes repeat thousands of times, so each distinct text is kept once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal

import polars as pl

from rocm_perf.ingest.kineto.types import MAX_FLOAT_US, Args, Event


class Texts(dict[object, int]):
    """Distinct texts, numbered in order of appearance."""

    def __missing__(self, text: object) -> int:
        self[text] = number = len(self)
        return number

    def column(self, numbers: pl.Series) -> pl.Series:
        """The texts of numbers; all rows share one copy of each."""
        texts = pl.Series([_as_text(key) for key in self], dtype=pl.String)
        return texts.gather(numbers).alias(numbers.name)


@dataclass(frozen=True)
class Field:
    """One column of a category: the attribute of the event (or of its arguments) that fills it."""

    attribute: str
    kind: Literal["integer", "number", "text", "json", "size", "start"] = "integer"
    of_args: bool = False
    axis: int = 0

    def values(self, events: list[Event], args: list[Args]) -> list[Any]:
        return list(map(attrgetter(self.attribute), args if self.of_args else events))


def _arg(attribute: str, kind: Literal["integer", "text", "json"] = "integer") -> Field:
    return Field(attribute, kind, of_args=True)


def _sizes(name: str, attribute: str) -> dict[str, Field]:
    return {
        f"{name}_{axis}": Field(attribute=attribute, kind="size", of_args=True, axis=index)
        for index, axis in enumerate("xyz")
    }


_TIMES = {"start_ns": Field("ts", "start"), "dur": Field("dur", "number")}
_NAME = {"name": Field("name", "text")}
_THREAD = {"pid": Field("pid"), "tid": Field("tid")}
_OP = {"op_id": _arg("op_id")}
_CORRELATION = {"correlation_id": _arg("correlation")}
_ON_GPU = {
    **_NAME,
    **_TIMES,
    "event_pid": Field("pid"),
    "event_tid": Field("tid"),
    "agent_id": _arg("device"),
    "stream_id": _arg("stream"),
    **_CORRELATION,
    **_OP,
}

KERNEL = {
    **_ON_GPU,
    **_sizes("grid", "grid"),
    **_sizes("workgroup", "block"),
    "vgprs": _arg("registers"),
    "lds_bytes": _arg("shared_memory"),
    "graph_id": _arg("graph_id"),
    "collective": _arg("collective", "text"),
    "elements": _arg("elements"),
    "dtype": _arg("dtype", "text"),
    "group": _arg("group", "text"),
    "group_size": _arg("group_size"),
}
COPY = {**_ON_GPU, "size_bytes": _arg("bytes")}
RUNTIME = {**_NAME, **_TIMES, **_THREAD, **_CORRELATION, **_OP}
OPERATOR = {
    **_NAME,
    **_TIMES,
    **_THREAD,
    **_OP,
    "sequence": _arg("sequence"),
    "shapes": _arg("shapes", "json"),
    "dtypes": _arg("dtypes", "json"),
    "strides": _arg("strides", "json"),
    "inputs": _arg("inputs", "json"),
}
PYTHON = {**_NAME, **_TIMES, **_THREAD, "op_id": _arg("python_id"), "parent_id": _arg("python_parent")}
RANGE = {**_NAME, **_TIMES, **_THREAD}
MEMORY = {
    **_TIMES,
    **_THREAD,
    "delta_bytes": _arg("delta_bytes"),
    "address": _arg("address"),
    "device_id": _arg("device_id"),
    "device_type": _arg("device_type"),
    "allocated": _arg("allocated"),
    "reserved": _arg("reserved"),
}
FLOW = {**_TIMES, **_THREAD, "id": Field("id")}
WAIT = {**_ON_GPU, "wait_on_stream": _arg("wait_on_stream")}

# What Kineto has called each category since 2021. Flows from launch to kernel repeat the correlation id.
CATEGORIES = {
    "kernel": ("kernel", KERNEL),
    "Kernel": ("kernel", KERNEL),
    "gpu_memcpy": ("copy", COPY),
    "gpu_memset": ("copy", COPY),
    "Memcpy": ("copy", COPY),
    "Memset": ("copy", COPY),
    "cuda_runtime": ("runtime", RUNTIME),
    "cuda_driver": ("runtime", RUNTIME),
    "Runtime": ("runtime", RUNTIME),
    "cpu_op": ("operator", OPERATOR),
    "Operator": ("operator", OPERATOR),
    "python_function": ("python", PYTHON),
    "user_annotation": ("range", RANGE),
    "gpu_user_annotation": ("gpu_range", _ON_GPU),
    "cuda_sync": ("wait", WAIT),
    "overhead": ("overhead", RANGE),
}
IGNORED = frozenset({"ac2g", "async", "async_cpu_to_gpu", "async_gpu", "Trace", "cuda_profiler_range"})


class Columns:
    """Collects the columns of every category."""

    def __init__(self) -> None:
        self._texts: dict[str, Texts] = defaultdict(Texts)
        self._pieces: dict[str, list[pl.DataFrame]] = defaultdict(list)
        self._fields: dict[str, dict[str, Field]] = {}
        self.rank_of_process: dict[int, int] = {}
        self.profiler_ranges = 0

    def add(self, events: Iterable[Event]) -> None:
        """Add one piece of the event list."""
        groups: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            groups[event.cat].append(event)
        for category, members in groups.items():
            self._add_category(category, members)

    @property
    def too_long_for_float(self) -> bool:
        """Whether a start has more digits than a float holds: a fraction beyond the bound. Whole microseconds are
        exact far beyond it."""
        starts = (piece["start_ns"] for pieces in self._pieces.values() for piece in pieces)
        beyond = (start.filter(start.abs() >= MAX_FLOAT_US) for start in starts if start.dtype == pl.Float64)
        return any((start % 1.0 != 0.0).any() for start in beyond)

    def frame(self, group: str) -> pl.DataFrame:
        """All rows of a group, with texts restored; empty if there were none."""
        pieces = self._pieces.pop(group, [])
        if not pieces:
            return pl.DataFrame()
        frame = pl.concat(pieces)
        pooled = [name for name, field in self._fields[group].items() if field.kind in ("text", "json")]
        frame = frame.with_columns(self._texts[name].column(frame[name]) for name in pooled)
        if "event_pid" not in frame.columns:
            return frame
        # Old traces put the device and stream of GPU events only into pid and tid.
        return frame.with_columns(
            pl.coalesce("agent_id", "event_pid"), pl.coalesce("stream_id", "event_tid")
        ).drop("event_tid")

    def _add_category(self, category: str, events: list[Event]) -> None:
        if category in IGNORED:
            self.profiler_ranges += len(events) if category == "cuda_profiler_range" else 0
        elif category == "fwdbwd":
            for phase in ("s", "f"):
                self._append(f"flow_{phase}", FLOW, [e for e in events if e.ph == phase])
        elif category == "cpu_instant_event":
            self._append("memory", MEMORY, [e for e in events if e.args.delta_bytes is not None])
        else:
            self._note_ranks(events if not category else ())
            group, fields = CATEGORIES.get(category, ("other", RANGE))
            self._append(group, fields, [e for e in events if e.ph == "X"])

    def _append(self, group: str, fields: dict[str, Field], events: list[Event]) -> None:
        if not events:
            return
        self._fields[group] = fields
        args = [event.args for event in events]
        self._pieces[group].append(
            pl.DataFrame([self._column(name, field, events, args) for name, field in fields.items()])
        )

    def _column(self, name: str, field: Field, events: list[Event], args: list[Args]) -> pl.Series:
        values = field.values(events, args)
        if field.kind == "text":
            pool = self._texts[name]
            return pl.Series(name, [pool[value] for value in values], dtype=pl.UInt32)
        if field.kind == "json":
            pool = self._texts[name]
            return pl.Series(name, [pool[bytes(value)] for value in values], dtype=pl.UInt32)
        if field.kind == "size":
            return pl.Series(
                name, [None if size is None else size[field.axis] for size in values], dtype=pl.Int64
            )
        if field.kind == "number":
            return pl.Series(name, values, dtype=pl.Float64)
        return _starts(values) if field.kind == "start" else _integers(name, values)

    def _note_ranks(self, events: Iterable[Event]) -> None:
        """Note the rank of each process that a merged trace names `RANK 3 - GPU`."""
        for event in events:
            parts = (event.args.name or "").split()
            pid = _int(event.pid)
            if (
                event.name == "process_name"
                and len(parts) > 1
                and parts[0].upper() == "RANK"
                and pid is not None
            ):
                rank = _int(parts[1])
                if rank is not None:
                    self.rank_of_process[pid] = rank


def nanoseconds(microseconds: pl.Series) -> pl.Series:
    """Microseconds with up to three decimals as exact integers; null where that is impossible."""
    sane = pl.when(pl.col("t").abs() < 9e15).then(pl.col("t"))
    frame = microseconds.alias("t").to_frame().select(t=sane)
    whole = pl.col("t").floor()
    exact = whole.cast(pl.Int64) * 1000 + ((pl.col("t") - whole) * 1000).round().cast(pl.Int64)
    return frame.select(exact.alias(microseconds.name)).to_series()


def timed(frame: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    """start_ns and end_ns on the trace's clock, from start_ns (in microseconds, unless it is exact) and dur."""
    if not frame.width:
        return frame
    length, start = nanoseconds(frame["dur"]), frame["start_ns"]
    start = (nanoseconds(start) if start.dtype == pl.Float64 else start) + base_ns
    return frame.drop("dur").with_columns(start.alias("start_ns"), (start + length).alias("end_ns"))


def _starts(times: list[Any]) -> pl.Series:
    """Microseconds as floats, or exact nanoseconds where the times were read as decimals."""
    if any(isinstance(time, Decimal) for time in times[:1]):
        return pl.Series("start_ns", [_exact_ns(time) for time in times], dtype=pl.Int64)
    return pl.Series("start_ns", times, dtype=pl.Float64)


_FAR_US = 9 * 10**15  # in nanoseconds it still fits into 64 bits


def _exact_ns(time: Decimal | None) -> int | None:
    """Whole nanoseconds; none for what is not a time, since comparing a Decimal that is not a number raises."""
    if time is None or not time.is_finite() or not -_FAR_US < time < _FAR_US:
        return None
    return int(time * 1000)


def _integers(name: str, values: list[Any]) -> pl.Series:
    """A column of ids; some are written as text."""
    try:
        return pl.Series(name, values, dtype=pl.Int64)
    except (TypeError, pl.exceptions.PolarsError, OverflowError):
        return pl.Series(name, [_int(value) for value in values], dtype=pl.Int64)


def _int(value: object) -> int | None:
    """The number, which may be written as text (`12`, `0x1f`)."""
    if isinstance(value, int):
        return value
    text = str(value)
    try:
        number = int(text, 16) if text.startswith("0x") else int(text)
    except ValueError:
        return None
    return number if abs(number) < 2**63 else None


def _as_text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") or None
    return value if isinstance(value, str) else None
