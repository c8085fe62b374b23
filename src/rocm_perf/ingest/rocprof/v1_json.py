"""rocprof (v1) results.json: a Chrome trace whose process numbers stand for kinds of records (HIP calls,
copies, GPU 0, ...) and whose exact times and ids are strings among the arguments."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import domains
from rocm_perf.ingest.chrome.events import Events, argument, event_array, read_pieces, whole
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.json import EventArray
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof.v1_csv import LAYOUT, wide_tables
from rocm_perf.model.run import Loss

_START = re.compile(r'\s*\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}')
_METADATA = {"args", "ph", "pid", "name", "sort_index"}
_LABELS = {"Markers and Ranges": "marker", "COPY": "copy", "CPU HIP API": "hip", "CPU HSA API": "hsa"}
_SECTIONS = {0: "marker", 1: "copy", 2: "hip", 3: "hsa"}
_FIRST_GPU, _FIRST_BARRIER = 6, 518
_BARRIER = "<barrier packet>"
_MAX_COLUMNS = 2000
_AGENT = {
    **dict.fromkeys(("kind", "gfx", "vendor", "uuid"), pl.String),
    **dict.fromkeys(
        ("agent_id", "cu_count", "simd_count", "wave_size", "max_waves_per_simd", "clock_mhz"), pl.Int64
    ),
}

# The arguments of a call or an operation. `proc-id` is from 2021, when `tid` held the stream.
_SPAN_KEYS = ("BeginNs", "EndNs", "pid", "tid", "proc-id", "dev-id", "queue-id", "stream-id", "Name")
TWICE = "Kernels were recorded twice, by the profiler and by the tracer; those of the profiler are used."


def read_trace(source: Source) -> Part:
    """Calls, kernels, copies and ranges. Flows join a call with what it started."""
    if set(Peek(source).json_keys) >= _METADATA:
        raise EmptyCaptureError(
            f"{source.name} holds no event",
            "rocprof wrote one line of its trace and stopped",
            "Record again, and check what rocprof prints.",
        )
    array = event_array(source)
    pieces, losses = read_pieces(array, source.name, _sorted_out)
    spans = _with_kinds(
        pl.concat([piece["spans"] for piece in pieces]), pl.concat([piece["labels"] for piece in pieces])
    )
    spans, lost = drop_incomplete(spans, ("start_ns", "end_ns", "Name"), source.name)
    spans = _correlated(spans.with_row_index("span"), pl.concat([piece["flows"] for piece in pieces]))
    profiled, unread = _profiled(pieces, source.name)
    tables = {**span_tables(spans), "agents": _agents(array)}
    return assemble(source, tables, profiled, losses + lost + unread)


def assemble(
    source: Source, tables: dict[str, pl.DataFrame], profiled: dict[str, pl.DataFrame], losses: list[Loss]
) -> Part:
    """The tables of what rocprof's tracer and profiler saw, with each kernel once."""
    notices = (TWICE,) if profiled and tables["dispatches"].height else ()
    merged = {**tables, **profiled}
    if not any(table.height for name, table in merged.items() if name != "agents"):
        raise EmptyCaptureError(
            f"{source.name} holds no record", "rocprof ran, but saw no kernel, call, copy or range"
        )
    return part("rocprof", merged, losses, clock="boot", notices=notices)


