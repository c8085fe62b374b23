"""A Trace as rocprof (v1) writes it: results.csv with one column per counter, results.json as its Chrome trace, and
the statistics beside them. What rocprof knows and a Trace does not (signals, code objects) is written as 0."""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import polars as pl

from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import cells
from rocm_perf.render.formats.kineto_events import joined, json_texts

_ROWS_AT_ONCE = 100_000
_MOST_IDLE_GPUS = 64  # given a label, as rocprof does, because a GPU with a higher number is in use
_MARKERS, _COPY, _HIP, _HSA, _FIRST_GPU, _FIRST_BARRIER = 0, 1, 2, 3, 6, 518
_COPY_NAMES = {
    "H2D": "CopyHostToDevice",
    "D2H": "CopyDeviceToHost",
    "D2D": "CopyDeviceToDevice",
    "P2P": "CopyPeerToPeer",
    "H2H": "CopyHostToHost",
    "MEMSET": "FillBuffer",
}
_UNKNOWN_COPY = "Copy"
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def write_csv(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """Write results.csv: one row per dispatch, with times if they were recorded."""
    write = partial(cells.write_csv, _profile(trace), quote_style="non_numeric")
    write_whole(path, write, overwrite=overwrite)


def write_json(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """Write results.json: calls, copies, ranges and kernels. Without calls it is what the profiler alone writes."""
    write_whole(path, lambda draft: _write_json(trace, draft), overwrite=overwrite)


def write_stats(
    trace: Trace, folder: Path, prefix: str = "results", *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write `<prefix>.stats.csv`, `.hip_stats.csv`, `.hsa_stats.csv` and `.copy_stats.csv`, if they have rows."""
    calls = first_pass(trace, "api_calls")
    kernels = first_pass(trace, "dispatches").select(
        marked_name(pl.col("kernel")).alias("Name"), "start_ns", "end_ns"
    )
    copies = first_pass(trace, "copies").select(_copy_name().alias("Name"), "start_ns", "end_ns")
    sources = {
        "stats": kernels,
        "hip_stats": calls.filter(pl.col("domain") == "hip").rename({"name": "Name"}),
        "hsa_stats": calls.filter(pl.col("domain") == "hsa").rename({"name": "Name"}),
        "copy_stats": copies,
    }
    written = []
    for kind, frame in sources.items():
        rows = _stats(cells.inert(frame))
        if rows:
            path = folder / f"{prefix}.{kind}.csv"
            write_whole(path, partial(_write_stats, rows), overwrite=overwrite)
            written.append(path)
    return tuple(written)


def marked_name(kernel: pl.Expr) -> pl.Expr:
    """A kernel's name with the mark of its descriptor, as the demangler leaves it."""
    demangled = kernel.str.contains(r"\(.*\)$")
    return pl.when(demangled).then(kernel + " [clone .kd]").otherwise(kernel + ".kd")


def first_pass(trace: Trace, table: str) -> pl.DataFrame:
    """The rows of the first run of the application: the others only collected counters."""
    frame = trace.table(table)
    return frame.filter(pl.col("pass_id") == pl.col("pass_id").min())


def with_counters(trace: Trace, dispatches: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Dispatches with one column per counter, of all passes, and the counters' names. A pass is a process of its own,
    so its counters belong to the dispatch of the same number; process ids matter only if a pass has several processes.
    """
    counters = trace.table("counters")
    key = ["node", "pid", "dispatch_id"] if dispatches["pid"].n_unique() > 1 else ["dispatch_id"]
    names = [
        name for name in counters["counter"].unique(maintain_order=True) if name not in dispatches.columns
    ]
    if not names:
        return dispatches, []
    wide = counters.pivot(
        on="counter", on_columns=names, index=key, values="value", aggregate_function="first"
    )
    return dispatches.join(wide, on=key, how="left", maintain_order="left"), names


def _profile(trace: Trace) -> pl.DataFrame:
    """The rows of results.csv."""
    dispatches, counters = with_counters(trace, first_pass(trace, "dispatches"))
    waves = (
        trace.table("agents")
        .select("node", "agent_id", "wave_size")
        .unique(["node", "agent_id"], keep="first")
    )
    dispatches = dispatches.join(waves, on=["node", "agent_id"], how="left", maintain_order="left")
    times = _times() if dispatches["end_ns"].count() else {}
    columns: dict[str, pl.Expr] = {
        "Index": pl.coalesce("dispatch_id", pl.int_range(pl.len(), dtype=pl.Int64)),
        "KernelName": marked_name(pl.col("kernel")),
        "gpu-id": pl.col("agent_id"),
        "queue-id": pl.col("queue_id"),
        "queue-index": pl.lit(0),
        "pid": pl.col("pid"),
        "tid": pl.col("tid"),
        **{
            name: pl.col(f"{size}_x") * pl.col(f"{size}_y") * pl.col(f"{size}_z")
            for name, size in (("grd", "grid"), ("wgr", "workgroup"))
        },
        "lds": pl.col("lds_bytes"),
        "scr": pl.col("scratch_bytes"),
        "arch_vgpr": pl.col("vgprs"),
        "accum_vgpr": pl.col("agprs"),
        "sgpr": pl.col("sgprs"),
        "wave_size": pl.col("wave_size"),
        "sig": pl.lit("0x0"),
        "obj": pl.lit("0x0"),
        **{name: _number(dispatches[name]) for name in counters},
        **times,
    }
    return dispatches.select(value.alias(name) for name, value in columns.items())


def _times() -> dict[str, pl.Expr]:
    start, end = pl.col("start_ns"), pl.col("end_ns")
    return {
        "DispatchNs": pl.lit(0),
        "BeginNs": start,
        "EndNs": end,
        "CompleteNs": pl.lit(0),
        "DurationNs": end - start,
    }


def _number(values: pl.Series) -> pl.Expr:
    """Counts are written as whole numbers, metrics as real ones."""
    column = pl.col(values.name)
    whole = values.is_finite() & (values == values.floor()) & (values.abs() < 2**53)
    return column.cast(pl.Int64) if whole.all() else column


def _copy_name() -> pl.Expr:
    return pl.col("kind").replace_strict(_COPY_NAMES, default=_UNKNOWN_COPY)


def _stats(frame: pl.DataFrame) -> list[tuple[str, int, int, int, float]]:
    """Sums by name, longest first; the mean is cut to whole nanoseconds, as rocprof does."""
    timed = frame.drop_nulls(["start_ns", "end_ns"]).with_columns(_LENGTH.alias("length"))
    sums = timed.group_by("Name", maintain_order=True).agg(pl.len(), pl.col("length").sum())
    total = sums["length"].sum() or 1
    longest = sums.sort("length", descending=True, maintain_order=True)
    # Python's division: Polars multiplies by the reciprocal, which differs in the last digit.
    return [
        (name, calls, length, length // calls, length * 100.0 / total)
        for name, calls, length in longest.iter_rows()
    ]


def _write_stats(rows: list[tuple[str, int, int, int, float]], draft: Path) -> None:
    with open(draft, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage"))
        writer.writerows(rows)


def _write_json(trace: Trace, draft: Path) -> None:
    with open(draft, "wb") as out:
        out.write(b'{ "traceEvents":[{}\n')
        traced = trace.has("api_calls")
        for label in _labels(trace, traced):
            out.write(b"," + json.dumps(label, separators=(",", ":")).encode() + b"\n")
        for frame, event in _sections(trace, traced):
            _write_events(out, frame, event)
        facts = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in _other_data(trace))
        out.write(f'],\n"otherData": {{\n{facts}\n  }}\n}}'.encode())


def _write_events(out: IO[bytes], frame: pl.DataFrame, event: pl.Expr) -> None:
    for piece in frame.iter_slices(_ROWS_AT_ONCE):
        texts = piece.select(event.alias("event"))["event"]
        out.write("".join(f",{text}\n" for text in texts).encode())


def _labels(trace: Trace, traced: bool) -> Iterator[dict[str, object]]:
    """The meaning of each process number."""
    domains = trace.table("api_calls")["domain"].unique()
    labels = [(_MARKERS, "Markers and Ranges")] if trace.has("ranges") else []
    labels += [(_HIP, "CPU HIP API")] if "hip" in domains else []
    labels += [(_HSA, "CPU HSA API")] if "hsa" in domains else []
    labels += [(_COPY, "COPY")]
    agents = pl.concat([trace.table(name)["agent_id"] for name in ("dispatches", "copies")]).drop_nulls()
    for agent in _labelled_gpus(agents.to_list()):
        labels += [(_FIRST_GPU + agent, f"GPU{agent}")]
        labels += [] if traced else [(_FIRST_BARRIER + agent, f"GPU Barriers{agent}")]
    for number, (pid, label) in enumerate(labels):
        yield {"args": {"name": label}, "ph": "M", "pid": pid, "name": "process_name", "sort_index": number}


def _labelled_gpus(used: Collection[int]) -> list[int]:
    """Those in use, and idle ones with lower numbers as rocprof has them; a recording may claim any number."""
    lower = range(min(max(used, default=-1), _MOST_IDLE_GPUS))
    return sorted({*lower, *used})


def _sections(trace: Trace, traced: bool) -> Iterator[tuple[pl.DataFrame, pl.Expr]]:
    """The rows of each process number, and the expression that turns them into events."""
    ranges = first_pass(trace, "ranges").filter(~pl.col("on_gpu")).rename({"name": "Name"})
    yield _timed(ranges), _span(pl.lit(_MARKERS), pl.col("tid"), _HOST_ARGS)
    calls = first_pass(trace, "api_calls").rename({"name": "Name"})
    for domain, section in (("hsa", _HSA), ("hip", _HIP)):
        chosen = calls.filter(pl.col("domain") == domain)
        args = {**_HOST_ARGS, "args": pl.lit(""), "Data": pl.lit(""), "DurationNs": _LENGTH}
        yield _timed(chosen), _span(pl.lit(section), pl.col("tid"), args)
    copies = first_pass(trace, "copies").with_columns(_copy_name().alias("Name"))
    stream = pl.col("stream_id").fill_null(0)
    yield _timed(copies), _span(pl.lit(_COPY), stream, _GPU_ARGS)
    if not traced:
        yield from _profiled(trace)
        return
    kernels = first_pass(trace, "dispatches").rename({"kernel": "Name"})
    yield _timed(kernels), _span(_gpu_section(), stream, _GPU_ARGS)
    yield from _flows(calls, kernels, copies)


_HOST_ARGS = {
    "BeginNs": pl.col("start_ns"),
    "EndNs": pl.col("end_ns"),
    "pid": pl.col("pid"),
    "tid": pl.col("tid"),
    "Name": pl.col("Name"),
}
_GPU_ARGS = {
    "BeginNs": pl.col("start_ns"),
    "EndNs": pl.col("end_ns"),
    "dev-id": pl.col("agent_id"),
    "queue-id": pl.col("queue_id"),
    "Name": pl.col("Name"),
    "pid": pl.col("pid"),
    "tid": pl.col("tid"),
    "stream-id": pl.col("stream_id"),
    "Data": pl.lit(""),
    "DurationNs": _LENGTH,
}


def _gpu_section() -> pl.Expr:
    return pl.col("agent_id").fill_null(0) + _FIRST_GPU


def _timed(frame: pl.DataFrame) -> pl.DataFrame:
    return json_texts(frame.drop_nulls(["start_ns", "end_ns"]), "Name")


def _span(section: pl.Expr, lane: pl.Expr, args: dict[str, pl.Expr]) -> pl.Expr:
    """An event whose values are all strings; the names are JSON already."""
    values = [joined(f'"{key}":', value if key == "Name" else _string(value)) for key, value in args.items()]
    times = joined(',"ts":', _string(pl.col("start_ns") // 1000), ',"dur":', _string(_micros()), ",\n")
    head = joined(
        '{"ph":"X","name":', pl.col("Name"), ',"pid":', _string(section), ',"tid":', _string(lane), times
    )
    return joined(head, '  "args":{\n    ', pl.concat_str(values, separator=",\n    "), "\n  }\n}")


def _string(value: pl.Expr) -> pl.Expr:
    return pl.concat_str(pl.lit('"'), value.cast(pl.String).fill_null(""), pl.lit('"'))


def _profiled(trace: Trace) -> Iterator[tuple[pl.DataFrame, pl.Expr]]:
    """Kernels of the profiler: a row of results.csv as arguments."""
    rows = _profile(trace)
    if "BeginNs" not in rows.columns:
        return
    rows = rows.with_columns(start_ns="BeginNs", end_ns="EndNs", agent_id="gpu-id", Name="KernelName")
    names = [
        name
        for name in rows.columns
        if name not in ("Index", "KernelName", "start_ns", "end_ns", "agent_id", "Name")
    ]
    kernel = joined('"KernelName":', pl.col("Name"))
    values = [kernel, *(joined(f"{json.dumps(name)}:", _string(pl.col(name))) for name in names)]
    times = joined(',"ts":', _string(pl.col("start_ns") // 1000), ',"dur":', _string(_micros()), ",\n")
    head = joined(
        '{"ph":"X","name":',
        pl.col("Name"),
        ',"pid":',
        _gpu_section(),
        ',"tid":',
        pl.col("tid").fill_null(0),
        times,
    )
    yield (
        _timed(rows),
        joined(head, '  "args":{\n    ', pl.concat_str(values, separator=",\n    "), "\n  }\n}"),
    )


def _flows(
    calls: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame
) -> Iterator[tuple[pl.DataFrame, pl.Expr]]:
    """An arrow from the middle of a call to the start of what it started. Its number is the correlation id,
    unless several processes use the same ones."""
    key = ["node", "pid", "correlation_id"]
    hip = calls.filter(pl.col("domain") == "hip").drop_nulls(["start_ns", "end_ns", "tid", "correlation_id"])
    hip = hip.unique(key, keep="first", maintain_order=True)
    distinct = hip["correlation_id"].is_unique().all()
    number = pl.col("correlation_id") if distinct else pl.int_range(pl.len(), dtype=pl.Int64)
    hip = hip.with_columns(number.alias("flow"))
    start = (pl.col("start_ns") // 1000).alias("time_us")
    where: list[str | pl.Expr] = [*key, pl.col("stream_id").fill_null(0).alias("lane"), start]
    on_gpu = kernels.select(*where, _gpu_section().alias("section"))
    moved = copies.select(*where, pl.lit(_COPY, pl.Int64).alias("section"))
    work = pl.concat([on_gpu, moved]).drop_nulls(["time_us", "correlation_id"])
    ends = work.join(hip.select(*key, "flow"), on=key, nulls_equal=True, maintain_order="left")
    starts = hip.filter(pl.col("flow").is_in(ends["flow"].implode()))
    yield starts.select("flow", start + _micros() // 2, lane="tid", section=pl.lit(_HIP)), _flow("s")
    yield ends, _flow("t")


def _micros() -> pl.Expr:
    """Whole microseconds, at least one."""
    return pl.max_horizontal(_LENGTH // 1000, 1)


def _flow(phase: str) -> pl.Expr:
    head = joined('{"ts":', pl.col("time_us"), f',"ph":"{phase}","cat":"DataFlow","id":', pl.col("flow"))
    return joined(head, ',"pid":', pl.col("section"), ',"tid":', pl.col("lane"), ',"name":"dep"}')


def _other_data(trace: Trace) -> Iterator[tuple[str, str]]:
    """What is known about the agents, as rocminfo without its spaces."""
    for number, agent in enumerate(trace.table("agents").iter_rows(named=True), start=1):
        units, simds = agent["cu_count"], agent["simd_count"]
        per_unit = simds // units if units and simds else None
        waves = agent["max_waves_per_simd"]
        facts = {
            "Name": agent["gfx"] or agent["name"],
            "Uuid": agent["uuid"],
            "MarketingName": agent["name"],
            "VendorName": agent["vendor"],
            "Node": agent["agent_id"],
            "DeviceType": agent["kind"],
            "MaxClockFreq.(MHz)": None if agent["clock_mhz"] is None else round(agent["clock_mhz"]),
            "ComputeUnit": units,
            "SIMDsperCU": per_unit,
            "WavefrontSize": agent["wave_size"] and f"{agent['wave_size']}({agent['wave_size']:#x})",
            "MaxWavesPerCU": waves and per_unit and f"{waves * per_unit}({waves * per_unit:#x})",
        }
        yield from (
            (f"Agent{number}.{key}", str(value).replace(" ", ""))
            for key, value in facts.items()
            if value is not None
        )
