"""The files of rocprofv2's plugins: `file` (CSV), `perfetto`, `json`; `cli` prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from .recording import Process

_COLUMNS = (
    "Dispatch_ID", "GPU_ID", "Queue_ID", "PID", "TID", "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup",
    "Scratch_Per_Workitem", "Arch_VGPR", "Accum_VGPR", "SGPR", "Wave_Size", "Kernel_Name", "Start_Timestamp",
    "End_Timestamp", "Correlation_ID",
)  # fmt: skip
_PRINTED = {"PID": "Process_ID", "TID": "Thread_ID", "LDS_Per_Workgroup": "LDS", "Scratch_Per_Workitem": "Scratch_Size",
            "Accum_VGPR": "Accumulative_VGPR", "Start_Timestamp": "Begin_Timestamp"}  # fmt: skip


def write(process: Process, plugin: str, folder: Path, name: str | None) -> list[Path]:
    if plugin == "cli":
        print("\n".join(_printed(process)))
        return []
    folder.mkdir(parents=True, exist_ok=True)
    if plugin == "perfetto":
        from rocm_perf.render.formats import perfetto

        file = folder / f"{f'{name}_' if name else ''}output.pftrace"
        perfetto.write(process.trace, file, overwrite=True)
        return [file]
    if plugin == "json":
        from rocm_perf.render.formats import rocprof_v1

        file = folder / f"{f'{name}_' if name else ''}{process.pid}_output.json"
        rocprof_v1.write_json(process.trace, file, overwrite=True)
        return [file]
    return list(_files(process, folder, f"{name}_" if name else ""))


def _files(process: Process, folder: Path, prefix: str) -> Iterator[Path]:
    texts = {"results": _results(process), **_tracer(process)}
    for kind, text in texts.items():
        if text:
            file = folder / f"{prefix}{kind}_{process.pid}.csv"
            file.write_text(text)
            yield file


def _rows(process: Process) -> Iterator[tuple[list[object], dict[str, float]]]:
    counted: dict[int, dict[str, float]] = {}
    for dispatch, counter, value in (
        process.trace.table("counters").select("dispatch_id", "counter", "value").iter_rows()
    ):
        counted.setdefault(dispatch, {})[counter] = value
    sizes = {axis: [f"{axis}_{letter}" for letter in "xyz"] for axis in ("grid", "workgroup")}
    for row in process.trace.table("dispatches").iter_rows(named=True):
        items = {axis: row[x] * row[y] * row[z] for axis, (x, y, z) in sizes.items()}
        where = [row[name] for name in ("dispatch_id", "agent_id", "queue_id", "pid", "tid")]
        held = [row[name] for name in ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")]
        told = [64, row["kernel"], row["start_ns"], row["end_ns"], 0]
        yield [*where, items["grid"], items["workgroup"], *held, *told], counted.get(row["dispatch_id"], {})


def _results(process: Process) -> str:
    rows = list(_rows(process))
    if not rows:
        return ""
    names = sorted({name for _, values in rows for name in values})
    lines = [",".join([*_COLUMNS, *names])]
    for cells, values in rows:
        quoted = [f'"{cell}"' if isinstance(cell, str) else str(cell) for cell in cells]
        lines.append(",".join([*quoted, *(f"{values.get(name, 0.0):.6f}" for name in names)]))
    return "\n".join(lines) + "\n"


def _tracer(process: Process) -> dict[str, str]:
    """hip_api_trace and the like."""
    calls, texts = process.trace.table("api_calls"), {}
    header = "Domain,Function,Start_Timestamp,End_Timestamp,Correlation_ID"
    for domain in ("hip", "hsa"):
        rows = (
            calls.filter(pl.col("domain") == domain)
            .select("name", "start_ns", "end_ns", "correlation_id")
            .rows()
        )
        lines = [
            f'{domain.upper()}_API_DOMAIN,"{name}",{start},{end},{number}'
            for name, start, end, number in rows
        ]
        texts[f"{domain}_api_trace"] = "\n".join([header, *lines]) + "\n" if lines else ""
    return texts


def _printed(process: Process) -> Iterator[str]:
    for cells, values in _rows(process):
        told = zip((_PRINTED.get(column, column) for column in _COLUMNS), cells, strict=True)
        pairs = [f'{key}("{cell}")' if isinstance(cell, str) else f"{key}({cell})" for key, cell in told]
        yield ", ".join([*pairs, *(f"{name}({value:.6f})" for name, value in values.items())])