def span_tables(spans: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of calls, copies, kernels and ranges, from rows whose `kind` says which they are."""
    kind = pl.col("kind")
    where = ["start_ns", "end_ns", "pid", "tid", "correlation_id"]
    on_gpu = [*where, "agent_id", "queue_id", "stream_id"]
    name = pl.col("Name")
    copies = spans.filter(kind == "copy")
    sizes = ["size_bytes"] if "size_bytes" in spans.columns else []
    return {
        "api_calls": spans.filter(kind.is_in(["hip", "hsa"])).select(
            kind.alias("domain"), name.alias("name"), *where
        ),
        "copies": copies.select(domains.copy_kind(name).alias("kind"), *sizes, *on_gpu),
        "dispatches": spans.filter(kind == "gpu", name != _BARRIER).select(
            domains.kernel_name(name).alias("kernel"), *on_gpu
        ),
        "ranges": spans.filter(kind == "marker").select(
            name.alias("name"), pl.lit("roctx").alias("source"), *where[:4]
        ),
    }


def typed_spans(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns of rocprof's tracer, as text, under the names and types of the tables."""
    old = pl.col("proc-id").is_not_null()
    return frame.with_columns(
        pl.col("Name").str.replace(r'^"(.*)"$', "$1"),
        whole("BeginNs").alias("start_ns"),
        whole("EndNs").alias("end_ns"),
        pl.coalesce(whole("proc-id"), whole("pid")).alias("pid"),
        pl.when(~old).then(whole("tid")).alias("tid"),
        pl.when(old).then(whole("tid")).otherwise(whole("stream-id")).alias("stream_id"),
        whole("dev-id").alias("agent_id"),
        whole("queue-id").alias("queue_id"),
    )


def _sorted_out(piece: Events) -> dict[str, Any]:
    """The content of one piece: spans as text with their section, labels of sections, flows, and the profiler's
    kernels."""
    frame = piece.frame.with_columns(
        whole("pid").alias("section"), whole("tid").alias("lane"), whole("ts").alias("time_us")
    )
    spans = frame.filter(pl.col("ph") == "X").drop("pid", "tid")
    args = piece.arguments(spans["row"])
    is_profiled = pl.Series(["KernelName" in values for values in args], dtype=pl.Boolean)
    spans = spans.with_columns(argument(args, key) for key in _SPAN_KEYS).filter(~is_profiled)
    labels = frame.filter(pl.col("ph") == "M", pl.col("name") == "process_name")
    flows = frame.filter(pl.col("ph").is_in(["s", "t"]))
    return {
        "spans": typed_spans(spans).with_columns(whole("dur").alias("duration_us")),
        "labels": labels.select("section", argument(piece.arguments(labels["row"]), "name").alias("label")),
        "flows": flows.with_columns(piece.ids(flows["row"])).select(
            "ph", whole("id").alias("flow"), "section", "lane", "time_us"
        ),
        "profiled": [values for values, profiled in zip(args, is_profiled, strict=True) if profiled],
    }


def _with_kinds(spans: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The spans with their kind: what the file says its process numbers mean, else what rocprof's own numbers
    mean."""
    stated = {section: label for section, label in labels.iter_rows() if section is not None and label}
    sections = spans["section"].drop_nulls().unique().to_list()
    kinds = pl.DataFrame(
        {"section": sections, "kind": [_kind(section, stated.get(section)) for section in sections]},
        schema={"section": pl.Int64, "kind": pl.String},
    )
    return spans.join(kinds, on="section", how="left", maintain_order="left")


def _kind(section: int, label: str | None) -> str:
    if label in _LABELS:
        return _LABELS[label]
    if label and label.startswith("GPU"):
        return "barrier" if "Barrier" in label else "gpu"
    if section >= _FIRST_BARRIER:
        return "barrier"
    return "gpu" if section >= _FIRST_GPU else _SECTIONS.get(section, "unknown")


def _correlated(spans: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """A flow leaves a call on its thread while it runs and meets an operation where it begins; the lowest
    number of its flows becomes the correlation id of a call."""
    flows = flows.drop_nulls()
    calls = spans.filter(pl.col("kind").is_in(["hip", "hsa"])).drop_nulls("time_us").sort("time_us")
    calls = calls.select(
        "section",
        "lane",
        "time_us",
        "duration_us",
        pl.col("span").alias("call"),
        pl.col("time_us").alias("since_us"),
    )
    causes = (
        flows.filter(pl.col("ph") == "s")
        .sort("time_us")
        .join_asof(calls, on="time_us", by=["section", "lane"], strategy="backward", check_sortedness=False)
        .filter(pl.col("time_us") <= pl.col("since_us") + pl.col("duration_us"))
        .with_columns(pl.col("flow").min().over("call").alias("correlation_id"))
    )
    operations = spans.filter(pl.col("kind").is_in(["gpu", "copy"])).select(
        "section", "lane", "time_us", "span"
    )
    effects = flows.filter(pl.col("ph") == "t").join(
        operations.unique(["section", "lane", "time_us"], keep="none"), on=["section", "lane", "time_us"]
    )
    pairs = causes.join(effects.select("flow", "span"), on="flow").select("call", "span", "correlation_id")
    ids = pl.concat(
        [pairs.select(pl.col("call").alias("span"), "correlation_id"), pairs.select("span", "correlation_id")]
    ).unique("span", keep="first", maintain_order=True)
    return spans.join(ids, on="span", how="left", maintain_order="left")


def _profiled(pieces: list[dict[str, Any]], source: str) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    """Kernels of the profiler. They are in dispatch order, without dispatch numbers."""
    args = [values for piece in pieces for values in piece["profiled"]]
    if not args:
        return {}, []
    names = [name for name in args[0] if name != "Index"][:_MAX_COLUMNS]
    frame = pl.DataFrame([argument(args, name) for name in names])
    number = pl.int_range(pl.len(), dtype=pl.Int64)
    index = (number.over("pid") if "pid" in names else number).cast(pl.String).alias("Index")
    return wide_tables(frame.with_columns(index), LAYOUT, source)


def _agents(array: EventArray[Events]) -> pl.DataFrame:
    """The agents in `otherData`, which is rocminfo without its spaces: `Agent9.Name`, `Agent9.ComputeUnit`, ..."""
    try:
        other = msgspec.json.decode(
            b"{" + array.suffix.strip().removeprefix(b","), type=dict[str, dict[str, Any]]
        ).get("otherData", {})
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return pl.DataFrame()
    agents: dict[str, dict[str, str]] = {}
    for key, value in other.items():
        agent, _, what = key.partition(".")
        if re.fullmatch(r"Agent\d+", agent) and isinstance(value, str):
            agents.setdefault(agent, {}).setdefault(what.removeprefix("MemoryProperties."), value)
    return pl.DataFrame([_agent(facts) for facts in agents.values()], schema=_AGENT).drop_nulls("agent_id")


def _agent(facts: dict[str, str]) -> dict[str, object]:
    name = facts.get("Name", "")
    units, simds, waves = (_number(facts, key) for key in ("ComputeUnit", "SIMDsperCU", "MaxWavesPerCU"))
    is_gpu = facts.get("DeviceType") == "GPU"
    return {
        "agent_id": _number(facts, "Node"),
        "kind": facts.get("DeviceType"),
        "gfx": name if name.startswith("gfx") else None,
        "vendor": facts.get("VendorName"),
        "uuid": facts.get("Uuid") if is_gpu else None,
        "cu_count": units if is_gpu else None,
        "simd_count": units * simds if is_gpu and units and simds else None,
        "wave_size": _number(facts, "WavefrontSize"),
        "max_waves_per_simd": waves // simds if waves and simds else None,
        "clock_mhz": _number(facts, "MaxClockFreq.(MHz)"),
    }


def _number(facts: dict[str, str], key: str) -> int | None:
    """The number in a text like `64(0x40)`."""
    match = re.match(r"\d{1,12}", facts.get(key, ""))
    return int(match.group()) if match else None


def _claims(peek: Peek) -> bool:
    if peek.json_kind != "object":
        return False
    return _START.match(peek.text) is not None or (
        set(peek.json_keys) >= _METADATA and "traceEvents" not in peek.json_keys
    )


ADAPTERS = (
    Adapter(
        name="rocprof-json",
        title="rocprof (v1) results.json",
        recognised_by="JSON whose traceEvents start with an empty event",
        claims=_claims,
        read=read_trace,
        fills=("dispatches", "counters", "api_calls", "copies", "ranges", "agents"),
    ),
)
