"""The planes of hosts: calls of the runtime, Python frames, what the program and XLA annotate, and XLA's allocator."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.ingest.xplane.planes import Plane
from rocm_perf.ingest.xplane.threads import same_threads
from rocm_perf.model.range_sources import JAX, JAX_STEP, JITTED, RUNTIME

_NOT_THREADS = ("/host:metadata", "Task Environment")
_CALL = r"^(hip|cuda|cu[A-Z]|hsa_|nccl|rccl|amd_)"
_NVTX = "NVTX:"
_ALLOCATION = ("MemoryAllocation", "MemoryDeallocation")
_FRAME = r"^\$(.*):(\d+) (.*)$"
# Threads and functions of XLA itself; what is called inside them is XLA's too.
_XLA_THREAD = r"^(tf_|py_xla|XLA|TFRT|tfrt|pjrt|libtpu|TensorFlow|SystemThread)"
_XLA_NAME = r"::|^PJRT_|^end: |:XLA .* module$|^Wait for \w+ holds$"
_JITTED = r"^PjitFunction\("


def host_events(planes: list[Plane]) -> pl.DataFrame:
    """Everything that threads did, with tid and whether the thread is one of XLA's own."""
    frames = [
        plane.events([line]).with_columns(
            pl.col("line").alias("tid"), pl.lit(bool(re.match(_XLA_THREAD, line.name))).alias("of_xla")
        )
        for plane in planes
        if plane.device is None and plane.name not in _NOT_THREADS and not plane.name.startswith("/device:")
        for line in plane.lines
    ]
    if not frames:
        return Plane("", ()).events().with_columns(tid=pl.lit(None, pl.Int64), of_xla=pl.lit(False))
    return pl.concat(frames).filter(pl.col("event").is_not_null(), pl.col("occurrences").is_null())


