"""What was asked for out of a recording: domains, counters of the kernels that the filters let through, PC samples;
and the faults that leave domains empty."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from . import settings, values
from .recording import Wanted, hsa_calls

if TYPE_CHECKING:
    from rocm_perf.sim.gpu import SimGpu
    from rocm_perf.sim.workload import Workload

Tables = dict[str, pl.DataFrame]

_ALWAYS = ("agents", "nodes", "processes")
_TABLES = {
    "kernel": ("dispatches", "kernels"),
    "copy": ("copies",),
    "allocation": ("allocations",),
    "marker": ("ranges",),
}
_INSTRUCTIONS = (
    ("v_fma_f32 v1, v2, v3, v1", "VALU", "none"),
    ("global_load_dwordx4 v[4:7], v[0:1], off", "FLAT", "waitcnt"),
    ("s_waitcnt vmcnt(0)", "OTHER", "waitcnt"),
)
_MOST_SAMPLES = 32  # of one dispatch


def select(tables: Tables, wanted: Wanted, work: Workload, gpu: SimGpu) -> Tables:
    domains = _left_by_fault(set(wanted.domains))
    kept = {name: tables[name] for name in _ALWAYS if name in tables}
    for domain, names in _TABLES.items():
        if domain in domains:
            kept |= {name: tables[name] for name in names if name in tables}
    calls = _calls(tables, domains)
    if calls is not None and calls.height:
        kept["api_calls"] = calls
    dispatches = tables.get("dispatches")
    if dispatches is not None and wanted.counters and settings.fault() != ("empty", "records"):
        counted = _filtered(dispatches, wanted)
        kept |= {"dispatches": dispatches if "kernel" in domains else counted, "kernels": tables["kernels"]}
        kept["counters"] = values.counters(counted, wanted.counters, work, gpu)
    if dispatches is not None and wanted.sampling:
        kept |= {
            "pc_samples": _samples(dispatches, wanted.sampling),
            "dispatches": dispatches,
            "kernels": tables["kernels"],
        }
    return _conformed(kept)


def _left_by_fault(domains: set[str]) -> set[str]:
    match settings.fault():
        case ("empty", "hip"):
            return domains - {"hip"}
        case ("empty", "kernels_only"):
            return domains & {"kernel"}
        case ("empty", "records"):
            return set()
    return domains


def _calls(tables: Tables, domains: set[str]) -> pl.DataFrame | None:
    calls = tables.get("api_calls")
    if calls is None:
        return None
    wanted = calls.filter(pl.col("domain").is_in([domain for domain in ("hip", "rccl") if domain in domains]))
    if "hsa" not in domains:
        return wanted
    return pl.concat([wanted, hsa_calls(calls)]).sort("start_ns", maintain_order=True)


def _filtered(dispatches: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    """rocprofv3's filters hold for counters and thread trace, never for the kernel trace."""
    keep = [
        (not wanted.include or re.search(wanted.include, name) is not None)
        and not (wanted.exclude and re.search(wanted.exclude, name))
        for name in dispatches["kernel"]
    ]
    counted = dispatches.filter(pl.Series(keep, dtype=pl.Boolean))
    if not wanted.iterations:
        return counted
    chosen: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", wanted.iterations):
        chosen |= set(range(int(first), int(last or first) + 1))
    number = pl.int_range(1, pl.len() + 1).over("kernel")
    return counted.filter(number.is_in(sorted(chosen)))


def _samples(dispatches: pl.DataFrame, method: str) -> pl.DataFrame:
    """Samples at even distances in each kernel."""
    rows: list[dict[str, object]] = []
    columns = ("dispatch_id", "start_ns", "end_ns", "agent_id", "pid", "correlation_id")
    for dispatch, start, end, agent, pid, correlation in dispatches.select(columns).iter_rows():
        count = min(_MOST_SAMPLES, max(1, (end - start) // 1000))
        for number in range(count):
            text, kind, reason = _INSTRUCTIONS[(dispatch + number) % len(_INSTRUCTIONS)]
            row = {
                "time_ns": start + number * (end - start) // count,
                "agent_id": agent,
                "dispatch_id": dispatch,
            }
            row |= {
                "pid": pid,
                "correlation_id": correlation,
                "exec_mask": (1 << 64) - 1,
                "instruction": text,
            }
            if method == "stochastic":
                row |= {
                    "issued": reason == "none",
                    "instruction_type": kind,
                    "stall_reason": reason,
                    "wave_count": 4,
                }
            rows.append({**row, "method": method})
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"exec_mask": pl.UInt64})
    return frame.sort("time_ns", maintain_order=True) if rows else frame


def _conformed(tables: Tables) -> Tables:
    from rocm_perf.model import schema

    return {name: schema.conform(name, frame) for name, frame in tables.items() if frame.height}
