"""Small recordings of counters, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metrics import MetricTable, evaluate, quantity
from rocm_perf.model import schema
from rocm_perf.model.quantity import Quantity

Pass = Mapping[str, float | Sequence[float]]
Times = int | Sequence[int] | None


def recording(
    *passes: Pass, kernels: tuple[str, ...] = ("k",), duration_ns: Times = 1000
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables of counters and dispatches: passes 1, 2, ..., each of another process that ran the kernels in order. A
    counter has one value for all of them, or one for each."""
    tables = [_pass(number, values, kernels, duration_ns) for number, values in enumerate(passes, 1)]
    return pl.concat([counters for counters, _ in tables]), pl.concat(
        [dispatches for _, dispatches in tables]
    )


def _pass(
    number: int, values: Pass, kernels: tuple[str, ...], duration_ns: Times
) -> tuple[pl.DataFrame, pl.DataFrame]:
    where = [{"pass_id": number, "pid": 100 * number, "dispatch_id": n} for n in range(len(kernels))]
    durations = duration_ns if isinstance(duration_ns, Sequence) else [duration_ns] * len(kernels)
    dispatches: list[dict[str, object]] = [
        {**at, "kernel": kernel, "start_ns": None if time is None else 0, "end_ns": time, "agent_id": 4}
        for at, kernel, time in zip(where, kernels, durations, strict=True)
    ]
    counters: list[dict[str, object]] = [
        {**at, "counter": name, "value": float(value)}
        for name, given in values.items()
        for at, value in zip(
            where, given if isinstance(given, Sequence) else [given] * len(kernels), strict=True
        )
    ]
    return _table("counters", counters), _table("dispatches", dispatches)


def _table(name: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    if not rows:
        return schema.empty(name)
    return schema.conform(name, pl.DataFrame(rows, infer_schema_length=None))


def table(
    gpu: Gpu, *passes: Pass, kernels: tuple[str, ...] = ("k",), duration_ns: Times = 1000
) -> MetricTable:
    return evaluate(*recording(*passes, kernels=kernels, duration_ns=duration_ns), gpu)


def one(gpu: Gpu, metric: str, *passes: Pass, duration_ns: int | None = 1000) -> Quantity:
    return quantity(table(gpu, *passes, duration_ns=duration_ns), metric)


def flop_counters(gfx: str) -> dict[str, float]:
    """1 in every counter of floating-point operations, and 1000 matrix operations on integers."""
    vector = [
        f"SQ_INSTS_VALU_{op}_{t}" for op in ("ADD", "MUL", "TRANS", "FMA") for t in ("F16", "F32", "F64")
    ]
    newer = {"gfx90a": (), "gfx942": ("F8",), "gfx950": ("F8", "F6F4", "XF32")}[gfx]
    types = (*newer, "F16", "BF16", "F32", "F64")
    return dict.fromkeys([*vector, *(f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in types)], 1.0) | {
        "SQ_INSTS_VALU_MFMA_MOPS_I8": 1000.0,
        "SQ_INSTS_VALU": 1e6,
    }