def sorted_out(events: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The events of hosts by what they are."""
    name = pl.col("event")
    is_call = name.str.contains(_CALL) | (
        pl.col("correlation_id").is_not_null() & ~name.str.starts_with(_NVTX)
    )
    kind = (
        pl.when(is_call)
        .then(pl.lit("calls"))
        .when(name.str.starts_with("$"))
        .then(pl.lit("frames"))
        .when(name.is_in(_ALLOCATION) & pl.col("allocation_bytes").is_not_null())
        .then(pl.lit("memory"))
        .when(pl.col("hlo_op").is_not_null())
        .then(pl.lit("operations"))
        .otherwise(pl.lit("ranges"))
    )
    sorted_events = events.with_columns(kind.alias("is"))
    kinds = ("calls", "frames", "memory", "operations", "ranges")
    by_kind = {each: sorted_events.filter(pl.col("is") == each) for each in kinds}
    same = same_threads(by_kind["calls"], by_kind["ranges"])
    return {**by_kind, "calls": by_kind["calls"].with_columns(pl.col("tid").replace(same))}


def api_calls(calls: pl.DataFrame, *, amd: bool) -> pl.DataFrame:
    """Calls of HIP, HSA, CUDA and the communication libraries."""
    name = _function(calls, amd=amd)
    domain = (
        pl.when(name.str.starts_with("hip"))
        .then(pl.lit("hip"))
        .when(name.str.contains("^(hsa|amd)_"))
        .then(pl.lit("hsa"))
        .when(name.str.contains("^[nr]ccl"))
        .then(pl.lit("rccl"))
        .otherwise(pl.lit("cuda"))
    )
    return calls.select(
        domain.alias("domain"), name.alias("name"), "start_ns", "end_ns", "tid", "correlation_id", "op_id"
    )


def _function(events: pl.DataFrame, *, amd: bool) -> pl.Expr:
    """The function that was called. XLA may name the call by what it starts: a kernel, `MemcpyD2H`, `Memset`."""
    name = pl.col("event")
    hip = amd or bool(events["event"].str.starts_with("hip").any())
    api, launch = ("hip", "hipLaunchKernel") if hip else ("cu", "cuLaunchKernel")
    return (
        pl.when(name.str.contains(_CALL))
        .then(name)
        .when(name.str.starts_with("Memcpy"))
        .then(pl.concat_str(pl.lit(api), name.str.replace("2", "to")))
        .when(name.str.starts_with("Memset"))
        .then(pl.concat_str(pl.lit(api), name))
        .otherwise(pl.lit(launch))
    )


def python_frames(frames: pl.DataFrame) -> pl.DataFrame:
    """Python functions, spelled as torch spells them: `$api.py:12 f` is `api.py(12): f`."""
    name = pl.col("event").str.replace(_FRAME, "${1}(${2}): ${3}").str.strip_prefix("$")
    return frames.select(name.alias("name"), pl.lit("python").alias("category"), "start_ns", "end_ns", "tid")


def ranges(events: pl.DataFrame) -> pl.DataFrame:
    """What was annotated: steps with their numbers, the program's own annotations and jitted functions, and XLA's."""
    name = pl.col("event")
    numbered = pl.col("step_num").is_not_null()
    source = (
        pl.when(name.str.starts_with(_NVTX))
        .then(pl.lit("nvtx"))
        .when(numbered)
        .then(pl.lit(JAX_STEP))
        .when(name.str.contains(_JITTED))
        .then(pl.lit(JITTED))
        .when(_is_xla(events))
        .then(pl.lit(RUNTIME))
        .otherwise(pl.lit(JAX))
    )
    return events.select(
        pl.when(numbered)
        .then(pl.format("{} {}", name, "step_num"))
        .otherwise(name.str.strip_prefix(_NVTX))
        .alias("name"),
        source.alias("source"),
        "start_ns",
        "end_ns",
        "tid",
    )


def _is_xla(events: pl.DataFrame) -> pl.Series:
    """Whether each event is a function of XLA, or lies inside one."""
    name = pl.col("event").str
    named = name.contains(_XLA_NAME)
    outer = events.filter(named | name.contains(_JITTED)).sort("start_ns")
    reach = outer.select("tid", "start_ns", pl.col("end_ns").cum_max().over("tid").alias("until_ns"))
    ordered = events.select("tid", "start_ns", "end_ns").with_row_index("row").sort("start_ns")
    placed = ordered.join_asof(
        reach, on="start_ns", by="tid", allow_exact_matches=False, check_sortedness=False
    ).sort("row")
    inside = (placed["until_ns"] >= placed["end_ns"]).fill_null(False)
    return events.select(named | pl.col("of_xla")).to_series() | inside


def memory_samples(memory: pl.DataFrame) -> pl.DataFrame:
    """What XLA's allocator said of itself: the bytes that it had handed out."""
    return memory.select(
        _allocating_gpu(),
        pl.col("start_ns").alias("time_ns"),
        pl.lit("xla_allocated_bytes").alias("metric"),
        pl.col("bytes_allocated").cast(pl.Float64).alias("value"),
        pl.lit("B").alias("unit"),
    ).drop_nulls("value")


def _allocating_gpu() -> pl.Expr:
    return pl.col("allocator_name").str.extract(r"(?i)gpu_(\d{1,9})").cast(pl.Int64).alias("agent_id")


def allocations(memory: pl.DataFrame) -> pl.DataFrame:
    """What XLA's allocator handed out, and took back."""
    freed = pl.col("event") == _ALLOCATION[1]
    address = pl.when(pl.col("addr") > 0).then("addr").cast(pl.UInt64)
    return memory.select(
        pl.when(freed).then(pl.lit("FREE")).otherwise(pl.lit("ALLOC")).alias("operation"),
        pl.lit("CACHED").alias("level"),
        address.alias("address"),
        pl.col("allocation_bytes").abs().alias("size_bytes"),
        "start_ns",
        pl.col("start_ns").alias("end_ns"),
        _allocating_gpu(),
        "tid",
    )
