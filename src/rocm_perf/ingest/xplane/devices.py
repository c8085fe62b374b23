"""The planes of devices: kernels, copies, memory, and the agents themselves."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.arch.capability import amd_chip
from rocm_perf.ingest import domains
from rocm_perf.ingest.xplane.planes import Facts, Line, Plane
from rocm_perf.model.range_sources import JAX
from rocm_perf.units import format_count, format_list

STREAM = re.compile(r"Stream #\d+")
_OPS = ("XLA Ops", "Async XLA Ops", "Sparse Core Ops", "Host Offload Ops")
_SPANS = ("Steps", "XLA Modules", "Sparse Core Steps", "Sparse Core Modules", "XLA TraceMe")
# Lines that tools make of the others.
_DERIVED = ("Framework Name Scope", "Framework Ops", "TensorFlow Name Scope", "TensorFlow Ops", "Source code",
            "Launch Stats", "XLA Ops", "Async XLA Ops")  # fmt: skip
_NAMED = 8  # devices in a note
_COUNTERS = "_counters_"
_HLO_TEXT = r"^%([\w.-]+) = "  # the name that an operation has in its program
_SIZES = r"{}:(\d+),(\d+),(\d+)"


def device_events(planes: list[Plane]) -> pl.DataFrame:
    """What ran on the devices, with agent_id and stream_id: streams of GPUs, operations of other devices."""
    frames = [
        _placed(plane, _operations(plane.events([line])) if line.name in _OPS else plane.events([line]))
        for plane in planes
        for line in _working(plane)
    ]
    return pl.concat(frames) if frames else _placed(None, Plane("", ()).events())


def _working(plane: Plane) -> list[Line]:
    streams = [line for line in plane.lines if STREAM.match(line.name)]
    operations = [line for line in plane.lines if line.name in _OPS]
    others = [line for line in plane.lines if line.name not in (*_DERIVED, *_SPANS, _COUNTERS)]
    return streams or operations or others


def _placed(plane: Plane | None, events: pl.DataFrame) -> pl.DataFrame:
    number = plane.device[1] if plane is not None and plane.device else None
    return events.with_columns(pl.lit(number, pl.Int64).alias("agent_id"), pl.col("line").alias("stream_id"))


def _operations(events: pl.DataFrame) -> pl.DataFrame:
    """Events that are operations themselves. Only those that hold no others: a loop is not work beside what it
    repeats."""
    name = pl.coalesce(pl.col("event").str.extract(_HLO_TEXT), "event")
    return _innermost(events.with_columns(name.alias("event"), pl.coalesce("hlo_op", name).alias("hlo_op")))


def _innermost(events: pl.DataFrame) -> pl.DataFrame:
    ordered = events.sort(["start_ns", "end_ns"], descending=[False, True], maintain_order=True)
    holds = pl.col("start_ns").shift(-1) < pl.col("end_ns")
    return ordered.filter(~holds.fill_null(False) | pl.col("occurrences").is_not_null())


def device_ranges(planes: list[Plane]) -> pl.DataFrame:
    """Steps and programs as the devices saw them."""
    frames = [
        _placed(plane, plane.events([line])).select(
            "agent_id",
            "start_ns",
            "end_ns",
            pl.col("event").alias("name"),
            pl.lit(JAX).alias("source"),
            pl.lit(True).alias("on_gpu"),
        )
        for plane in planes
        for line in plane.lines
        if line.name in _SPANS and line.events.height
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def counter_samples(planes: list[Plane]) -> pl.DataFrame:
    """Readings of the counters that the profiler sampled beside the work."""
    frames = [
        _placed(plane, plane.events([line])).select(
            "agent_id",
            pl.col("start_ns").alias("time_ns"),
            pl.col("event").alias("metric"),
            value="counter_value",
        )
        for plane in planes
        for line in plane.lines
        if line.name == _COUNTERS
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def kinds(events: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The events of devices by what they are: kernels, copies, memory, and totals of many events."""
    name = pl.col("event").fill_null("")
    is_copy = pl.col("memcpy_details").is_not_null() | name.str.contains(r"^(?i:memcpy)")
    is_fill = pl.col("Memset_details").is_not_null() | name.str.contains(r"^(?i:memset)")
    is_memory = pl.col("memalloc_details").is_not_null() | pl.col("MemFree_details").is_not_null()
    is_total = pl.col("occurrences").is_not_null()
    kind = (
        pl.when(is_total)
        .then(pl.lit("totals"))
        .when(is_memory | (name == "MemoryResidency"))
        .then(pl.lit("memory"))
        .when(is_copy | is_fill)
        .then(pl.lit("copies"))
        .otherwise(pl.lit("kernels"))
    )
    sorted_out = events.with_columns(kind.alias("is"))
    return {
        each: sorted_out.filter(pl.col("is") == each) for each in ("kernels", "copies", "memory", "totals")
    }


