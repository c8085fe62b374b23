"""Thread trace: which instructions and source lines cost the cycles, and what the waves waited for.

Latency contains stall, so a kernel's total is latency + idle. The cost of a load shows at the wait that needs its
result, not at the load.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import polars as pl

from rocm_perf.arch.codeobject.instructions import class_of
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.instructions import (
    ClassCost,
    InstructionCost,
    KernelInstructions,
    LineCost,
    StallCause,
    ThreadTrace,
)
from rocm_perf.model.trace import Trace

FORMULAS = {
    "instructions.total_cycles": "sum of latency_cycles + idle_cycles (latency contains stall)",
    "instructions.issue_efficiency": "(latency - stall) / (latency + idle)",
    "instructions.vector_memory_wait": "latency_cycles / hits over the waits for vector loads",
}
NO_TRACE = "no thread trace was recorded (rocprofv3 --att)"
NO_SOURCE = "the code object has no source lines (compile with -g)"
TOP = 20

VECTOR_WAIT = "wait for vector memory (vmcnt)"
SCALAR_WAIT = "wait for LDS or scalar memory (lgkmcnt)"
BOTH_WAITS = "wait for vector memory, LDS or scalar memory (vmcnt, lgkmcnt)"
STORE_WAIT = "wait for stores (vscnt)"
OTHER_WAIT = "other wait"

_BY_CLASS = {
    "barrier": "barrier",
    "VALU": "dependency or busy unit",
    "matrix": "dependency or busy unit",
    "SALU": "dependency or busy unit",
    "branch": "branch or instruction fetch",
    "message": "message",
}
_MEMORY = "issue of a memory instruction"
_CYCLES = ("hits", "latency_cycles", "stall_cycles", "idle_cycles")


@lru_cache(maxsize=65_536)
def instruction_kind(text: str) -> str:
    """`v_mfma_f32_16x16x16_f16 a[0:3], ...` -> matrix."""
    parts = text.split(None, 1)
    return class_of(parts[0]) if parts else "other"


@lru_cache(maxsize=65_536)
def stall_cause(text: str) -> str:
    """What a wave waits for at this instruction."""
    kind = instruction_kind(text)
    if kind == "wait":
        return _wait(text)
    if kind in ("SMEM", "LDS", "scratch") or kind.startswith("VMEM"):
        return _MEMORY
    return _BY_CLASS.get(kind, "other")


def _wait(text: str) -> str:
    """gfx9 to gfx11 name the counters of s_waitcnt; gfx12 has an instruction for each."""
    vector = any(word in text for word in ("vmcnt", "loadcnt", "samplecnt", "bvhcnt"))
    scalar = any(word in text for word in ("lgkmcnt", "dscnt", "kmcnt"))
    if vector and scalar:
        return BOTH_WAITS
    if vector or scalar:
        return VECTOR_WAIT if vector else SCALAR_WAIT
    return STORE_WAIT if "vscnt" in text or "storecnt" in text else OTHER_WAIT


def thread_trace(trace: Trace) -> ThreadTrace:
    """Every traced kernel, or why there is none."""
    rows = trace.table("instructions").drop_nulls("latency_cycles")
    waves = trace.table("waves")
    length = (
        waves.select((pl.col("end_cycle") - pl.col("start_cycle")).mean()).item() if waves.height else None
    )
    engines = waves["shader_engine"].drop_nulls().n_unique()
    if not rows.height:
        return ThreadTrace(
            kernels=(),
            waves=waves.height,
            shader_engines=engines,
            mean_wave_cycles=length,
            unavailable=NO_TRACE,
        )
    merged = _merged(rows)
    dispatches = dict(rows.group_by("kernel").agg(pl.col("dispatch_id").n_unique()).iter_rows())
    kernels = [
        _kernel(name, group, dispatches[name])
        for (name,), group in merged.group_by("kernel", maintain_order=True)
    ]
    ordered = sorted(kernels, key=lambda kernel: -kernel.total_cycles)
    return ThreadTrace(
        kernels=tuple(ordered), waves=waves.height, shader_engines=engines, mean_wave_cycles=length
    )


def _merged(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per instruction, over dispatches; with its class, and the cause of a stall there."""
    table = rows.group_by("kernel", "code_object", "pc", "text", "source", maintain_order=True).agg(
        pl.col(_CYCLES).sum()
    )
    texts = table["text"].unique()
    kinds = {text: instruction_kind(text) for text in texts}
    causes = {text: stall_cause(text) for text in texts}
    return table.with_columns(
        pl.col("text").replace_strict(kinds, return_dtype=pl.String).alias("kind"),
        pl.col("text").replace_strict(causes, return_dtype=pl.String).alias("cause"),
        (pl.col("latency_cycles") + pl.col("idle_cycles")).alias("total_cycles"),
    )


