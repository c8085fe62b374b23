"""Traces of torch operators that launch kernels, as few rows as tell what a shape costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import trace

Row = Mapping[str, object]


def launched(
    kernel: str, ns: float, workgroups: int | None = None, workgroup: int = 256, **more: object
) -> dict[str, object]:
    """One launch of a kernel; its grid where a number of workgroups is given."""
    sizes: dict[str, object] = {}
    if workgroups is not None:
        sizes = {"grid_x": workgroups * workgroup, "workgroup_x": workgroup}
        sizes |= {f"{name}_{axis}": 1 for name in ("grid", "workgroup") for axis in "yz"}
    return {"kernel": kernel, "ns": ns, **sizes, **more}


def operator(
    name: str,
    shapes: Sequence[object],
    dtype: str | Sequence[str],
    kernels: Sequence[Row],
    inputs: Sequence[str] = (),
) -> dict[str, object]:
    """One call of an operator, with what it launched."""
    types = [dtype] * len(shapes) if isinstance(dtype, str) else list(dtype)
    return {"name": name, "shapes": list(shapes), "dtypes": types, "inputs": list(inputs), "kernels": kernels}


def recorded(*operators: Row, times: int = 3) -> Trace:
    """The operators one after the other, so many times; each launches its kernels from the inside."""
    ops, calls, kernels = [], [], []
    at, number = 1_000, 0
    for one in [*operators] * times:
        begin = at
        for launch in one["kernels"]:  # type: ignore[attr-defined]
            number += 1
            fields = {key: value for key, value in launch.items() if key != "ns"}
            length = round(launch["ns"])
            calls.append(
                {
                    "name": "hipExtModuleLaunchKernel",
                    "domain": "hip",
                    "pid": 1,
                    "tid": 1,
                    "correlation_id": number,
                }
                | {"start_ns": at + 10, "end_ns": at + 20}
            )
            kernels.append(
                {"start_ns": at + 30, "end_ns": at + 30 + length, "agent_id": 0, "stream_id": 0, "pid": 1}
                | {"correlation_id": number, "dispatch_id": number, **fields}
            )
            at += length + 100
        ops.append(
            {
                "name": one["name"],
                "category": "operator",
                "pid": 1,
                "tid": 1,
                "start_ns": begin,
                "end_ns": at - 50,
            }
            | {name: json.dumps(one[name]) for name in ("shapes", "dtypes", "inputs")}
        )
    return trace(ops=ops, api_calls=calls, dispatches=kernels)
