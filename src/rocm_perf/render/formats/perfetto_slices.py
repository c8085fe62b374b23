"""What a Perfetto trace shows, as one frame of slices: calls and ranges on threads, kernels on queues, copies on
streams, each with the annotations that rocprofv3 7 writes. How they become packets is in perfetto.py."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rocprof_v1 import first_pass, marked_name, with_counters

PLAIN = ("name", "category", "start_ns", "end_ns", "pid", "track", "track_tid")  # not annotations
_COPY_NAMES = {
    "H2D": "MEMORY_COPY_HOST_TO_DEVICE",
    "D2H": "MEMORY_COPY_DEVICE_TO_HOST",
    "D2D": "MEMORY_COPY_DEVICE_TO_DEVICE",
    "P2P": "MEMORY_COPY_DEVICE_TO_DEVICE",
    "H2H": "MEMORY_COPY_HOST_TO_HOST",
    "MEMSET": "MEMSET",
}
_KERNEL_NOTES = {
    "corr_id": "correlation_id",
    "queue": "queue_id",
    "tid": "tid",
    "dispatch_id": "dispatch_id",
    "Scratch_Size": "scratch_bytes",
    "LDS_Block_Size": "lds_bytes",
    "VGPR_Count": "vgprs",
    "Accum_VGPR_Count": "agprs",
    "SGPR_Count": "sgprs",
}


def slices_of(trace: Trace) -> pl.DataFrame:
    """Everything that has a begin and an end; the columns beyond `PLAIN` are annotations."""
    kinds = dict(trace.table("agents").select("agent_id", "kind").iter_rows())
    pieces = [
        _calls(first_pass(trace, "api_calls")),
        _ranges(first_pass(trace, "ranges")),
        _copies(first_pass(trace, "copies"), kinds),
    ]
    slices = pl.concat([*pieces, _kernels(trace, kinds)], how="diagonal").drop_nulls(["start_ns", "end_ns"])
    lengths = slices.with_columns(begin_ns="start_ns", delta_ns=pl.col("end_ns") - pl.col("start_ns"))
    notes = [name for name in slices.columns if name not in PLAIN]
    # `end_ns` is an annotation as well: it separates slices that overlap.
    ordered = lengths.select(*PLAIN, "begin_ns", pl.col("end_ns").alias("ended_ns"), "delta_ns", *notes)
    return _with_lanes(
        ordered.sort(
            "pid", "track", "start_ns", pl.col("end_ns").neg(), nulls_last=False, maintain_order=True
        )
    )


def _calls(calls: pl.DataFrame) -> pl.DataFrame:
    category = (
        pl.when(pl.col("domain") == "hip_compiler")
        .then(pl.lit("hip_api"))
        .otherwise(pl.col("domain") + "_api")
    )
    return calls.select("name", category.alias("category"), *_on_thread())


def _ranges(ranges: pl.DataFrame) -> pl.DataFrame:
    return ranges.filter(~pl.col("on_gpu")).select(
        "name", pl.lit("marker_api").alias("category"), *_on_thread()
    )


def _on_thread() -> list[pl.Expr | str]:
    track = pl.format("THREAD ({})", pl.col("tid")).fill_null("THREAD")
    return [
        "start_ns",
        "end_ns",
        "pid",
        track.alias("track"),
        pl.col("tid").alias("track_tid"),
        "tid",
        pl.col("correlation_id").alias("corr_id"),
    ]


def _copies(copies: pl.DataFrame, kinds: dict[int, str]) -> pl.DataFrame:
    target = pl.coalesce("dst_agent", "agent_id")
    alone = pl.col("src_agent").is_null() & pl.col("dst_agent").is_null()
    return copies.select(
        pl.col("kind").replace_strict(_COPY_NAMES, default="MEMORY_COPY_NONE").alias("name"),
        pl.lit("memory_copy").alias("category"),
        *("start_ns", "end_ns", "pid"),
        _track("COPY to AGENT", target, "STREAM", pl.col("stream_id").fill_null(0), kinds),
        pl.format("Agent-{}", "src_agent").alias("src_agent"),
        pl.format("Agent-{}", "dst_agent").alias("dst_agent"),
        pl.when(alone).then(pl.format("Agent-{}", "agent_id")).alias("agent"),
        pl.col("size_bytes").alias("copy_bytes"),
        pl.col("correlation_id").alias("corr_id"),
        "tid",
        pl.col("stream_id").alias("stream_ID"),
    )


def _kernels(trace: Trace, kinds: dict[int, str]) -> pl.DataFrame:
    """The slices of kernels; rocprofv3 annotates sizes as products, and counters as real numbers."""
    dispatches, counters = with_counters(trace, first_pass(trace, "dispatches"))
    by_queue = pl.col("queue_id").is_not_null()
    lane = pl.coalesce("queue_id", "stream_id").fill_null(0)
    agent = pl.col("agent_id")
    track = [_track("COMPUTE AGENT", agent, word, lane, kinds) for word in ("QUEUE", "STREAM")]
    sizes = [
        (pl.col(f"{size}_x") * pl.col(f"{size}_y") * pl.col(f"{size}_z")).alias(f"{size}_size")
        for size in ("workgroup", "grid")
    ]
    return dispatches.select(
        marked_name(pl.col("kernel")).alias("name"),
        pl.lit("kernel_dispatch").alias("category"),
        *("start_ns", "end_ns", "pid"),
        pl.when(by_queue).then(track[0]).otherwise(track[1]).alias("track"),
        pl.format("Agent-{}", "agent_id").alias("agent"),
        agent.replace_strict(kinds, default=None, return_dtype=pl.String).alias("agent_type"),
        *(pl.col(column).alias(note) for note, column in _KERNEL_NOTES.items()),
        *sizes,
        pl.col("stream_id").alias("stream_ID"),
        *counters,
    )


def _track(what: str, agent: pl.Expr, word: str, lane: pl.Expr, kinds: dict[int, str]) -> pl.Expr:
    """The name of a track: `COMPUTE AGENT [4] QUEUE [0] (GPU)`."""
    number = agent.cast(pl.String).fill_null("?")
    kind = agent.replace_strict(kinds, default="UNK", return_dtype=pl.String).fill_null("UNK")
    return pl.format(f"{what} [{{}}] {word} [{{}}] ({{}})", number, lane, kind).alias("track")


def _with_lanes(slices: pl.DataFrame) -> pl.DataFrame:
    """The lane of each slice. Slices that overlap without nesting cannot share a track: later ones get another
    lane."""
    numbered = slices.with_columns(pl.struct("pid", "track").rle_id().alias("number"))
    before = pl.col("end_ns").cum_max().shift().over("number")
    overlaps = numbered.filter((pl.col("start_ns") < before).fill_null(False))["number"].unique()
    crowded = numbered.filter(pl.col("number").is_in(overlaps.implode()))
    lanes = [
        _lanes(track["start_ns"].to_list(), track["end_ns"].to_list())
        for track in crowded.partition_by("number", maintain_order=True)
    ]
    lane = pl.Series("lane", [number for track in lanes for number in track], pl.Int64)
    alone = numbered.filter(~pl.col("number").is_in(overlaps.implode())).with_columns(
        pl.lit(0, pl.Int64).alias("lane")
    )
    return pl.concat([alone, crowded.with_columns(lane)])


def _lanes(starts: list[int], ends: list[int]) -> list[int]:
    lanes: list[list[int]] = []  # per lane, the ends of open slices
    chosen = []
    for start, end in zip(starts, ends, strict=True):
        for opened in lanes:
            while opened and opened[-1] <= start:
                opened.pop()
        fitting = (number for number, opened in enumerate(lanes) if not opened or opened[-1] >= end)
        number = next(fitting, len(lanes))
        if number == len(lanes):
            lanes.append([])
        lanes[number].append(end)
        chosen.append(number)
    return chosen
