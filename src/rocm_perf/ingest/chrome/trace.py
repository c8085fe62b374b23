"""Chrome traces (about:tracing, Perfetto's JSON) of any origin. What the trace itself calls a kernel or a
copy becomes one; every other span is a range."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest import domains
from rocm_perf.ingest.chrome.events import (
    Events,
    argument,
    event_array,
    holds_events,
    read_pieces,
    whole,
    with_nanoseconds,
)
from rocm_perf.ingest.io.json import nothing_read
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.model.run import Loss

_KERNEL = ("kernel", "gpu_kernel", "concurrent_kernel")
_COPY = ("gpu_memcpy", "gpu_memset", "memcpy", "memset")
_GPU_RANGE = ("gpu_user_annotation",)
_PAIRED = ("B", "E")
_MARK = ("i", "I", "R")
_FLOW = ("s", "t", "f")
_SAYS_NOTHING = ("", "M")  # empty events, and names of threads

_SPAN = ["name", "start_ns", "end_ns", "pid", "tid"]
_RANGE = {
    "name": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "pid": pl.Int64,
    "tid": pl.Int64,
    "depth": pl.Int64,
}
_FLOW_KEY = ["cat", "name", "id"]


def read_trace(source: Source) -> Part:
    """Kernels, copies, ranges and the arrows between events."""
    array = event_array(source)
    pieces, losses = read_pieces(array, source.name, _sorted_out)
    kinds = {kind: pl.concat([piece[kind] for piece in pieces]) for kind in pieces[0]}
    nested, unpaired = _nested(kinds.pop("paired"), source.name)
    links, unlinked = _links(kinds.pop("flows"), source.name)
    losses += unpaired + unlinked + _unread(kinds.pop("unread"), source.name)
    ranges = pl.concat([kinds["ranges"], nested], how="diagonal").with_columns(
        pl.lit("chrome").alias("source")
    )
    tables = {**kinds, "ranges": ranges, "links": links}
    if not any(table.height for table in tables.values()):
        raise nothing_read(source.name, array.damage, "no event in it has a begin and an end")
    return part("chrome", tables, losses)


def _sorted_out(piece: Events) -> dict[str, pl.DataFrame]:
    """The events of one piece by kind; those that cannot be used are `unread`, with the reason."""
    frame = with_nanoseconds(piece.frame, "ts", "dur").with_columns(
        pl.col("ph").fill_null("?"),
        (pl.col("ts") + pl.col("dur")).alias("end_ns"),
        pl.col("cat").str.to_lowercase().alias("category"),
    )
    named = pl.col("name").is_not_null() | pl.col("ph").is_in(["E", *_FLOW])
    lasts = (pl.col("ph") != "X") | (pl.col("dur") >= 0) & (pl.col("end_ns") >= pl.col("ts"))
    whole_event = (pl.col("ts").is_not_null() & named & lasts).fill_null(False)
    usable = frame.filter(whole_event)
    spans = usable.filter(pl.col("ph") == "X")
    is_work = pl.col("category").is_in([*_KERNEL, *_COPY]).fill_null(False)
    work = spans.filter(is_work)
    is_read = pl.col("ph").is_in(["X", *_PAIRED, *_MARK, *_FLOW])
    other = frame.filter(~is_read, ~pl.col("ph").is_in(_SAYS_NOTHING)).select(
        ("phase " + pl.col("ph")).alias("reason")
    )
    lacking = frame.filter(is_read, ~whole_event).with_columns(
        pl.lit("no name, time or duration").alias("reason")
    )
    return {
        **_gpu_tables(piece, work),
        "ranges": pl.concat(
            [_ranges(spans.filter(~is_work)), _marks(usable.filter(pl.col("ph").is_in(_MARK)))]
        ),
        "paired": usable.filter(pl.col("ph").is_in(_PAIRED)).select("ph", "name", "pid", "tid", "ts"),
        "flows": _flows(piece, usable.filter(pl.col("ph").is_in(_FLOW))),
        "unread": pl.concat([other, lacking.select("reason")]),
    }


def _gpu_tables(piece: Events, work: pl.DataFrame) -> dict[str, pl.DataFrame]:
    args = piece.arguments(work["row"])
    keys = ("device", "stream", "correlation", "bytes")
    rows = work.with_columns(argument(args, key) for key in keys).select(
        "name",
        "category",
        pl.col("ts").alias("start_ns"),
        "end_ns",
        whole("device").alias("agent_id"),
        whole("stream").alias("stream_id"),
        whole("correlation").alias("correlation_id"),
        whole("bytes").alias("size_bytes"),
    )
    is_copy = pl.col("category").is_in(_COPY)
    is_fill = pl.col("category").str.contains("memset")
    kind = pl.when(is_fill).then(pl.lit("MEMSET")).otherwise(domains.copy_kind(pl.col("name")))
    return {
        "dispatches": rows.filter(~is_copy).select(
            domains.kernel_name(pl.col("name")).alias("kernel"), pl.exclude("name", "category", "size_bytes")
        ),
        "copies": rows.filter(is_copy).select(kind.alias("kind"), pl.exclude("name", "category")),
    }


def _ranges(spans: pl.DataFrame) -> pl.DataFrame:
    on_gpu = pl.col("category").is_in(_GPU_RANGE).fill_null(False).alias("on_gpu")
    return spans.with_columns(pl.col("ts").alias("start_ns"), whole("pid"), whole("tid"), on_gpu).select(
        *_SPAN, "on_gpu"
    )


def _marks(events: pl.DataFrame) -> pl.DataFrame:
    return _ranges(events.with_columns(pl.col("ts").alias("end_ns")))


def _flows(piece: Events, events: pl.DataFrame) -> pl.DataFrame:
    columns = events.with_columns(piece.ids(events["row"]))
    return columns.select("ph", *_FLOW_KEY, whole("pid"), whole("tid"), "ts")


def _nested(events: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[Loss]]:
    """Spans of begins matched with ends, innermost first, on each thread."""
    rows: list[tuple[object, ...]] = []
    stacks: dict[tuple[str | None, str | None], list[tuple[str | None, int]]] = {}
    orphans = 0
    for phase, name, pid, tid, time in events.sort("ts", maintain_order=True).iter_rows():
        stack = stacks.setdefault((pid, tid), [])
        if phase == "B":
            stack.append((name, time))
        elif stack:
            opened, start = stack.pop()
            rows.append((opened, start, time, pid, tid, len(stack)))
        else:
            orphans += 1
    left = sum(len(stack) for stack in stacks.values())
    texts = {**_RANGE, "pid": pl.String, "tid": pl.String}
    ranges = pl.DataFrame(rows, schema=texts, orient="row").with_columns(whole("pid"), whole("tid"))
    counts = {"begins (B) without an end": left, "ends (E) without a begin": orphans}
    return ranges, [Loss(source, what, count) for what, count in counts.items() if count]


def _links(flows: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[Loss]]:
    """Links from each step of a flow to the next."""
    ordered = flows.drop_nulls("id").sort("ts", maintain_order=True)
    steps = ordered.with_columns(
        pl.col(name).shift(1).over(_FLOW_KEY).alias(f"from_{name}") for name in ("ph", "ts", "tid", "pid")
    )
    linked = pl.col("ph").is_in(["t", "f"]) & pl.col("from_ph").is_in(["s", "t"]).fill_null(False)
    arrows = steps.filter(linked)
    links = arrows.select(
        pl.lit("flow").alias("kind"),
        pl.col("from_pid").alias("pid"),
        pl.col("from_ts").alias("cause_ns"),
        pl.col("from_tid").alias("cause_track"),
        pl.col("ts").alias("effect_ns"),
        pl.col("tid").alias("effect_track"),
        pl.lit("recorded").alias("known"),
    )
    ends = flows.filter(pl.col("ph") != "s").height
    unlinked = (
        ends
        - links.height
        + max(0, flows.filter(pl.col("ph") == "s").height - arrows.filter(pl.col("from_ph") == "s").height)
    )
    return links, [Loss(source, "ends of flows without their other end", unlinked)] if unlinked else []


def _unread(reasons: pl.DataFrame, source: str) -> list[Loss]:
    counts = reasons.group_by("reason").len().sort("len", "reason", descending=True).head(8)
    return [
        Loss(source, f"events that are not used ({reason[:40]})", count)
        for reason, count in counts.iter_rows()
    ]


ADAPTERS = (
    Adapter(
        name="chrome-trace",
        title="Chrome trace (JSON) of any tool",
        recognised_by="JSON with traceEvents, or an array of objects with ph",
        claims=holds_events,
        read=read_trace,
        fills=("ranges", "dispatches", "copies", "links"),
    ),
)
