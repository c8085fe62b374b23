"""What analyses add to a recording, as tracks for viewers of traces: phases, steps, the critical path, idle times by
cause, the lengths of queues and memory in use. They are those of the timeline, on the clock of the recording."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.memory.levels import allocated_bytes
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.timeline import gpu, overall
from rocm_perf.analysis.timeline.build import offset_ns
from rocm_perf.analysis.timeline.layer import Layer
from rocm_perf.analysis.timeline.places import places
from rocm_perf.analysis.timeline.sample import shown_part
from rocm_perf.model.derived import NOTHING_DERIVED, DerivedTracks
from rocm_perf.model.document import Document
from rocm_perf.model.results.operators import QueueLength
from rocm_perf.model.trace import Trace


def derived_tracks(trace: Trace, document: Document) -> DerivedTracks:
    """The tracks of a recording that the document is about; none where nothing has a time."""
    trace, document, _ = shown_part(trace, document)
    where = places(trace)
    if where is None:
        return NOTHING_DERIVED
    judged = focused(trace) if document.steady else trace
    layers = [
        overall.phases(document),
        overall.path(judged, offset_ns(judged, where)),
        gpu.gaps(judged, where),
    ]
    slices = [_on_clock(layer, where.begin_ns) for layer in layers]
    slices.insert(1, _steps(document))
    readings = [*(_queue_length(queue) for queue in document.queue_lengths), _memory(trace)]
    return DerivedTracks(
        slices=pl.concat([NOTHING_DERIVED.slices, *slices], how="diagonal"),
        readings=pl.concat([NOTHING_DERIVED.readings, *readings]),
    )


def _on_clock(layer: Layer, begin_ns: int) -> pl.DataFrame:
    """The slices of a layer by the title of their track, annotated with its details."""
    own = pl.col("group") == overall.GROUP
    title = pl.when(own).then("title").otherwise(pl.format("{}: {}", "title", "group"))
    tracks = layer.tracks.with_row_index("track").select("track", title.alias("title"))
    details = [pl.col(column).alias(meaning.label) for column, meaning in layer.details.items()]
    return layer.slices.join(tracks, on="track", maintain_order="left").select(
        pl.col("title").alias("track"),
        "name",
        pl.col("start_ns") + begin_ns,
        pl.col("end_ns") + begin_ns,
        *details,
    )


def _steps(document: Document) -> pl.DataFrame:
    rows = [
        ("steps", f"step {number}", step.start_ns, step.end_ns, step.kernels)
        for number, step in enumerate(document.steps.steps, start=1)
    ]
    return pl.DataFrame(rows, {**NOTHING_DERIVED.slices.schema, "kernels": pl.Int64}, orient="row")


def _queue_length(queue: QueueLength) -> pl.DataFrame:
    """The longest queue of a stream within each step of time."""
    track = f"queue length: GPU {queue.agent_id}, stream {queue.stream_id}"
    rows = [
        (track, "launches", queue.start_ns + round(place * queue.step_ns), float(length))
        for place, length in enumerate(queue.series)
    ]
    return pl.DataFrame(rows, NOTHING_DERIVED.readings.schema, orient="row")


def _memory(trace: Trace) -> pl.DataFrame:
    return allocated_bytes(trace).select(
        pl.format(
            "allocated memory ({}): GPU {}",
            pl.col("level").str.to_lowercase(),
            pl.col("agent_id").fill_null(-1),
        ).alias("track"),
        pl.lit("B").alias("unit"),
        "time_ns",
        pl.col("bytes").cast(pl.Float64).alias("value"),
    )
