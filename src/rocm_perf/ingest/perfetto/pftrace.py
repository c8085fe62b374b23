"""Perfetto traces (.pftrace, .proto) of rocprofv3 and of rocprof-sys (omnitrace): kernels, API calls,
copies, ranges and counter tracks. The category of a slice says what it is."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source, is_plausible_text
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.perfetto.packets import NotAPacketError, Packets, messages, split
from rocm_perf.ingest.perfetto.slices import Columns, Recording, Track, is_kernel
from rocm_perf.model.derived import ANALYSIS
from rocm_perf.model.derived import CATEGORY as DERIVED
from rocm_perf.model.run import Loss
from rocm_perf.model.schema import SCHEMAS
from rocm_perf.units import format_bytes

_CATEGORY = pl.col("category")
_HIP_WORDS = ("rocm_hip", "rocm_hsa", "rocm_rccl")  # omnitrace 1.x
_OPERATORS = ("python", "operator")  # rocprof-sys writes the former, `rocm-perf export` both
_ROCPROFV3 = re.compile(
    r"(hip|hsa|marker|rccl|rocdecode|rocjpeg|hipfile)_api|kernel_dispatch|memory_copy|counter_collection"
)
_ROCPROF_SYS = re.compile(r"rocm_.*|device_.*|user|host|python|causal|overflow_sampling|timer_sampling")

# Counter tracks of rocprofv3, and the metric they show. It derives the first from the copies, with points
# that nobody measured, so it is kept only if there are no copies.
_DRAWN_FROM_COPIES = "copy_bytes"
_TRACK_METRICS = (
    (re.compile(r"COPY BYTES to .*\[(\d{1,9})\]"), _DRAWN_FROM_COPIES),
    (re.compile(r"ALLOCATE BYTES on .*\[(\d{1,9})\]"), "allocated_bytes"),
    (re.compile(r"SCRATCH MEMORY on .*\[(\d{1,9})\]"), "scratch_bytes"),
    (re.compile(r"(?i:agent) \[(\d{1,9})\] PMC (.+)"), ""),
)
_COUNTER_TRACK = {
    "track": pl.UInt64,
    "metric": pl.String,
    "agent_id": pl.Int64,
    "unit": pl.String,
    "multiplier": pl.Int64,
    "incremental": pl.Boolean,
}


def read_trace(source: Source) -> Part:
    """All tables of the trace."""
    packets, recording = Packets(source), Recording()
    recording.gather(packets)
    rows = recording.slices.frame()
    samples = _samples(recording.readings.frame(), recording.tracks)
    counters = recording.counters.frame()
    text_bytes = sum(map(_text_bytes, (rows, samples, counters)))
    if not is_plausible_text(text_bytes, packets.size_bytes):
        raise InputError(
            f"{source.name} cannot be read as a Perfetto trace",
            f"its events name {format_bytes(text_bytes)} of text, which those of no program do",
        )
    losses = [Loss(source.name, packets.damage)] if packets.damage else []
    losses += [Loss(source.name, what, count) for what, count in recording.lost.items()]
    tracks = _tracks(recording.tracks)
    slices, lost = drop_incomplete(
        rows.rename({"begin_ns": "start_ns"}), ("name", "start_ns", "end_ns"), source.name
    )
    recorded = slices.filter(_CATEGORY.ne_missing(DERIVED))
    tables = _tables(recorded.join(tracks, on="track", how="left", maintain_order="left"))
    if tables["copies"].height:
        samples = samples.filter(pl.col("metric") != _DRAWN_FROM_COPIES)
    tables["samples"], unread = drop_incomplete(samples, ("time_ns",), source.name)
    tables["counters"] = counters.join(tracks.select("track", "pid"), on="track", how="left").drop("track")
    if not any(frame.height for frame in tables.values()):
        raise EmptyCaptureError(
            f"{source.name} holds no events",
            "; ".join(loss.what for loss in losses) or "only the tracer's own notes",
        )
    processes = _processes(recording.tracks)
    alone = processes.height == 1
    return part(
        _tool(slices["category"]),
        tables | {"processes": processes},
        losses + lost + unread,
        os=recording.os,
        pid=processes["pid"].item() if alone else None,
        command=processes["command"].item() if alone else None,
        clock="boot",
        notices=_notices(tables["dispatches"]),
    )


def _text_bytes(rows: pl.DataFrame) -> int:
    """The length of all texts, each as often as it is named."""
    return int(sum(rows.select(pl.col(pl.String).str.len_bytes().cast(pl.Int64).sum()).row(0)))


def _tables(slices: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The slices by kind; one of an unknown category is a range."""
    tid = pl.coalesce("tid", "track_tid").alias("tid")
    of_gpu = slices.filter(_is(is_kernel, slices))
    is_copy = pl.col("name").str.contains("^(MEMORY_COPY|Copy|Fill)") & (_CATEGORY == "device_hip")
    copied = pl.concat(
        [of_gpu.filter(is_copy), slices.filter(_is(lambda category: "memory_copy" in category, slices))]
    )
    operators = slices.filter(_is(_OPERATORS.__contains__, slices))
    calls = slices.filter(_is(_is_api, slices))
    other = slices.filter(_is(_is_range, slices))
    is_marker = _CATEGORY.str.contains("marker|roctx")
    domain = domains.normalised(_CATEGORY.str.strip_prefix("rocm_"))
    return {
        "dispatches": _fit("dispatches", of_gpu.filter(is_copy.not_()).with_columns(_kernel_name(), tid)),
        "copies": _fit(
            "copies",
            copied.with_columns(domains.copy_kind(pl.col("name")).alias("kind"), tid).with_columns(
                pl.coalesce(domains.copying_agent(), "agent_id").alias("agent_id")
            ),
        ),
        "api_calls": _fit("api_calls", calls.with_columns(domain.alias("domain"), tid)),
        "ops": _fit("ops", operators.with_columns(tid)),
        "ranges": _fit(
            "ranges",
            other.with_columns(
                pl.when(is_marker).then(pl.lit("roctx")).otherwise(pl.lit("perfetto")).alias("source"), tid
            ),
        ),
    }


