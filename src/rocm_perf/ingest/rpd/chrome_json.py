"""The Chrome trace that rpd2tracing.py makes from an RPD file: a list of events, most often bare, whose GPUs
are processes called GPU0, GPU1, ... and whose threads are called Hip.

Sizes, streams and call ids of the RPD file are not in it, and older releases cut times to microseconds:
if you have the .rpd, read that instead.
"""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import domains
from rocm_perf.ingest.chrome.events import Events, argument, event_array, read_pieces, whole, with_nanoseconds
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rpd import calls as rpd_calls
from rocm_perf.ingest.rpd import database
from rocm_perf.ingest.rpd.arrows import with_arrows
from rocm_perf.model.run import Loss

_GPU = re.compile(
    r'"process_name"[^{}]{0,60}"pid"\s*:\s*"(\d+)"\s*,\s*"args"\s*:\s*\{\s*"name"\s*:\s*"GPU\1"'
)
_THREAD = re.compile(
    r'"thread_name"[^{}]{0,60}"tid"\s*:\s*"(\d+)"\s*,\s*"args"\s*:\s*\{\s*"name"\s*:\s*"Hip \1"'
)
_LIST = re.compile(r'\s*(\{\s*"traceEvents"\s*:\s*)?\[\s*\{\s*\}')
_PHASES = ("", "M", "X", "i", "s", "f", "C")
_COMPUTED = ("idle", "depth")  # rpd2tracing's own counters, not readings
_ROUNDED = "the trace holds whole microseconds: times are up to 2 µs off, and short kernels look shorter"

_SPAN = ("start_ns", "end_ns")
_GPU_SPAN = (*_SPAN, "agent_id", "queue_id")
_HOST_SPAN = (*_SPAN, "pid", "tid")


def read(source: Source) -> Part:
    array = event_array(source)
    pieces, losses = read_pieces(array, source.name, _piece)
    events = {kind: pl.concat([piece[kind] for piece in pieces]) for kind in pieces[0]}
    gpus = events["names"].filter(pl.col("label").str.contains(r"^GPU\d+$"))["pid"].unique().to_list()
    spans, lost = drop_incomplete(events["spans"], ("name", "start_ns", "end_ns", "pid"), source.name)
    losses += lost + _odd(source, events["odd"].height, "elements that are not trace events")
    on_gpu = pl.col("pid").is_in(pl.Series(gpus, dtype=pl.Int64).implode())
    ops = spans.filter(on_gpu).rename({"pid": "agent_id", "tid": "queue_id"})
    tables = {
        **_gpu_tables(ops),
        **_host_tables(spans.filter(~on_gpu)),
        "links": _links(events["flows"]),
        "samples": events["readings"],
    }
    tables = with_arrows(tables, events["flows"])
    losses += _odd(source, tables.pop("unknown").height, "GPU operations of unknown type")
    tables["ranges"] = pl.concat([tables.pop("frames"), tables["ranges"]], how="diagonal")
    if not any(table.height for table in tables.values()):
        raise EmptyCaptureError(
            f"{source.name} holds no call and no kernel", "the RPD file it was made from was empty"
        )
    notices = (_ROUNDED,) if spans.height and not spans["fraction"].any() else ()
    pids = spans.filter(~on_gpu)["pid"].unique()
    return part(
        "rocmProfileData",
        tables,
        losses,
        clock=database.clock_of(spans["start_ns"]),
        pid=pids[0] if pids.len() == 1 else None,
        notices=notices,
    )


def _odd(source: Source, count: int, what: str) -> list[Loss]:
    return [Loss(source.name, what, count)] if count else []


def _piece(events: Events) -> dict[str, pl.DataFrame]:
    """The events by kind, with times in nanoseconds."""
    phase = pl.col("ph")
    numbered = events.frame.with_columns(whole("pid").alias("pid"), whole("tid").alias("tid"))
    spans = numbered.filter(phase.is_in(["X", "i"])).with_columns(
        pl.col("ts").str.contains(".", literal=True).fill_null(False).alias("fraction"),
        pl.when(phase == "i").then(pl.lit("0")).otherwise("dur").alias("dur"),
    )
    spans = with_nanoseconds(spans, "ts", "dur")
    descriptions = argument(events.arguments(spans["row"]), "desc")
    flows = numbered.filter(phase.is_in(["s", "f"]))
    names = numbered.filter((phase == "M") & (pl.col("name") == "process_name"))
    return {
        "spans": spans.select(
            "name",
            pl.col("ts").alias("start_ns"),
            (pl.col("ts") + pl.col("dur")).alias("end_ns"),
            "pid",
            "tid",
            descriptions,
            "fraction",
        ),
        "flows": with_nanoseconds(flows, "ts").select(
            "ph", "cat", "pid", "tid", "ts", events.ids(flows["row"])
        ),
        "names": names.select("pid", argument(events.arguments(names["row"]), "name").alias("label")),
        "readings": _readings(events, numbered.filter(phase == "C")),
        "odd": numbered.filter(~phase.is_in(_PHASES)).select("ph"),
    }


