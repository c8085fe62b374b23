"""What GPUs did: kernels and copies by queue and stream, and why they stood idle."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.launched import CALL_KEY, GPU, with_calls
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.idle.gap_causes import CAUSES
from rocm_perf.analysis.idle.gaps import gpu_gaps
from rocm_perf.analysis.timeline.layer import Layer, Meaning, layer, places_of
from rocm_perf.analysis.timeline.places import Places
from rocm_perf.model.results.gaps import CAUSE_NAMES
from rocm_perf.model.trace import Trace

_QUEUE = (*GPU, "queue_id", "stream_id")
_SPAN = (*GPU, "pid", "start_ns", "end_ns")
_WORK = (*_SPAN, "row", "name", "queue_id", "stream_id")
_KERNEL = {
    "collective": Meaning("collective"),
    "collective_bytes": Meaning("input of this rank", "B", adds_up=True),
    "process_group": Meaning("process group"),
    "grid": Meaning("grid (work-items)"),
    "workgroup": Meaning("workgroup"),
    "vgprs": Meaning("VGPRs"),
    "agprs": Meaning("AGPRs"),
    "sgprs": Meaning("SGPRs"),
    "lds_bytes": Meaning("LDS of a workgroup", "B"),
    "scratch_bytes": Meaning("scratch of a work-item", "B"),
    "graph_id": Meaning("graph launch"),
    "dispatch_id": Meaning("dispatch"),
    "correlation_id": Meaning("correlation id"),
    "rank": Meaning("rank"),
    "pid": Meaning("process"),
}
_COPY = {
    "size_bytes": Meaning("size", "B", adds_up=True),
    "host_memory": Meaning("host memory"),
    "src_agent": Meaning("from agent"),
    "dst_agent": Meaning("to agent"),
    "correlation_id": Meaning("correlation id"),
    "rank": Meaning("rank"),
    "pid": Meaning("process"),
}
_GAP: dict[str, Meaning] = {
    "after": Meaning("ended by"),
    "launch_name": Meaning("launched by"),
    **{cause: Meaning(CAUSE_NAMES[cause], "ns", adds_up=True) for cause in CAUSES},
}


def kernels(trace: Trace, places: Places, on_path: pl.Series) -> Layer:
    """Every kernel of the timed pass on the queue and stream that it ran on."""
    dispatches = timed_rows(trace, "dispatches").with_columns(
        _extent("grid").alias("grid"), _extent("workgroup").alias("workgroup"), name="kernel"
    )
    known = dispatches.join(
        _collectives(trace), on=_SPAN, how="left", nulls_equal=True, maintain_order="left"
    )
    rows = _launched(trace, places, known.select(dict.fromkeys((*_WORK, *_KERNEL)).keys()).collect(), on_path)
    where = places.on_gpus(places_of(rows, _QUEUE)).with_columns(title=_queue(""))
    return layer("queue", rows, where, _KERNEL)


def copies(trace: Trace, places: Places, on_path: pl.Series) -> Layer:
    """Every copy of the timed pass."""
    known = timed_rows(trace, "copies").with_columns(name="copy " + pl.col("kind"))
    rows = _launched(trace, places, known.select(dict.fromkeys((*_WORK, *_COPY)).keys()).collect(), on_path)
    where = places.on_gpus(places_of(rows, _QUEUE)).with_columns(title=_queue("copies, "))
    return layer("copies", rows, where, _COPY)


def gaps(judged: Trace, places: Places) -> Layer:
    """The idle times of each GPU, each named after its longest cause. They are those of the judged part, as the
    document has them."""
    idle = gpu_gaps(judged)
    longest = pl.concat_list(CAUSES).list.arg_max()
    named = {place: CAUSE_NAMES[cause] for place, cause in enumerate(CAUSES)}
    rows = idle.select(
        *GPU,
        pl.col("launch_name").cast(pl.String),
        *(pl.when(pl.col(cause) > 0).then(cause).alias(cause) for cause in CAUSES),
        start_ns="since_ns",
        end_ns="start_ns",
        after=pl.col("name").cast(pl.String),
        name=longest.replace_strict(named, return_dtype=pl.String),
        on_path=pl.lit(False),
    )
    where = places.on_gpus(places_of(rows, GPU)).with_columns(title=pl.lit("idle, by cause"))
    return layer("gaps", places.since_begin(rows), where, _GAP)


def _collectives(trace: Trace) -> pl.LazyFrame:
    """The collectives by the place and time of the kernel that carries each out."""
    rows = timed_rows(trace, "collectives").select(
        *_SPAN, collective="name", collective_bytes="size_bytes", process_group="group"
    )
    return rows.unique(_SPAN, keep="first", maintain_order=True)


def _launched(trace: Trace, places: Places, rows: pl.DataFrame, on_path: pl.Series) -> pl.DataFrame:
    """GPU work with the row of the call that launched it, and whether the critical path runs through it."""
    calls = timed_rows(trace, "api_calls").sort("start_ns").select(*CALL_KEY, call_row="row").collect()
    marked = with_calls(rows, calls).with_columns(on_path=pl.col("row").is_in(on_path.implode()))
    return places.since_begin(marked)


def _queue(prefix: str) -> pl.Expr:
    """The title of a track: the queue and the stream, as far as they are recorded."""
    parts = [pl.format(f"{word} {{}}", pl.col(f"{word}_id")) for word in ("queue", "stream")]
    where = pl.concat_str(*parts, separator=", ", ignore_nulls=True)
    return pl.lit(prefix) + pl.when(where == "").then(pl.lit("queue unknown")).otherwise(where)


def _extent(size: str) -> pl.Expr:
    """A size in three directions as a text: 128 x 1 x 1."""
    return pl.format("{} x {} x {}", *(pl.col(f"{size}_{axis}") for axis in "xyz"))