def _kernel(name: object, rows: pl.DataFrame, dispatches: int) -> KernelInstructions:
    sums = rows.select(pl.col(*_CYCLES, "total_cycles").sum()).row(0, named=True)
    latency, stall, total = (sums[f"{key}_cycles"] for key in ("latency", "stall", "total"))
    lines = _lines(rows, total)
    return KernelInstructions(
        kernel=None if name is None else str(name),
        dispatches=dispatches,
        instructions=rows.height,
        **sums,
        issue_efficiency=_share(latency - stall, total, "(latency - stall) / (latency + idle)"),
        stall_share=_share(stall, total, "stall / (latency + idle)"),
        vector_memory_wait=_per_wait(rows, (VECTOR_WAIT, BOTH_WAITS), "vector memory"),
        lds_scalar_wait=_per_wait(rows, (SCALAR_WAIT,), "LDS or scalar memory"),
        classes=_classes(rows),
        causes=_causes(rows, stall),
        hottest=_hottest(rows, total),
        lines=lines,
        lines_unavailable=None if lines else NO_SOURCE,
        doubt="stall exceeds latency, of which it should be a part" if stall > latency else None,
    )


def _share(part: int, whole: int, formula: str) -> Quantity:
    if not whole:
        return unavailable("", formula, "no cycle was counted: no wave of it was traced")
    return Quantity(value=part / whole, unit="", formula=formula, inputs={"part": part, "whole": whole})


def _per_wait(rows: pl.DataFrame, causes: tuple[str, ...], waited_for: str) -> Quantity:
    formula = "latency_cycles / hits over its waits"
    waits = rows.filter(pl.col("cause").is_in(causes) & (pl.col("hits") > 0))
    if not waits.height:
        return unavailable("cycles", formula, f"no traced wave waited for {waited_for}")
    latency, hits = (int(waits[name].sum()) for name in ("latency_cycles", "hits"))
    return Quantity(
        value=latency / hits, unit="cycles", formula=formula, inputs={"latency_cycles": latency, "hits": hits}
    )


def _classes(rows: pl.DataFrame) -> tuple[ClassCost, ...]:
    table = rows.group_by("kind").agg(pl.len().alias("instructions"), pl.col(_CYCLES).sum())
    ordered = table.sort(["latency_cycles", "kind"], descending=[True, False])
    return tuple(ClassCost(**row) for row in ordered.iter_rows(named=True))


def _causes(rows: pl.DataFrame, stall: int) -> tuple[StallCause, ...]:
    table = rows.group_by("cause").agg(pl.col("stall_cycles").sum()).filter(pl.col("stall_cycles") > 0)
    ordered = table.sort(["stall_cycles", "cause"], descending=[True, False])
    return tuple(StallCause(cause, cycles, cycles / stall) for cause, cycles in ordered.iter_rows())


def _hottest(rows: pl.DataFrame, total: int) -> tuple[InstructionCost, ...]:
    top = (
        rows.filter(pl.col("total_cycles") > 0)
        .sort(["total_cycles", "pc"], descending=[True, False])
        .head(TOP)
    )
    return tuple(_cost(row, total) for row in top.iter_rows(named=True))


def _cost(row: dict[str, Any], total: int) -> InstructionCost:
    hits = row["hits"]
    return InstructionCost(
        **{key: row[key] for key in ("pc", "text", "source", "kind", *_CYCLES)},
        cycles_per_hit=row["latency_cycles"] / hits if hits else None,
        share=row["total_cycles"] / total,
    )


def _lines(rows: pl.DataFrame, total: int) -> tuple[LineCost, ...]:
    table = (
        rows.drop_nulls("source")
        .group_by("source")
        .agg(pl.col("hits", "latency_cycles", "stall_cycles", "total_cycles").sum())
        .filter(pl.col("total_cycles") > 0)
        .sort(["total_cycles", "source"], descending=[True, False])
        .head(TOP)
    )
    return tuple(
        LineCost(source=source, hits=hits, latency_cycles=latency, stall_cycles=stall, share=cycles / total)
        for source, hits, latency, stall, cycles in table.iter_rows()
    )