def dispatches(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels, with what `kernel_details` says of them; XLA writes the grid in blocks."""
    details = pl.col("kernel_details").str
    blocks, block = (details.extract_groups(_SIZES.format(word)) for word in ("grid", "block"))
    shared = [_detail("kernel_details", word) for word in ("group_mem", "static_shared", "dynamic_shared")]
    known = pl.any_horizontal(part.is_not_null() for part in shared)
    sized = [
        size
        for place, axis in enumerate("xyz")
        for size in (
            block.struct[place].cast(pl.Int64, strict=False).alias(f"workgroup_{axis}"),
            (
                blocks.struct[place].cast(pl.Int64, strict=False)
                * block.struct[place].cast(pl.Int64, strict=False)
            ).alias(f"grid_{axis}"),
        )
    ]
    return kernels.select(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("dispatch_id"),
        domains.kernel_name(pl.col("event").fill_null("(without a name)")).alias("kernel"),
        "start_ns",
        "end_ns",
        "agent_id",
        "stream_id",
        "correlation_id",
        "op_id",
        *sized,
        pl.when(known).then(pl.sum_horizontal(shared)).alias("lds_bytes"),
        _detail("kernel_details", "private_mem").alias("scratch_bytes"),
        _detail("kernel_details", "regs").alias("vgprs"),
        graph_id=pl.when(pl.coalesce("cuda_graph_id", "cuda_graph_exec_id").is_not_null()).then(
            "correlation_id"
        ),
    )


def copies(events: pl.DataFrame) -> pl.DataFrame:
    """Copies and fills, with their sizes."""
    is_fill = pl.col("Memset_details").is_not_null() | pl.col("event").str.contains(r"^(?i:memset)")
    words = pl.coalesce("memcpy_details", "Memset_details").str
    return events.select(
        pl.when(is_fill).then(pl.lit("MEMSET")).otherwise(domains.copy_kind(pl.col("event"))).alias("kind"),
        pl.coalesce(_detail("memcpy_details", "size"), _detail("Memset_details", "num_bytes")).alias(
            "size_bytes"
        ),
        words.extract(r"\b(pageable|pinned)\b").alias("host_memory"),
        "start_ns",
        "end_ns",
        "agent_id",
        "stream_id",
        "correlation_id",
        "op_id",
    )


def allocations(events: pl.DataFrame) -> pl.DataFrame:
    """Memory that the runtime allocated and freed."""
    freed = pl.col("MemFree_details").is_not_null()
    return events.filter(pl.col("memalloc_details").is_not_null() | freed).select(
        pl.when(freed).then(pl.lit("FREE")).otherwise(pl.lit("ALLOC")).alias("operation"),
        pl.lit("REAL").alias("level"),
        pl.coalesce(_detail("memalloc_details", "num_bytes"), _detail("MemFree_details", "num_bytes")).alias(
            "size_bytes"
        ),
        "start_ns",
        "end_ns",
        "agent_id",
    )


def summaries(totals: pl.DataFrame) -> pl.DataFrame:
    """Events that the profiler only added up."""
    return totals.select(
        pl.lit("kernel").alias("domain"),
        domains.kernel_name(pl.col("event")).alias("name"),
        pl.col("occurrences").alias("calls"),
        pl.col("end_ns").cast(pl.Float64).alias("total_ns"),
    )


def _detail(column: str, word: str) -> pl.Expr:
    return pl.col(column).str.extract(rf"(?:^| ){word}:(\d+)").cast(pl.Int64, strict=False)


def agents(planes: list[Plane], used: pl.Series) -> pl.DataFrame:
    """The devices that did something, as their planes describe them."""
    rows = {
        plane.device[1]: _agent(plane, *plane.device)
        for plane in reversed(planes)
        if plane.device and plane.device[1] in used
    }
    return pl.DataFrame(list(rows.values()), infer_schema_length=None)


def _agent(plane: Plane, kind: str, number: int) -> dict[str, object]:
    facts = plane.facts
    clock_khz = _number(facts, "clock_rate")
    return {
        "agent_id": number,
        "kind": kind,
        "gfx": _architecture(facts),
        "vendor": str(facts.get("device_vendor", "")).upper() or None,
        "name": facts.get("gpu_device_name") or facts.get("device_type_string"),
        "cu_count": _number(facts, "core_count"),
        "memory_bytes": _number(facts, "memory_size"),
        "clock_mhz": None if clock_khz is None else clock_khz / 1000,
    }


def is_amd(plane: Plane) -> bool:
    """Whether the plane says that AMD made the device."""
    return str(plane.facts.get("device_vendor", "")).upper() == "AMD"


def without_events(planes: list[Plane]) -> tuple[str, ...]:
    """A note about the devices whose planes hold no events, if there are any."""
    devices = [plane.device for plane in planes if not any(line.events.height for line in plane.lines)]
    empty = [str(number) for _, number in filter(None, devices)]
    if not empty:
        return ()
    count = format_count(len(empty), "device")
    return (f"no events of {count} ({format_list(empty, _NAMED)}): idle, or not recorded",)


def _architecture(facts: Facts) -> str | None:
    """sm_90 of an NVIDIA GPU of compute capability 9.0; of AMD's, those whose capability names one product line."""
    major, minor = _number(facts, "compute_cap_major"), _number(facts, "compute_cap_minor") or 0
    if major is None:
        return None
    is_nvidia = str(facts.get("device_vendor", "")).upper() == "NVIDIA"
    return f"sm_{major}{minor}" if is_nvidia else amd_chip(major, minor)


def _number(facts: Facts, name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) else None
