"""What rocm-perf's own CUPTI tracer writes: Kineto's layout, with the process and its clocks beside the events. Times
are moved to the boot clock, on which ROCm's profilers and our samplers record.
"""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto.header import Header, Recorder
from rocm_perf.ingest.kineto.trace import gather
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss
from rocm_perf.units import format_count

_TIMES = ("start_ns", "end_ns", "time_ns", "cause_ns", "effect_ns")


def claims(peek: Peek) -> bool:
    """Whether the file has Kineto's keys and our own."""
    return peek.json_kind == "object" and {"rocm_perf", "traceEvents"} <= set(peek.json_keys)


def read(source: Source) -> Part:
    """The trace of one process."""
    trace = gather(source)
    recorder = trace.header.recorder or Recorder()
    shift = _to_boot_clock(trace.header, recorder)
    return part(
        "rocm-perf cupti",
        {name: _put_right(name, _shifted(frame, shift or 0)) for name, frame in trace.tables.items()},
        [*trace.losses, *_losses(source.name, trace.header)],
        tool_version=None if trace.header.cupti is None else f"CUPTI {trace.header.cupti}",
        host=recorder.host,
        pid=recorder.pid,
        rank=recorder.rank,
        command=recorder.command,
        clock="epoch" if shift is None else "boot",
        notices=(
            *(f"CUPTI would not record {problem}" for problem in recorder.problems),
            *_ending(trace.header),
        ),
    )


def _to_boot_clock(header: Header, recorder: Recorder) -> int | None:
    if header.base_ns is None or recorder.boot_time_ns is None:
        return None
    return recorder.boot_time_ns - header.base_ns


def _shifted(frame: pl.DataFrame, shift: int) -> pl.DataFrame:
    return frame.with_columns(pl.col(name) + shift for name in _TIMES if name in frame.columns)


def _put_right(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table, corrected where events mean something else than torch's: ranges are NVTX's, allocations the
    driver's."""
    if not frame.height:
        return frame
    if name == "ranges":
        named = pl.when(pl.col("source") == "record_function").then(pl.lit("nvtx")).otherwise("source")
        return frame.with_columns(source=named)
    if name == "allocations":  # CUPTI does not say which thread it was
        return frame.with_columns(level=pl.lit("REAL"), tid=pl.lit(None, pl.Int64))
    return frame


def _losses(name: str, header: Header) -> list[Loss]:
    if header.end is None:
        return []  # the reader has reported that the file is truncated
    counts = (
        (header.end.dropped, "records that CUPTI dropped"),
        (header.end.incomplete, "records of work that had not ended when the process did"),
    )
    return [Loss(name, what, count) for count, what in counts if count]


def _ending(header: Header) -> list[str]:
    if header.end is None:
        return []
    notices = [f"signal {header.end.signal} ended the process"] if header.end.signal else []
    if header.end.unended_ranges:
        count = format_count(header.end.unended_ranges, "range")
        notices.append(f"{count} never ended: shown up to the end of the trace")
    return notices


ADAPTERS = (
    Adapter(
        name="rocm-perf-cupti",
        title="rocm-perf's own CUPTI trace of a CUDA program",
        recognised_by="JSON with traceEvents and the key rocm_perf",
        claims=claims,
        read=read,
    ),
)
