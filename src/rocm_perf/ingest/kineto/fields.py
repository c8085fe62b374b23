"""What is kept of the events of each category: the columns, and the attributes that fill them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Literal

import msgspec
import polars as pl

from rocm_perf.ingest.kineto.types import Args, Event

Kind = Literal["integer", "number", "text", "json", "size", "start"]


class Texts(dict[object, int]):
    """Distinct texts, numbered in order of appearance."""

    def __missing__(self, text: object) -> int:
        self[text] = number = len(self)
        return number

    def column(self, numbers: pl.Series) -> pl.Series:
        """The texts of numbers; all rows share one copy of each."""
        texts = pl.Series([_as_text(key) for key in self], dtype=pl.String)
        return texts.gather(numbers).alias(numbers.name)


class Field(msgspec.Struct, frozen=True):
    """One column of a category: the attribute of the event (or of its arguments) that fills it."""

    attribute: str
    kind: Kind = "integer"
    of_args: bool = False
    axis: int = 0

    @property
    def is_pooled(self) -> bool:
        """Whether the column holds numbers of texts."""
        return self.kind in ("text", "json")

    def values(self, events: list[Event], args: list[Args], texts: Texts) -> Iterable[Any]:
        """What the events say; of texts, their numbers."""
        values = map(attrgetter(self.attribute), args if self.of_args else events)
        if self.kind == "text":
            return map(texts.__getitem__, values)
        if self.kind == "json":
            return map(texts.__getitem__, map(bytes, values))
        if self.kind == "size":
            return (None if size is None else size[self.axis] for size in values)
        return values


def _arg(attribute: str, kind: Kind = "integer") -> Field:
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

_KERNEL = {
    **_ON_GPU,
    **_sizes("grid", "grid"),
    **_sizes("workgroup", "block"),
    "vgprs": _arg("registers"),
    "lds_bytes": _arg("shared_memory"),
    "graph_id": _arg("graph_id"),
    "occupancy": _arg("occupancy", "number"),
    "collective": _arg("collective", "text"),
    "elements": _arg("elements"),
    "output_elements": _arg("output_elements"),
    "input_splits": _arg("input_splits", "text"),
    "source_rank": _arg("source_rank"),
    "target_rank": _arg("target_rank"),
    "dtype": _arg("dtype", "text"),
    "group": _arg("group", "text"),
    "group_size": _arg("group_size"),
}
_COPY = {**_ON_GPU, "size_bytes": _arg("bytes")}
_RUNTIME = {**_NAME, **_TIMES, **_THREAD, **_CORRELATION, **_OP}
_LAUNCH = {
    **_TIMES,
    **_CORRELATION,
    "kernel": _arg("kernel", "text"),
    **_sizes("grid", "grid"),
    **_sizes("workgroup", "block"),
    "lds_bytes": _arg("shared_memory"),
}
_LAUNCH_LDS = {**_TIMES, **_CORRELATION, "lds_bytes": _arg("shared_memory")}
_OPERATOR = {
    **_NAME,
    **_TIMES,
    **_THREAD,
    **_OP,
    "sequence": _arg("sequence"),
    "forward_thread": _arg("forward_thread"),
    "modules": _arg("modules", "text"),
    "shapes": _arg("shapes", "json"),
    "dtypes": _arg("dtypes", "json"),
    "strides": _arg("strides", "json"),
    "inputs": _arg("inputs", "json"),
    "kernel_file": _arg("kernel_file", "text"),
    "kernel_hash": _arg("kernel_hash", "text"),
    "kernel_flop": _arg("kernel_flop", "number"),
    "kernel_num_gb": _arg("kernel_num_gb", "number"),
}
_PYTHON = {**_NAME, **_TIMES, **_THREAD, "op_id": _arg("python_id"), "parent_id": _arg("python_parent")}
_RANGE = {**_NAME, **_TIMES, **_THREAD}
_ANNOTATION = {**_RANGE, "shapes": _arg("shapes", "json"), "dtypes": _arg("dtypes", "json")}
_MEMORY = {
    **_TIMES,
    **_THREAD,
    "delta_bytes": _arg("delta_bytes"),
    "address": _arg("address"),
    "device_id": _arg("device_id"),
    "device_type": _arg("device_type"),
    "allocated": _arg("allocated"),
    "reserved": _arg("reserved"),
}
_FLOW = {**_TIMES, **_THREAD, "id": Field("id")}
_WAIT = {**_ON_GPU, "wait_on_stream": _arg("wait_on_stream")}

GROUPS = {
    "kernel": _KERNEL,
    "copy": _COPY,
    "runtime": _RUNTIME,
    "launch": _LAUNCH,
    "launch_lds": _LAUNCH_LDS,
    "operator": _OPERATOR,
    "python": _PYTHON,
    "range": _ANNOTATION,
    "gpu_range": _ON_GPU,
    "wait": _WAIT,
    "overhead": _RANGE,
    "other": _RANGE,
    "memory": _MEMORY,
    "flow_s": _FLOW,
    "flow_f": _FLOW,
}

# What Kineto has called each category since 2021. Flows from launch to kernel repeat the correlation id.
CATEGORIES = {
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "Memcpy": "copy",
    "Memset": "copy",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "Runtime": "runtime",
    "cpu_op": "operator",
    "Operator": "operator",
    "python_function": "python",
    "user_annotation": "range",
    "gpu_user_annotation": "gpu_range",
    "cuda_sync": "wait",
    "overhead": "overhead",
}
# Kineto counts the events of the framework, with one counter: operators, ranges, Python functions, memory events.
COUNTER = "Ev Idx"
NUMBERED = frozenset({"cpu_op", "user_annotation", "python_function", "cpu_instant_event"})
IGNORED = frozenset({"ac2g", "async", "async_cpu_to_gpu", "async_gpu", "Trace", "cuda_profiler_range"})


def _as_text(value: object) -> str | None:
    if isinstance(value, bytes):
        return on_one_line(value).decode("utf-8", "replace") or None
    return value if isinstance(value, str) else None


def on_one_line(text: bytes) -> bytes:
    """JSON as torch writes it, `[[4, 8], []]`: equal values are then equal texts, whoever wrote the file."""
    try:
        return msgspec.json.format(text, indent=0) if text else text
    except msgspec.DecodeError:
        return text
