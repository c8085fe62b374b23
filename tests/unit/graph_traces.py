"""Traces of graph captures and of replays, made by hand: what each kernel was captured from is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked

CAPTURED_AT = 1_000_000  # ns: captures lie long before replays, on the same clock
REPLAYED_AT = 50_000_000
_HOST = {"pid": 7, "tid": 7}


def capture(
    graphs: Mapping[str, Sequence[str]] | Sequence[Sequence[str]],
    *,
    size: int | None = None,
    grid: int | None = None,
    whole: bool = True,
) -> Trace:
    """A capture of graphs, each a sequence of kernels. Every kernel `k` is launched by an operator `op k`, in a module
    that is named after the graph."""
    rows: dict[str, list[Row]] = {
        name: [] for name in ("captured_graphs", "captured_launches", "ops", "ranges")
    }
    named = (
        graphs if isinstance(graphs, Mapping) else {f"layer {place}": one for place, one in enumerate(graphs)}
    )
    now, launch, first = CAPTURED_AT, 0, CAPTURED_AT
    for number, (name, kernels) in enumerate(named.items(), start=1):
        start = now
        for place, one in enumerate(kernels):
            launch += 1
            inside = now + 10 + place * 10
            rows["ops"].append(
                _op(f"op {one}", inside, inside + 8, op_id=launch, shapes=f"[[{size or 1}, {place}]]")
            )
            rows["captured_launches"].append(
                {
                    "launch_id": launch,
                    "captured_graph": number,
                    "kernel": one,
                    **_span(inside + 2, inside + 4),
                    **_HOST,
                }
                | {f"{size_of}_{axis}": grid for size_of in ("grid", "workgroup") for axis in "xyz"}
            )
        now += 10 * len(kernels) + 40
        rows["ops"].append(_op(f"nn.Module: {name}", start + 2, now - 5, category="python"))
        rows["ops"].append(_op("outer.py(1): capture", start - 1, now - 1, category="python"))
        rows["captured_graphs"].append(
            {"captured_graph": number, "whole": whole, **_span(start, now - 3), "pid": 7}
        )
    if size is not None:
        rows["ranges"].append(marked(f"capture_{size}_FULL", first - 100, now + 100, depth=0, **_HOST))
    return _trace(rows)


def execution(
    replays: Sequence[Sequence[str]],
    *,
    size: int | None = None,
    grid: int | None = None,
    seen: int | None = None,
) -> Trace:
    """Replays of graphs, each a launch of a sequence of kernels of 10 ns, in a step that states its batch size."""
    rows: dict[str, list[Row]] = {name: [] for name in ("dispatches", "api_calls", "ops", "ranges")}
    now = REPLAYED_AT
    for correlation, kernels in enumerate(replays, start=1):
        rows["ops"].append(_op("serve.py(9): replay", now, now + 8, category="python", op_id=90))
        rows["api_calls"].append(call("hipGraphLaunch", now + 2, now + 5, correlation, pid=7, tid=7))
        for place, one in enumerate(kernels):
            start = now + 100 + place * 10
            sizes = {f"{size_of}_{axis}": grid for size_of in ("grid", "workgroup") for axis in "xyz"}
            ids = {
                "pid": 7,
                "correlation_id": correlation,
                "graph_id": correlation,
                "dispatch_id": len(rows["dispatches"]),
            }
            rows["dispatches"].append(kernel(one, start, start + 10, **ids, **sizes))
        now += 200 + 10 * len(kernels)
    if seen is not None:
        rows["ops"].append(
            _op("aten::slice", REPLAYED_AT + 9, REPLAYED_AT + 10, op_id=91, shapes=f"[[{seen}, 3]]")
        )
    if size is not None:
        rows["ranges"].append(marked(f"step[DECODE bs={size}]", REPLAYED_AT - 10, now + 10, depth=0, **_HOST))
    return _trace(rows)


def _trace(rows: Mapping[str, Sequence[Row]]) -> Trace:
    frames = {name: pl.DataFrame(list(some), infer_schema_length=None) for name, some in rows.items() if some}
    return Trace({name: schema.conform(name, frame) for name, frame in frames.items()})


def _span(start: int, end: int) -> Row:
    return {"start_ns": start, "end_ns": end}


def _op(name: str, start: int, end: int, category: str = "operator", **more: object) -> Row:
    return {"name": name, "category": category, **_span(start, end), **_HOST, **more}