def _is(test: Any, slices: pl.DataFrame) -> pl.Expr:
    """Whether the category of a row passes the test; there are few categories, so each is tested once."""
    categories = [category for category in slices["category"].unique() if test(category or "")]
    return _CATEGORY.is_in([category for category in categories if category is not None]) | (
        _CATEGORY.is_null() if None in categories else pl.lit(False)
    )


def _is_api(category: str) -> bool:
    is_call = category.endswith("_api") or category in _HIP_WORDS
    return is_call and not re.search("marker|roctx", category)


def _is_range(category: str) -> bool:
    return not (
        is_kernel(category) or "memory_copy" in category or category in _OPERATORS or _is_api(category)
    )


def _kernel_name() -> pl.Expr:
    return domains.kernel_name(pl.col("name")).alias("kernel")


def _fit(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in frame.columns if name in SCHEMAS[table].dtypes)


def _tracks(tracks: dict[int, Track]) -> pl.DataFrame:
    """Process and thread of every track, from its own description or that of a parent."""
    rows = [(uuid, _above(tracks, uuid, "pid"), track.tid) for uuid, track in tracks.items()]
    schema = {"track": pl.UInt64, "pid": pl.Int64, "track_tid": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _above(tracks: dict[int, Track], uuid: int, fact: str, levels: int = 16) -> Any:
    for _ in range(levels):
        track = tracks.get(uuid)
        if track is None:
            return None
        if getattr(track, fact) is not None:
            return getattr(track, fact)
        uuid = track.parent
    return None


def _samples(readings: pl.DataFrame, tracks: dict[int, Track]) -> pl.DataFrame:
    """Readings in the unit that their track names."""
    described = Columns(_COUNTER_TRACK)
    above = {uuid for uuid, track in tracks.items() if track.name == ANALYSIS}
    derived = [uuid for uuid, track in tracks.items() if track.parent in above]
    for uuid, track in tracks.items():
        described.append(
            (uuid, *_metric(track.name), track.unit or None, track.multiplier, track.incremental)
        )
    readings = readings.filter(~pl.col("track").is_in(derived))
    value = pl.when("incremental").then(pl.col("value").cum_sum().over("track")).otherwise("value")
    return readings.join(described.frame(), on="track", how="left", maintain_order="left").select(
        "time_ns",
        "agent_id",
        pl.col("metric").fill_null("counter without a name"),
        (value * pl.col("multiplier").fill_null(1)).alias("value"),
        "unit",
    )


def _metric(track: str) -> tuple[str | None, int | None]:
    for pattern, metric in _TRACK_METRICS:
        if match := pattern.match(track):
            return metric or match.group(2), int(match.group(1))
    return track or None, None


def _processes(tracks: dict[int, Track]) -> pl.DataFrame:
    rows = {
        track.pid: track.command for track in tracks.values() if track.pid is not None and track.tid is None
    }
    return pl.DataFrame(list(rows.items()), schema={"pid": pl.Int64, "command": pl.String}, orient="row")


def _tool(categories: pl.Series) -> str:
    names = [category for category in categories.unique() if category]
    if any(_ROCPROFV3.fullmatch(category) for category in names):
        return "rocprofv3"
    return "rocprof-sys" if any(_ROCPROF_SYS.fullmatch(category) for category in names) else "perfetto"


def _notices(dispatches: pl.DataFrame) -> tuple[str, ...]:
    """The notice that times were changed: rocprofv3 7 moves the times of kernels that overlap in a queue to the
    middle."""
    if not dispatches.height:
        return ()
    following = pl.col("start_ns").shift(-1).over("pid", "agent_id", "queue_id")
    touching = dispatches.sort("start_ns").select((pl.col("end_ns") == following).sum()).item()
    if not touching:
        return ()
    return (f"{touching:,} kernels end exactly where the next begins: rocprofv3 shifts overlapping ones",)


def _claims(peek: Peek) -> bool:
    """Whether the first packets decode and one is of a kind that Perfetto knows."""
    position, has_data = 0, False
    for _ in range(4):
        try:
            bounds = split(peek.head, position)
        except NotAPacketError:
            return False
        if bounds is None:
            return has_data
        packet = _decoded(peek.head[bounds[0] : bounds[1]])
        if packet is None:
            return False
        has_data = has_data or packet.WhichOneof("data") is not None
        position = bounds[1]
    return has_data


def _decoded(data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return messages().TracePacket.FromString(data)
    except DecodeError:
        return None


ADAPTERS = (
    Adapter(
        name="perfetto",
        title="Perfetto trace of rocprofv3 or rocprof-sys (omnitrace): .pftrace, .proto",
        recognised_by="a sequence of Perfetto packets",
        claims=_claims,
        read=read_trace,
        fills=("dispatches", "api_calls", "copies", "ranges", "ops", "samples", "counters", "processes"),
    ),
)