def _readings(events: Events, counters: pl.DataFrame) -> pl.DataFrame:
    args = [next(iter(reading.items()), ("", None)) for reading in events.arguments(counters["row"])]
    values = pl.DataFrame(
        {"key": [key for key, _ in args], "value": [_number(value) for _, value in args]},
        schema={"key": pl.String, "value": pl.Float64},
    )
    rows = with_nanoseconds(counters.hstack(values), "ts").filter(~pl.col("key").is_in(_COMPUTED))
    metric = {name: ours for name, (ours, _) in database.SENSORS.items()}
    unit = {name: unit for name, (_, unit) in database.SENSORS.items()}
    return rows.drop_nulls(["ts", "value"]).select(
        pl.col("ts").alias("time_ns"),
        pl.col("pid").alias("agent_id"),
        pl.col("key").replace(metric).alias("metric"),
        "value",
        pl.col("key").replace_strict(unit, default=None, return_dtype=pl.String).alias("unit"),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else None


def _gpu_tables(ops: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Kernels and copies by the trace's names; the rest only encloses what a range or graph launched."""
    kind = database.op_kind(pl.col("desc"))
    framed = pl.col("desc").is_null() | pl.col("desc").str.starts_with("UserMarker frame")
    kernels = ops.filter(~framed & (kind == "kernel"))
    copies = ops.filter(~framed & (kind == "copy"))
    return {
        "dispatches": kernels.select(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("dispatch_id"),
            domains.kernel_name(pl.col("name")).alias("kernel"),
            *_GPU_SPAN,
        ),
        "unknown": ops.filter(~framed & kind.is_null()),
        "copies": copies.select(domains.copy_kind(pl.col("desc")).alias("kind"), *_GPU_SPAN),
        "frames": ops.filter(framed).select("name", *_GPU_SPAN, on_gpu=True, source=pl.lit("roctx")),
    }


def _host_tables(spans: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Calls and ranges. A range differs from a call by its arguments: they are its name."""
    group = (
        pl.when(pl.col("name") == pl.col("desc"))
        .then(pl.lit("marker"))
        .otherwise(rpd_calls.group_of_name(pl.col("name")))
    )
    rows = spans.with_columns(group.alias("group"))
    apis = rows.filter(~pl.col("group").is_in(["marker", "operator"]))
    return {
        "api_calls": apis.select(pl.col("group").alias("domain"), "name", *_HOST_SPAN),
        "ranges": rows.filter(pl.col("group") == "marker").select(
            "name", *_HOST_SPAN, on_gpu=False, source=pl.lit("roctx")
        ),
        "ops": rows.filter(pl.col("group") == "operator").select(
            "name", *_HOST_SPAN, category=pl.lit("operator")
        ),
    }


def _links(flows: pl.DataFrame) -> pl.DataFrame:
    """Links from a call to what it caused, by thread and queue; arrows.py joins what they tell apart."""
    begin = flows.filter(pl.col("ph") == "s").select("cat", "id", "pid", cause_ns="ts", cause_track="tid")
    end = flows.filter(pl.col("ph") == "f").select("cat", "id", effect_ns="ts", effect_track="tid")
    joined = begin.unique(["cat", "id"], keep="first", maintain_order=True).join(
        end.unique(["cat", "id"], keep="first"), on=["cat", "id"], how="inner", maintain_order="left"
    )
    kind = pl.when(pl.col("cat") == "fwdbwd").then(pl.lit("forward_backward")).otherwise(pl.lit("flow"))
    return joined.with_columns(kind.alias("kind"), known=pl.lit("recorded")).drop("cat", "id")


def _claims(peek: Peek) -> bool:
    if peek.json_kind is None or not _LIST.match(peek.text):
        return False
    return _GPU.search(peek.text) is not None or _THREAD.search(peek.text) is not None


ADAPTERS = (
    Adapter(
        name="rpd-json",
        title="rocmProfileData trace (rpd2tracing.py JSON)",
        recognised_by="a JSON list that starts with {} and calls processes GPU0, GPU1 and threads Hip",
        claims=_claims,
        read=read,
    ),
)
