"""One process of a Trace as torch.profiler writes it on ROCm: a Kineto chrome trace, .json or .json.gz, with
the layout of the roctracer backend. Times are decimal text made from integers, so no nanosecond is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import polars as pl
from isal import igzip

from rocm_perf.errors import UsageError
from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.kineto_events import Process, event_sources

ROCTRACER_VERSION = 4.1  # the version of this layout
_BASE_NS = 7_889_238 * 10**9  # Kineto counts from the last multiple of three months
_ROWS_AT_ONCE = 100_000
_TIMED = ("dispatches", "api_calls", "copies", "ops", "ranges")
_FIRST_GPU_SORT_INDEX = 5_000_000


def write(trace: Trace, path: Path, *, pid: int | None = None, overwrite: bool = False) -> None:
    """Write the first pass of one process; `pid` says which, and is optional if there is only one."""
    process = _process(trace, pid)
    compressed = path.suffix == ".gz"
    write_whole(path, lambda draft: _write(process, draft, path.name, compressed), overwrite=overwrite)


def _process(trace: Trace, pid: int | None) -> Process:
    tables = {name: trace.table(name).drop_nulls(["start_ns", "end_ns"]) for name in (*_TIMED, "collectives")}
    tables["links"] = trace.table("links")
    processes = (
        pl.concat([tables[name].select("node", "pid") for name in _TIMED])
        .drop_nulls()
        .unique()
        .sort("node", "pid")
    )
    pids = processes["pid"].to_list()
    if pid is None and len(pids) > 1:
        raise UsageError(
            f"a torch trace holds one process, and this run has {len(pids)}",
            f"their pids are {pids[:8]}",
            "Choose one with --pid.",
        )
    if pid is not None:
        if pids.count(pid) != 1:
            why = "several machines have such a process" if pid in pids else f"the pids are {pids[:8]}"
            raise UsageError(f"cannot tell which process {pid} is", why)
        tables = {name: frame.filter(pl.col("pid") == pid) for name, frame in tables.items()}
    tables = {
        name: frame.filter(pl.col("pass_id") == pl.col("pass_id").min()) for name, frame in tables.items()
    }
    starts: Any = pl.concat([tables[name]["start_ns"] for name in _TIMED]).min()
    process_id = pids[0] if pid is None and pids else pid
    return Process(
        trace=trace,
        tables=tables,
        pid=process_id,
        rank=_rank(trace, process_id),
        base_ns=(starts or 0) // _BASE_NS * _BASE_NS,
    )


def _rank(trace: Trace, pid: int | None) -> int | None:
    frames = [
        trace.table(name).filter(pl.col("pid").eq_missing(pl.lit(pid, pl.Int64)))["rank"].drop_nulls()
        for name in ("processes", "dispatches", "api_calls")
    ]
    return next((int(ranks[0]) for ranks in frames if len(ranks)), None)


def _write(process: Process, draft: Path, name: str, compressed: bool) -> None:
    with open(draft, "wb") as file:
        if not compressed:
            _write_document(process, file, name)
            return
        # No name and no time in it: the same trace gives the same bytes.
        with igzip.IGzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:  # type: ignore[no-untyped-call]
            _write_document(process, cast("IO[bytes]", packed), name.removesuffix(".gz"))


def _write_document(process: Process, out: IO[bytes], name: str) -> None:
    header = ",\n  ".join(
        f"{json.dumps(key)}: {json.dumps(value)}" for key, value in _header(process).items()
    )
    out.write(f'\n{{\n  {header},\n  "traceEvents": [\n  '.encode())
    separator = b""
    for texts in _events(process):
        if len(texts):
            out.write(separator + ",\n  ".join(texts).encode())
            separator = b",\n  "
    ending = {"traceName": name, "displayTimeUnit": "ms", "baseTimeNanoseconds": process.base_ns}
    lines = ",\n  ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in ending.items())
    out.write(f"\n  ],\n  {lines}\n}}".encode())


def _header(process: Process) -> dict[str, Any]:
    gpus = process.trace.table("agents").filter(pl.col("kind") == "GPU")
    header: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [_device(gpu) for gpu in gpus.iter_rows(named=True)],
    }
    if "NVIDIA" not in gpus["vendor"].unique():
        header["roctracer_version"] = ROCTRACER_VERSION
    if process.rank is not None:
        ranks = process.trace.table("processes")["rank"].drop_nulls().n_unique()
        backend = {"backend": "nccl"} if process.trace.has("collectives") else {}
        header["distributedInfo"] = {**backend, "rank": process.rank, "world_size": max(ranks, 1)}
    if process.tables["ops"]["shapes"].count():
        header["record_shapes"] = 1
    return header


def _device(gpu: dict[str, Any]) -> dict[str, Any]:
    """What is known about a GPU. A gfx name contains the compute capability: gfx942 is 9.4."""
    gfx = re.fullmatch(r"(?:gfx(\d+)([0-9a-f])[0-9a-f]|sm_(\d+)(\d))", gpu["gfx"] or "")
    major, minor = [part for part in gfx.groups() if part] if gfx else (None, None)
    number = (
        gpu["agent_id"] if gpu["vendor"] == "NVIDIA" or gpu["logical_index"] is None else gpu["logical_index"]
    )
    facts = {
        "id": number,
        "name": gpu["name"] or "",
        "totalGlobalMem": gpu["memory_bytes"],
        "computeMajor": int(major) if major else None,
        "computeMinor": int(minor, 16) if minor else None,
        "warpSize": gpu["wave_size"],
        "numSms": gpu["cu_count"],
        "maxSharedMemoryPerMultiProcessor": gpu["lds_bytes"],
    }
    return {key: value for key, value in facts.items() if value is not None}


def _events(process: Process) -> Iterator[pl.Series]:
    """All events as text, a few thousand at a time."""
    for frame, event in event_sources(process):
        for piece in frame.iter_slices(_ROWS_AT_ONCE):
            yield piece.select(event.alias("event"))["event"]
    yield pl.Series(list(_metadata(process)), dtype=pl.String)


def _metadata(process: Process) -> Iterator[str]:
    """Names of processes, threads and streams, and the profiler's own span."""
    times = pl.concat([process.tables[name].select("start_ns", "end_ns") for name in _TIMED])
    if times.is_empty():
        return
    first, last = times.select(pl.col("start_ns").min(), pl.col("end_ns").max()).row(0)
    ts = _microseconds(first - process.base_ns)
    for pid, tid, labels in _labels(process):
        for what, (key, value) in labels.items():
            event = {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {key: value}}
            yield f'{json.dumps(event)[:-1]}, "ts": {ts}}}'
    span = {
        "ph": "X",
        "cat": "Trace",
        "pid": "Spans",
        "tid": "PyTorch Profiler",
        "name": "PyTorch Profiler (0)",
    }
    yield f'{json.dumps(span)[:-1]}, "ts": {ts}, "dur": {_microseconds(last - first)}, "args": {{"Op count": 0}}}}'


Label = tuple[int | None, int, dict[str, tuple[str, object]]]


def _labels(process: Process) -> Iterator[Label]:
    """The name and sort order of each process, GPU, stream and thread."""
    tables = process.tables
    command = (
        process.trace.table("processes")
        .filter(pl.col("pid").eq_missing(pl.lit(process.pid, pl.Int64)))["command"]
        .drop_nulls()
    )
    name = Path(command[0].split()[0]).name if len(command) and command[0].split() else ""
    lanes = pl.concat([tables[table].select("agent_id", "stream_id") for table in ("dispatches", "copies")])
    lanes = lanes.unique().sort(pl.all())
    threads = pl.concat([tables[table]["tid"] for table in ("api_calls", "ops", "ranges")]).drop_nulls()
    groups: list[tuple[int | None, str, int]] = [(process.pid, "CPU", process.pid or 0)]
    agents = lanes["agent_id"].drop_nulls().unique().sort()
    groups += [(agent, f"GPU {agent}", _FIRST_GPU_SORT_INDEX + agent) for agent in agents]
    for pid, label, index in groups:
        labels: dict[str, tuple[str, object]] = {"process_name": ("name", name)}
        yield (
            pid,
            0,
            labels | {"process_labels": ("labels", label), "process_sort_index": ("sort_index", index)},
        )
    for agent, stream in lanes.drop_nulls().iter_rows():
        yield (
            agent,
            stream,
            {"thread_name": ("name", f"stream {stream} "), "thread_sort_index": ("sort_index", stream)},
        )
    for tid in threads.unique().sort():
        label = f"thread {tid} ({name})"
        yield process.pid, tid, {"thread_name": ("name", label), "thread_sort_index": ("sort_index", tid)}


def _microseconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03}"
